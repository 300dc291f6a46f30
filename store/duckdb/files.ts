import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { nodeFileSystem } from '../lowdb/files/file-system.ts';
import type { Connection } from './connection.ts';
import { text } from './engine.ts';

const ROWS = /^rows-(\d+)\.duckdb(\.tmp)?(\.wal)?$/;
const TEMPORARY = 'rows-temporary';

/** The file of imported rows with this number. A file that replaces another has the next number. */
export function rowsFile(folder: string, number: number): string {
  return join(folder, `rows-${number}.duckdb`);
}

export function currentRowsFile(folder: string): number {
  return Math.max(0, ...numbersIn(folder).flatMap(({ number, isDraft }) => (isDraft ? [] : number)));
}

export function removeOthers(folder: string, current: number): void {
  for (const { name, number, isDraft } of numbersIn(folder)) {
    if (isDraft || number !== current) rmSync(join(folder, name), { force: true });
  }
  rmSync(join(folder, TEMPORARY), { recursive: true, force: true });
}

export function temporaryFolder(folder: string, number: number): string {
  const path = join(folder, TEMPORARY, String(number));
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

export function isRowsFile(name: string): boolean {
  return ROWS.test(name);
}

function numbersIn(folder: string) {
  return readdirSync(folder).flatMap((name) => {
    const match = ROWS.exec(name);
    return match ? [{ name, number: Number(match[1]), isDraft: match[2] !== undefined }] : [];
  });
}

/** Copies all tables into a new file, without the bytes of deleted rows that the engine keeps. Nobody may write during this. */
export async function copyTables(writer: Connection, target: string): Promise<void> {
  const draft = `${target}.tmp`;
  await removeFile(draft);
  const [own] = await writer.query<{ name: string }>({ name: 'own name', sql: 'select current_database() as name' });
  await writer.runOnce(`attach ${text(draft)} as fresh`);
  try {
    await writer.runOnce(`copy from database "${own?.name}" to fresh`);
    await writer.runOnce("delete from fresh.facts where name = 'rewrite'");
    await writer.runOnce('checkpoint fresh');
  } finally {
    await writer.runOnce('detach fresh');
  }
  await placeFile(draft, target);
}

export async function placeFile(draft: string, target: string): Promise<void> {
  const file = await open(draft, 'r+');
  await file.sync().finally(() => file.close());
  await rename(draft, target);
  await nodeFileSystem.syncFolder(dirname(target));
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.wal`, { force: true });
}
