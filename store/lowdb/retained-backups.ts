import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Backup } from '../../resources/backup.ts';
import { type BackupFacts, backupFacts, bytesOf } from './backup.ts';
import { realFiles } from './files/files.ts';
import { BACKUP_FACTS } from './files/folder.ts';
import { holderOf } from './files/lock.ts';

/** A backup is named by its time: `2026-11-22T03-00-00-000Z`. */
const NAME = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)$/;

/** A folder of backups. Each backup is a whole data folder. */
export interface BackupFolder {
  readonly folder: string;
  /** The data folder that backups are made of. */
  readonly source: string;
}

/** The backups in the folder, newest first, also those of other data folders. */
export async function listBackups(folder: string): Promise<(Backup & { readonly source: string | undefined })[]> {
  const names = readFolder(folder).filter((name) => NAME.test(name));
  return Promise.all(
    names
      .sort()
      .reverse()
      .map(async (name) => describe(join(folder, name), name)),
  );
}

async function describe(path: string, name: string): Promise<Backup & { readonly source: string | undefined }> {
  const [facts, bytes] = await Promise.all([factsOf(path), bytesOf(path)]);
  return {
    name,
    at: name.replace(NAME, '$1:$2:$3.$4'),
    bytes,
    records: facts?.records ?? 0,
    auditEntries: facts?.auditEntries ?? 0,
    verified: facts?.bytes === bytes,
    source: facts?.source,
  };
}

/**
 * Makes a backup. It gets its name once it is complete, checked and durable. What earlier attempts left is removed before.
 * `copy` fills an empty folder and writes the facts there.
 */
export async function makeBackup(
  { folder, source }: BackupFolder,
  at: Date,
  copy: (target: string) => Promise<unknown>,
): Promise<Backup> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeUnfinished(folder, source);
  const name = freeName(folder, at);
  const draft = join(folder, `${unfinishedOf(source)}${name}`);
  try {
    await copy(draft);
    await rename(draft, join(folder, name));
    await realFiles.syncFolder(folder);
  } catch (error) {
    await remove(draft);
    throw error;
  }
  const { source: _, ...made } = await describe(join(folder, name), name);
  return made;
}

/** Removes the backups of the data folder that are older than the newest `keep` verified ones. One that a server runs on stays. */
export async function pruneBackups({ folder, source }: BackupFolder, keep: number): Promise<void> {
  const own = (await listBackups(folder)).filter((backup) => backup.source === resolve(source));
  const oldestKept = own.filter(({ verified }) => verified)[keep - 1];
  if (!oldestKept) return;
  for (const { name } of own) {
    if (name >= oldestKept.name || holderOf(join(folder, name))) continue;
    const removed = join(folder, `${unfinishedOf(source)}${name}`);
    await rename(join(folder, name), removed);
    await remove(removed);
  }
}

function freeName(folder: string, at: Date): string {
  const name = at.toISOString().replaceAll(/[:.]/g, '-');
  return existsSync(join(folder, name)) ? freeName(folder, new Date(at.getTime() + 1)) : name;
}

async function removeUnfinished(folder: string, source: string): Promise<void> {
  for (const name of readFolder(folder)) if (name.startsWith(unfinishedOf(source))) await remove(join(folder, name));
}

/** What is not complete, or half removed, has a name that begins like this, for each data folder another. */
function unfinishedOf(source: string): string {
  return `.unfinished-${createHash('sha256').update(resolve(source)).digest('hex').slice(0, 8)}-`;
}

function remove(path: string): Promise<void> {
  // A process killed while writing there may take a moment to end.
  return rm(path, { recursive: true, force: true, maxRetries: 3 });
}

function readFolder(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Undefined if the file is not there or damaged. */
async function factsOf(path: string): Promise<BackupFacts | undefined> {
  try {
    return backupFacts.parse(JSON.parse(await readFile(join(path, BACKUP_FACTS), 'utf8')));
  } catch {
    return undefined;
  }
}
