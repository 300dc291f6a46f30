import { resolve } from 'node:path';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { OpenProgress } from '../../store/open-progress.ts';
import type { Store } from '../../store/port.ts';
import type { Config } from '../config/config.ts';
import { readAuditSecret } from '../config/secret-files.ts';

type StoreConfig = Pick<
  Config,
  'secretsKeys' | 'dataDir' | 'metricsMemoryMb' | 'databaseUrl' | 'databaseConnections' | 'databaseWaitMs'
>;

/**
 * Opens the database of the configuration, or else the data folder. With `opening`, as at the start of a server, it waits for a database
 * that cannot be reached yet. Code of PostgreSQL is loaded only where there is a database.
 */
export async function openStore(
  config: StoreConfig,
  opening?: OpenProgress,
  auditSecret = auditSecretOf(config),
): Promise<Store> {
  const { dataDir, metricsMemoryMb, databaseUrl, databaseConnections, databaseWaitMs } = config;
  if (databaseUrl === undefined) return openLowdbStore({ folder: dataDir, metricsMemoryMb, auditSecret, opening });
  const { openPostgresStore } = await import('../../store/postgres/open.ts');
  const waitMs = opening && databaseWaitMs;
  return openPostgresStore({ url: databaseUrl, poolSize: databaseConnections, waitMs, auditSecret, opening });
}

/** Not from the disk where the environment has a key: who can change the log on the disk must not find what signs it there. */
export function auditSecretOf({ secretsKeys, databaseUrl, dataDir }: StoreConfig): string | undefined {
  return secretsKeys?.[0] ?? (databaseUrl === undefined ? readAuditSecret(dataDir) : undefined);
}

/** Where the data is, without user and password. */
export function placeOfData({ dataDir, databaseUrl }: StoreConfig): string {
  if (databaseUrl === undefined) return resolve(dataDir);
  const { host, pathname } = new URL(databaseUrl);
  return `the PostgreSQL database ${decodeURIComponent(pathname.slice(1))}${host ? ` on ${host}` : ''}`;
}

/** Runs what prepares the store, while no other process that starts does the same. */
export function oneAtATime<Result>(
  { cluster }: Pick<Store, 'cluster'>,
  work: () => Promise<Result>,
  opening: OpenProgress,
): Promise<Result> {
  const { signal } = opening;
  const onWait = () => opening.step('waiting for another process that starts, or died while it did');
  return cluster ? cluster.inTurn('start', work, { signal, onWait }) : work();
}
