import { constants, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { chmod, copyFile, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError, StoreDamaged } from '../errors.ts';
import { realFiles } from './files/files.ts';
import {
  AUDIT,
  isJournal,
  journalPath,
  journalsIn,
  LOCK,
  REPEATS_SECRET,
  SECRETS_KEY,
  SNAPSHOT,
  SNAPSHOT_DRAFT,
} from './files/folder.ts';
import { readSnapshotHeader } from './journal/snapshot.ts';
import { openLowdbStore } from './open.ts';

const ATTEMPTS = 5;

/**
 * Copies a data folder, also while a server writes to it. The copy holds every transaction that was answered before, and only whole ones.
 * When this resolves, the copy is durable and was opened once as a test.
 * @throws StoreDamaged when the source cannot be opened either
 */
export async function copySnapshot(sourceFolder: string, targetFolder: string): Promise<void> {
  if (!existsSync(join(sourceFolder, SNAPSHOT)))
    throw new OperatorError(`${sourceFolder} is no data folder: it has no ${SNAPSHOT}; set DATA_DIR.`);
  mkdirSync(targetFolder, { recursive: true, mode: 0o700 });
  if (readdirSync(targetFolder).length > 0)
    throw new OperatorError(`${targetFolder} is not empty; name an empty or absent folder.`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await copyOnce(sourceFolder, targetFolder);
      await (await openLowdbStore({ folder: targetFolder })).close();
      return;
    } catch (error) {
      for (const name of readdirSync(targetFolder)) await rm(join(targetFolder, name), { recursive: true });
      // Meanwhile a compaction may have removed journals, or a failed write may have been cut off.
      if (attempt === ATTEMPTS || !(error instanceof StoreDamaged || isMissing(error))) throw error;
    }
  }
}

/**
 * The order matters. The journals from the snapshot's generation on hold everything after it. Entries of older journals were in the audit
 * segments before the snapshot appeared. Everything in the segments is also in the journals, which are copied last.
 */
async function copyOnce(source: string, target: string): Promise<void> {
  await copyDurably(join(source, SNAPSHOT), join(target, SNAPSHOT));
  const { generation } = readSnapshotHeader(join(target, SNAPSHOT));
  mkdirSync(join(target, AUDIT), { recursive: true, mode: 0o700 });
  for (const name of plainFiles(join(source, AUDIT)))
    await copyDurably(join(source, AUDIT, name), join(target, AUDIT, name));
  for (const journal of journalsIn(source)) {
    if (journal >= generation) await copyDurably(journalPath(source, journal), journalPath(target, journal));
  }
  const done = [SNAPSHOT, SNAPSHOT_DRAFT, LOCK, SECRETS_KEY, REPEATS_SECRET];
  for (const name of plainFiles(source)) {
    if (done.includes(name) || isJournal(name)) continue;
    await copyDurably(join(source, name), join(target, name));
  }
  await realFiles.syncFolder(join(target, AUDIT));
  await realFiles.syncFolder(target);
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
