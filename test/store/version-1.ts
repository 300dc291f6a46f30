import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { contentsOf } from '../../facade/store-copy/contents.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { fillRecords, fillRows } from './every-kind.ts';

/**
 * What stores of version 1 left: a data folder, a dump of a database, and what each held. They are never made again, since every later version
 * must open them. `npx tsx test/store/version-1.ts <url of an empty database>` made them, with the `pg_dump` of the machine.
 */
const path = (name: string) => fileURLToPath(new URL(`version-1/${name}.gz`, import.meta.url));
const read = (name: string) => gunzipSync(readFileSync(path(name))).toString();
const write = (name: string, text: string) => writeFileSync(path(name), gzipSync(text, { level: 9 }));

type Kind = 'folder' | 'database';

export async function partsOf(store: Store): Promise<readonly object[]> {
  const parts: object[] = [];
  for await (const part of contentsOf(store)) parts.push(part);
  return JSON.parse(JSON.stringify(parts, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
}

export const storedParts = (kind: Kind): readonly object[] => JSON.parse(read(`${kind}-contents.json`));

export const databaseDump = (): string => read('database.sql');

export function unpackFolder(folder: string): void {
  for (const [name, bytes] of Object.entries<string>(JSON.parse(read('folder.json')))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), Buffer.from(bytes, 'base64'));
  }
}

async function fill(store: Store, kind: Kind): Promise<void> {
  await fillRecords(store, { documents: 5, entries: 20 });
  await fillRows(store, 40);
  await store.audit.flush();
  write(`${kind}-contents.json`, JSON.stringify(await partsOf(store)));
  await store.close();
}

async function make(url: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-admin-'));
  await fill(await openLowdbStore({ folder }), 'folder');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
  const files = names.map((name) => [name, readFileSync(join(folder, name)).toString('base64')]);
  write('folder.json', JSON.stringify(Object.fromEntries(files)));
  rmSync(folder, { recursive: true });
  await fill(await openPostgresStore({ url }), 'database');
  const dump = execFileSync('pg_dump', ['--inserts', '--no-owner', '--no-privileges', url], { maxBuffer: 1 << 28 });
  write('database.sql', dump.toString().replace(/^\\.*$/gm, '')); // without the commands of psql
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await make(process.argv[2] ?? '');
