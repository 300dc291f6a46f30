import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import pg from 'pg';
import { OperatorError } from '../../store/errors.ts';
import { listBackups } from '../../store/lowdb/backup.ts';
import { SECRETS_KEY, SNAPSHOT } from '../../store/lowdb/files/folder.ts';
import { holderOf } from '../../store/lowdb/files/lock.ts';
import { AFTER_MIGRATION, tablesState } from '../../store/postgres/tables-state.ts';
import type { Config } from '../config/config.ts';
import { isOverdue, NEVER } from '../config/data-config.ts';
import { type Check, clockFinding, type Finding, fail, ok, reasonOf, warn } from './finding.ts';

const MEGABYTE = 1024 * 1024;
const LITTLE = 1024 * MEGABYTE;
const TOO_LITTLE = 100 * MEGABYTE;
const CONNECT_MS = 5000;

export function dataChecks(config: Config): Check[] {
  const checks = [
    () => checkFolder(config),
    () => checkDisk(config),
    async () => [checkSecrets(config)],
    () => checkBackups(config),
  ];
  return config.databaseUrl === undefined
    ? checks
    : [...checks, () => checkDatabase(config, String(config.databaseUrl))];
}

async function checkFolder({ dataDir, databaseUrl }: Config): Promise<Finding[]> {
  const folder = resolve(dataDir);
  if (!existsSync(folder)) return [ok('data folder', `${folder} is made at the first start.`)];
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return [fail('data folder', `${folder} cannot be written by this user; chown it, or set DATA_DIR.`)];
  }
  const isOpen = (statSync(folder).mode & 0o077) !== 0;
  const mode = isOpen
    ? warn('data folder', `Other users can look into ${folder}: chmod 700 it.`)
    : ok('data folder', `${folder} is for its owner alone.`);
  if (databaseUrl !== undefined) return [mode];
  const holder = holderOf(folder);
  const free = existsSync(join(folder, SNAPSHOT)) ? 'No process has it open.' : 'It holds no data yet.';
  return [mode, ok('lock', holder ? `Process ${holder.pid} on ${holder.host} has it open.` : free)];
}

async function checkDisk({ dataDir }: Config): Promise<Finding[]> {
  let folder = resolve(dataDir);
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const text = `${Math.round(free / MEGABYTE)} MB are free at ${folder}`;
  if (free < TOO_LITTLE) return [fail('disk', `${text}; writes will be refused soon: make room.`)];
  return [free < LITTLE ? warn('disk', `${text}; make room.`) : ok('disk', `${text}.`)];
}

function checkSecrets({ sessionSecrets, secretsKeys, databaseUrl, dataDir }: Config): Finding {
  const given = { SESSION_SECRET: sessionSecrets, SECRETS_KEY: secretsKeys };
  const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length === 0) return ok('secrets', 'SESSION_SECRET and SECRETS_KEY are set; keep a copy elsewhere.');
  if (databaseUrl !== undefined) {
    return secretsKeys === undefined
      ? fail('secrets', 'SECRETS_KEY must be set, to the same in all processes of the database.')
      : ok('secrets', 'SECRETS_KEY is set; keep a copy elsewhere. SESSION_SECRET: kept in the database.');
  }
  const file = join(resolve(dataDir), SECRETS_KEY);
  if (secretsKeys !== undefined || !existsSync(file))
    return ok('secrets', `${missing.join(' and ')}: kept in the data folder.`);
  return warn(
    'secrets',
    `Backups leave out ${file}, without which the secrets of integrations are lost: keep a copy elsewhere.`,
  );
}

interface DatabaseFacts {
  readonly version: string;
  readonly number: number;
  readonly encoding: string;
  readonly most: number;
  readonly readOnly: boolean;
  readonly now: Date;
}

async function checkDatabase({ databaseConnections }: Config, url: string): Promise<Finding[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  client.on('error', () => {}); // the query fails too
  try {
    await client.connect();
    const sql = `select current_setting('server_version') as version, current_setting('server_version_num')::integer / 10000 as number,
      current_setting('server_encoding') as encoding, current_setting('max_connections')::integer as most,
      current_setting('transaction_read_only')::boolean as "readOnly", clock_timestamp() as now`;
    const [facts] = (await client.query<DatabaseFacts>(sql)).rows;
    if (!facts) return [];
    return [
      ...aboutServer(facts, databaseConnections),
      await aboutTables(client),
      clockFinding('the database', facts.now),
    ];
  } catch (error) {
    return [fail('database', `It cannot be used: ${reasonOf(error)}. Check DATABASE_URL, and that the server runs.`)];
  } finally {
    await client.end().catch(() => {});
  }
}

/** What this version finds, and changes at its start. */
async function aboutTables(client: pg.Client): Promise<Finding> {
  const [{ made } = { made: false }] = (
    await client.query<{ made: boolean }>(`select to_regclass('schema_migrations') is not null as made`)
  ).rows;
  const applied = made ? (await client.query<{ name: string }>('select name from schema_migrations')).rows : [];
  try {
    const { from, to, missing } = tablesState(applied.map(({ name }) => name));
    if (from === undefined) return ok(TABLES, 'There are none yet: the first start makes them.');
    if (missing.length === 0) return ok(TABLES, `They are those of this version (${to}).`);
    return warn(TABLES, `The next start of this version brings them from ${from} to ${to}. ${AFTER_MIGRATION}.`);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return fail(TABLES, error.message);
  }
}

const TABLES = 'tables';

const READ_ONLY =
  'It is read-only, a replica or set so (default_transaction_read_only): every change is refused. Promote it, or lead DATABASE_URL to the primary.';

/** Of a process beside those for calls: 3 for jobs, 1 that hears changes, 2 for upkeep. */
const MORE_CONNECTIONS = 6;

function aboutServer({ version, number, encoding, most, readOnly }: DatabaseFacts, forCalls: number): Finding[] {
  if (number < 15) return [fail('database', `It is PostgreSQL ${version}; use 15 or newer.`)];
  if (encoding !== 'UTF8') return [fail('database', `Its encoding is ${encoding}; make one with UTF8.`)];
  if (readOnly) return [fail('database', READ_ONLY)];
  const connections = forCalls + MORE_CONNECTIONS;
  const share = `this process takes up to ${connections} of ${most} connections (DATABASE_CONNECTIONS + ${MORE_CONNECTIONS})`;
  const about = `PostgreSQL ${version}; ${share}`;
  return [
    2 * connections > most ? warn('database', `${about}, too many for a second process.`) : ok('database', `${about}.`),
  ];
}

const ABOUT = 'backups';

export async function checkBackups({ backups, dataDir, databaseUrl }: Config): Promise<Finding[]> {
  if (databaseUrl !== undefined) {
    const unused = backups ? 'BACKUP_FOLDER has no effect with DATABASE_URL. ' : '';
    const text = `${unused}Back the database up with pg_dump: see the guide "Run on PostgreSQL".`;
    return [backups ? warn(ABOUT, text) : ok(ABOUT, text)];
  }
  if (!backups) return [warn(ABOUT, 'None are made: set BACKUP_FOLDER to a folder, best on another disk.')];
  const folder = resolve(backups.folder);
  const place = existing(folder);
  if (!statSync(place).isDirectory()) return [fail(ABOUT, `${place} is not a folder; set BACKUP_FOLDER to one.`)];
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return [fail(ABOUT, `${place} cannot be written by this user; chown it, or set BACKUP_FOLDER.`)];
  }
  const source = existing(resolve(dataDir));
  const isTogether = statSync(place).dev === statSync(source).dev;
  const near = isTogether ? [warn(ABOUT, `${folder} is on the disk of the data, and lost with it; use another.`)] : [];
  return [await aboutLast(folder, resolve(dataDir), backups.schedule), ...near];
}

async function aboutLast(folder: string, dataDir: string, schedule: string): Promise<Finding> {
  const own = (await listBackups(folder)).filter(({ source }) => source === dataDir);
  const last = own.find(({ verified }) => verified);
  if (!last) return warn(ABOUT, `${folder} holds none of ${dataDir} yet; start the server, which makes one.`);
  const now = new Date();
  const hours = Math.round((now.getTime() - Date.parse(last.at)) / 3_600_000);
  const made = `The last one is ${hours} h old (${last.name}, ${last.records} records)`;
  if (isOverdue(schedule, new Date(last.at), now))
    return warn(ABOUT, `${made}, older than it should be; see the log of the server, or start it.`);
  return ok(
    ABOUT,
    `${made} and was checked; ${schedule === NEVER ? 'none are made by schedule' : `next: ${schedule}`}.`,
  );
}

/** The folder, or where it is not there yet, what it would be made in. */
function existing(folder: string): string {
  let place = folder;
  while (!existsSync(place)) place = dirname(place);
  return place;
}
