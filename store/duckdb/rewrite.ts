import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { realFiles } from '../lowdb/files/files.ts';
import type { Connection } from './connection.ts';
import { text } from './engine.ts';

/**
 * Copies all tables into a new file, which appears complete or not at all. The engine keeps the bytes of deleted rows until it reuses
 * their place; the copy does not have them. Nobody may write during this.
 */
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

/** Makes a file that the engine has closed durable under its name. */
export async function placeFile(draft: string, target: string): Promise<void> {
  const file = await open(draft, 'r+');
  await file.sync().finally(() => file.close());
  await rename(draft, target);
  await realFiles.syncFolder(dirname(target));
}

/** Removes a file of the engine with what it keeps beside it. */
export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.wal`, { force: true });
}
