import { constants, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { chmod, copyFile, open, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { type CollectionName, collections } from '../collections.ts';
import { currentRowsFile, isRowsFile, rowsFile } from '../duckdb/files.ts';
import { removeFile } from '../duckdb/rewrite.ts';
import { OperatorError, StoreDamaged } from '../errors.ts';
import { realFiles } from './files/files.ts';
import {
  AUDIT,
  BACKUP_FACTS,
  isJournal,
  journalPath,
  journalsIn,
  LOCK,
  MANIFEST,
  REPEATS_SECRET,
  SECRETS_KEY,
  SNAPSHOT,
  SNAPSHOT_DRAFT,
} from './files/folder.ts';
import { readSnapshotHeader } from './journal/snapshot.ts';
import { openLowdbStore } from './open.ts';

const ATTEMPTS = 5;
const ROWS_ATTEMPTS = 20;

/** What a backup says about itself in a file of its own. */
export const backupFacts = z.object({
  /** The data folder that it is a copy of. */
  source: z.string(),
  bytes: z.int().min(0),
  records: z.int().min(0),
  auditEntries: z.int().min(0),
});
export type BackupFacts = z.infer<typeof backupFacts>;

/**
 * Copies a data folder, also while a server writes to it. The copy holds every transaction that was answered before, and only whole ones.
 * When this resolves, the copy is durable and was opened once as a test.
 * @throws StoreDamaged when the source cannot be opened either
 */
export async function copySnapshot(sourceFolder: string, targetFolder: string): Promise<void> {
  if (!existsSync(join(sourceFolder, SNAPSHOT)))
    throw new OperatorError(`${sourceFolder} is not a data folder: it has no ${SNAPSHOT}; set DATA_DIR.`);
  mkdirSync(targetFolder, { recursive: true, mode: 0o700 });
  if (readdirSync(targetFolder).length > 0)
    throw new OperatorError(`${targetFolder} is not empty; name an empty or absent folder.`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await copyOnce(sourceFolder, targetFolder);
      const counts = await verify(targetFolder);
      await writeFacts(targetFolder, { source: resolve(sourceFolder), bytes: await bytesOf(targetFolder), ...counts });
      return;
    } catch (error) {
      for (const name of readdirSync(targetFolder)) await rm(join(targetFolder, name), { recursive: true });
      // Meanwhile a compaction may have removed journals, or a failed write may have been cut off.
      if (attempt === ATTEMPTS || !(error instanceof StoreDamaged || isMissing(error))) throw error;
    }
  }
}

/**
 * The order matters. The manifest may be older than the rest, but not newer. The journals from the snapshot's generation on hold everything after it. Entries of older journals were in the audit
 * segments before the snapshot appeared. Everything in the segments is also in the journals, which are copied last.
 */
async function copyOnce(source: string, target: string): Promise<void> {
  if (existsSync(join(source, MANIFEST))) await copyDurably(join(source, MANIFEST), join(target, MANIFEST));
  await copyDurably(join(source, SNAPSHOT), join(target, SNAPSHOT));
  const { generation } = readSnapshotHeader(join(target, SNAPSHOT));
  mkdirSync(join(target, AUDIT), { recursive: true, mode: 0o700 });
  for (const name of plainFiles(join(source, AUDIT)))
    await copyDurably(join(source, AUDIT, name), join(target, AUDIT, name));
  for (const journal of journalsIn(source)) {
    if (journal >= generation) await copyDurably(journalPath(source, journal), journalPath(target, journal));
  }
  const done = [MANIFEST, SNAPSHOT, SNAPSHOT_DRAFT, LOCK, SECRETS_KEY, REPEATS_SECRET, BACKUP_FACTS];
  for (const name of plainFiles(source)) {
    if (done.includes(name) || isJournal(name) || isRowsFile(name)) continue;
    await copyDurably(join(source, name), join(target, name));
  }
  await copyRows(source, target);
  await realFiles.syncFolder(join(target, AUDIT));
  await realFiles.syncFolder(target);
}

/**
 * Copies the file of imported rows with its log of later writes. If the engine changed the file during the copy, it is copied again. It is
 * copied after the journals: rows without their transaction bring its audit entries with them.
 */
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

/** Opens the copy, reads all of it and counts. @throws StoreDamaged */
async function verify(folder: string): Promise<Pick<BackupFacts, 'records' | 'auditEntries'>> {
  const store = await openLowdbStore({ folder });
  try {
    if (currentRowsFile(folder) > 0) await store.rows.check();
    const names = Object.keys(collections) as CollectionName[]; // its own members
    const counts = await Promise.all(names.map((name) => store[name].count({})));
    return { records: counts.reduce((sum, count) => sum + count, 0), auditEntries: await store.audit.count({}) };
  } finally {
    await store.close();
  }
}

async function writeFacts(folder: string, facts: BackupFacts): Promise<void> {
  const file = await open(join(folder, BACKUP_FACTS), 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(facts)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await realFiles.syncFolder(folder);
}

/** The size of a backup, without what it says about itself. */
export async function bytesOf(folder: string): Promise<number> {
  const files = [folder, join(folder, AUDIT)].flatMap((place) => plainFiles(place).map((name) => join(place, name)));
  const sizes = files
    .filter((path) => path !== join(folder, BACKUP_FACTS))
    .map(async (path) => (await stat(path)).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_EXCL);
  await chmod(to, 0o600);
  const file = await open(to, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function plainFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
