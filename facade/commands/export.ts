import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { copySnapshot } from '../../store/lowdb/backup.ts';
import type { Store } from '../../store/port.ts';
import { type Config, readConfig } from '../config/config.ts';
import { howToRun } from '../config/how-to-run.ts';
import { auditSecretOf, openStore } from '../launch/open-store.ts';
import { exportStore } from '../store-copy/export-store.ts';
import { readArguments, runCommand } from './run-command.ts';

const USAGE = `Usage: ${howToRun('export')} <file>

Writes all that is stored into a new file, also while the server runs: records, versions, the audit log and imported rows. Another store
takes it with ${howToRun('import-all')} <file>. A PostgreSQL database must not change meanwhile. Secrets of integrations stay sealed in it. Keep the file as safe as the data.`;

async function main(): Promise<void> {
  const [file = ''] = readArguments(USAGE, {}, [1]).words;
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string; // package.json has one
  };
  const onProgress = (lines: number) => console.error(`${lines} lines`);
  const config = readConfig(process.env);
  const isShared = config.databaseUrl !== undefined;
  const write = (store: Store) => exportStore(store, file, { version, now: new Date(), isShared, onProgress });
  const { counts, secretsKeys } = await (isShared ? withStore(config, write) : withCopy(config, `${file}.copy`, write));
  for (const [what, count] of Object.entries(counts)) console.log(`${what.padEnd(30)}${String(count).padStart(12)}`);
  console.log(`All of it is in ${file}.`);
  if (secretsKeys.length > 0)
    console.log(`Its secrets are sealed with the key ${secretsKeys.join(', ')} (SECRETS_KEY).`);
}

/** Opens a copy as a backup makes it: the server continues, and the copy is of one moment. */
async function withCopy<Result>(
  config: Config,
  folder: string,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  await rm(folder, { recursive: true, force: true });
  try {
    const auditSecret = auditSecretOf(config);
    await copySnapshot(config.dataDir, folder, { auditSecret });
    return await withStore({ ...config, dataDir: folder }, work, auditSecret);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function withStore<Result>(
  config: Config,
  work: (store: Store) => Promise<Result>,
  auditSecret = auditSecretOf(config),
): Promise<Result> {
  const store = await openStore(config, undefined, auditSecret);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

runCommand(main);
