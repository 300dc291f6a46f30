import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { OperatorError } from '../../store/errors.ts';
import { SECRETS_KEY } from '../../store/lowdb/files/folder.ts';
import { secretsKeyIds } from '../../tools/core/sealing/secrets.ts';
import { readConfig } from '../config/config.ts';
import { howToRun } from '../config/how-to-run.ts';
import { openStore } from '../launch/open-store.ts';
import { tableOf } from '../store-copy/compare.ts';
import { importAll } from '../store-copy/import-store.ts';
import { explainExit } from './explain-exit.ts';

const USAGE = `Usage: ${howToRun('import-all')} <file> [--without-keys]

Puts all that ${howToRun('export')} wrote into an empty store, and compares both. Stop all servers of that store first. An import that was
interrupted goes on when it is begun again with the same file.
--without-keys: also where SECRETS_KEY does not open the secrets in the file, which must be given anew then.`;

async function main(args: readonly string[]): Promise<void> {
  const { file, withoutKeys } = readArguments(args);
  const config = readConfig(process.env);
  const { dataDir, secretsKeys } = config;
  const store = await openStore(config);
  try {
    const compared = await importAll(store, file, {
      secretsKeys: secretsKeyIds(secretsKeys, join(dataDir, SECRETS_KEY)),
      withoutKeys,
      onProgress: (line) => console.error(`line ${line}`),
    });
    console.log(tableOf(compared));
    if (compared.every(({ equal }) => equal)) console.log(`\nAll of ${file} is in the store. ${NEXT}`);
    else throw new OperatorError(`The store differs from ${file}, see above. Begin again with an empty store.`);
  } finally {
    await store.close();
  }
}

const NEXT =
  'Start the server on it with the SECRETS_KEY of before; people sign in again unless SESSION_SECRET is that of before too.';

function readArguments(args: readonly string[]) {
  try {
    const options = { 'without-keys': { type: 'boolean', default: false } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw new Error('Name one file.');
    return { file, withoutKeys: values['without-keys'] };
  } catch (cause) {
    throw new OperatorError(`${cause instanceof Error ? cause.message : cause}\n\n${USAGE}`, { cause });
  }
}

main(process.argv.slice(2)).catch(explainExit);
