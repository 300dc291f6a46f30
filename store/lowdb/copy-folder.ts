import { constants, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { chmod, copyFile, open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { currentRowsFile, isRowsFile, removeFile, rowsFile } from '../duckdb/files.ts';
import { OperatorError } from '../errors.ts';
import { nodeFileSystem } from './files/file-system.ts';
import {
  AUDIT,
  AUDIT_SECRET,
  BACKUP_FACTS,
  HEADS,
  IDEMPOTENCY_SECRET,
  isJournal,
  journalPath,
  journalsIn,
  LOCK,
  MANIFEST,
  SECRETS_KEY,
  SNAPSHOT,
  SNAPSHOT_DRAFT,
  STORED_FILES,
} from './files/folder.ts';
import { readSnapshotHeader } from './journal/snapshot.ts';

const ROWS_ATTEMPTS = 20;

/** Copies the data folder as it is, before its records are brought to this format, so that the older version can be started again. Returns the copy. */
export async function keepOlderFormat(folder: string, format: number): Promise<string> {
  const kept = join(folder, `before-format-${format}`);
  const draft = `${kept}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  await copyFolder(folder, draft);
  // An earlier attempt was interrupted, and the older version may have continued since.
  rmSync(kept, { recursive: true, force: true });
  await rename(draft, kept);
  await nodeFileSystem.syncFolder(folder);
  return kept;
}

/** The order matters: the manifest must not be newer than the rest, and the journals, copied last, hold what the segments hold. */
export async function copyFolder(source: string, target: string): Promise<void> {
  if (existsSync(join(source, MANIFEST))) await copyDurably(join(source, MANIFEST), join(target, MANIFEST));
  await copyDurably(join(source, SNAPSHOT), join(target, SNAPSHOT));
  const { generation } = readSnapshotHeader(join(target, SNAPSHOT));
  mkdirSync(join(target, AUDIT), { recursive: true, mode: 0o700 });
  // Heads come first: they must not cover entries that are written during the copy.
  if (existsSync(join(source, AUDIT, HEADS))) await copyDurably(join(source, AUDIT, HEADS), join(target, AUDIT, HEADS));
  for (const name of plainFiles(join(source, AUDIT)))
    if (name !== HEADS) await copyDurably(join(source, AUDIT, name), join(target, AUDIT, name));
  for (const journal of journalsIn(source)) {
    if (journal >= generation) await copyDurably(journalPath(source, journal), journalPath(target, journal));
  }
  const done = [MANIFEST, SNAPSHOT, SNAPSHOT_DRAFT, LOCK, SECRETS_KEY, IDEMPOTENCY_SECRET, AUDIT_SECRET, BACKUP_FACTS];
  for (const name of plainFiles(source)) {
    if (done.includes(name) || isJournal(name) || isRowsFile(name)) continue;
    await copyDurably(join(source, name), join(target, name));
  }
  await copyRows(source, target);
  await copyFiles(join(source, STORED_FILES), join(target, STORED_FILES));
  await nodeFileSystem.syncFolder(join(target, AUDIT));
  await nodeFileSystem.syncFolder(target);
}

/** Copies the file of imported rows after the journals, since it holds audit entries of its own, and again if it changed meanwhile. */
async function copyRows(source: string, target: string): Promise<void> {
  for (let attempt = 1; attempt <= ROWS_ATTEMPTS; attempt += 1) {
    const number = currentRowsFile(source);
    if (number === 0) return;
    const [from, to] = [rowsFile(source, number), rowsFile(target, number)];
    const before = await stat(from, { bigint: true });
    await removeFile(to);
    await copyDurably(from, to);
    if (existsSync(`${from}.wal`)) await copyDurably(`${from}.wal`, `${to}.wal`);
    const after = await stat(from, { bigint: true });
    if (after.mtimeNs === before.mtimeNs && after.size === before.size && currentRowsFile(source) === number) return;
  }
  throw new OperatorError(`The imported rows in ${source} changed all the time; try again when fewer are imported.`);
}

/** After the journals, so that each record has its file. One without a record goes when the copy is opened. */
async function copyFiles(source: string, target: string): Promise<void> {
  if (!existsSync(source)) return;
  mkdirSync(target, { recursive: true, mode: 0o700 });
  for (const name of plainFiles(source)) {
    await copyDurably(join(source, name), join(target, name)).catch((error) => {
      if (error.code !== 'ENOENT') throw error; // the document was purged during the copy
    });
  }
  await nodeFileSystem.syncFolder(target);
}

async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  await chmod(to, 0o600);
  const file = await open(to, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

export function plainFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
}
