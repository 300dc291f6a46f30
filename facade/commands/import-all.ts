import { join } from 'node:path';
import { OperatorError } from '../../store/errors.ts';
import { SECRETS_KEY } from '../../store/lowdb/files/folder.ts';
import { secretsKeyIds } from '../../tools/core/sealing/secrets.ts';
import { readConfig } from '../config/config.ts';
import { howToRun } from '../config/how-to-run.ts';
import { openStore } from '../launch/open-store.ts';
import { tableOf } from '../store-copy/compare.ts';
import { importAll } from '../store-copy/import-store.ts';
import { readArguments, runCommand } from './run-command.ts';

const USAGE = `Usage: ${howToRun('import-all')} <file> [--without-keys]

Puts all that ${howToRun('export')} wrote into an empty store, and compares both. Stop all servers of that store first. An import that was
interrupted goes on when it is begun again with the same file.
--without-keys: also where SECRETS_KEY does not open the secrets in the file, which must be given anew then.`;

async function main(): Promise<void> {
  const options = { 'without-keys': { type: 'boolean', default: false } } as const;
  const { values, words } = readArguments(USAGE, options, [0, 2]);
  const [file, ...more] = words;
  if (file === undefined || more.length > 0) throw new OperatorError(`Name one file.\n\n${USAGE}`);
  const config = readConfig(process.env);
  const { dataDir, secretsKeys } = config;
  const store = await openStore(config);
  try {
    const compared = await importAll(store, file, {
      secretsKeys: secretsKeyIds(secretsKeys, join(dataDir, SECRETS_KEY)),
      withoutKeys: values['without-keys'],
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

runCommand(main);
