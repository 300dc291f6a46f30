import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type LowdbOptions, openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { lastingDatabase, testDatabase } from './postgres.ts';

/** Whether tests run on PostgreSQL: `TEST_STORE=postgres`. A full run does so the second time. */
export const onPostgres = process.env.TEST_STORE === 'postgres';
export type StoreKind = 'lowdb' | 'postgres';
export const storeOfRun: StoreKind = onPostgres ? 'postgres' : 'lowdb';

/** In a test's data folder, the address of the database that stands in for it. */
const ADDRESS = 'test-database';
/** Many stores of many tests share one server. */
const POOL_SIZE = 6;

/** A folder for the data of a test. */
export function dataFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'agent-admin-'));
}

/** Opens the store whose data lies in the folder, or in the database that stands in for it. Tests with `files` are about the folder itself. */
export async function openStoreIn(
  folder: string,
  options: Omit<LowdbOptions, 'folder'> = {},
  kind: StoreKind = storeOfRun,
): Promise<Store> {
  if (kind === 'lowdb' || options.files) return openLowdbStore({ folder, ...options });
  return openPostgresStore({
    url: await databaseOf(folder),
    now: options.now,
    poolSize: POOL_SIZE,
    auditSecret: options.auditSecret,
  });
}

/** What a server needs in its environment to run on the store. */
export const envOfStore: Readonly<Record<string, string>> = onPostgres
  ? { SECRETS_KEY: Buffer.alloc(32, 'test').toString('base64') }
  : {};

/** The same for a program that is started on the folder. */
export async function envOfFolder(folder: string | undefined): Promise<Readonly<Record<string, string>>> {
  return onPostgres && folder ? { ...envOfStore, DATABASE_URL: await databaseOf(folder) } : {};
}

/** Copies the data of a store that is closed into an empty folder. */
export async function copyData(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, filter: (path) => !path.endsWith(ADDRESS) });
  if (existsSync(join(from, ADDRESS))) await makeDatabase(to, new URL(await databaseOf(from)).pathname.slice(1));
}

/** The database that stands in for the folder, in this process and in those it starts. */
export async function databaseOf(folder: string): Promise<string> {
  const path = join(folder, ADDRESS);
  if (existsSync(path)) return readFileSync(path, 'utf8');
  return makeDatabase(folder);
}

/** From now on, the data of the folder stay as long as the run, for other files to copy. */
export async function keepForRun(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  if (onPostgres) await writeFile(join(folder, ADDRESS), await lastingDatabase());
}

async function makeDatabase(folder: string, template?: string): Promise<string> {
  const { url, drop } = await testDatabase(template);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, ADDRESS), url);
  drops.set(folder, drop);
  return url;
}
const drops = new Map<string, () => Promise<void>>();

/** Has limits begin anew, of which the processes on one database keep count there. */
export async function forgetCounts(folder: string): Promise<void> {
  if (onPostgres) await withClient(folder, (client) => client.query('delete from cluster_counts'));
}

/** The files of the folder, and on PostgreSQL the tables too, that hold the text. */
export async function placesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const held = await Promise.all(files.map(async (path) => (await readFile(path).catch(() => '')).includes(text)));
  const tables = onPostgres ? await withClient(folder, (client) => tablesWith(client, text)) : [];
  return [...files.filter((_, at) => held[at]), ...tables];
}

const TABLES = `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname !~ '^(pg_|information_)'`;

async function tablesWith(client: pg.Client, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of (await client.query<{ name: string }>(TABLES)).rows) {
    const sql = `select from ${name} as held where strpos(held::text, $1) > 0 limit 1`;
    if ((await client.query(sql, [text])).rowCount) found.push(name);
  }
  return found;
}

async function withClient<Result>(folder: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: await databaseOf(folder) });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export async function removeFolder(folder: string): Promise<void> {
  await drops.get(folder)?.();
  drops.delete(folder);
  await rm(folder, { recursive: true, force: true });
}
