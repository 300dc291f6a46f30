import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { Backup } from '../../resources/backup.ts';
import { type CollectionName, collections } from '../collections.ts';
import { currentRowsFile } from '../duckdb/files.ts';
import { OperatorError, StoreDamaged } from '../errors.ts';
import { copyFolder, plainFiles } from './copy-folder.ts';
import { nodeFileSystem } from './files/file-system.ts';
import { AUDIT, BACKUP_FACTS, SNAPSHOT, STORED_FILES } from './files/folder.ts';
import { holderOf } from './files/lock.ts';
import { type LowdbOptions, openLowdbStore } from './open.ts';

const ATTEMPTS = 5;

const backupFacts = z.object({
  source: z.string(),
  bytes: z.int().min(0),
  records: z.int().min(0),
  auditEntries: z.int().min(0),
});
type BackupFacts = z.infer<typeof backupFacts>;

/**
 * Copies a data folder during writes. It holds every transaction answered before; it is durable and was opened as a test. @throws
 * StoreDamaged
 */
export async function copySnapshot(
  sourceFolder: string,
  targetFolder: string,
  { auditSecret }: Pick<LowdbOptions, 'auditSecret'> = {},
): Promise<void> {
  if (!existsSync(join(sourceFolder, SNAPSHOT)))
    throw new OperatorError(`${sourceFolder} is not a data folder: it has no ${SNAPSHOT}; set DATA_DIR.`);
  mkdirSync(targetFolder, { recursive: true, mode: 0o700 });
  if (readdirSync(targetFolder).length > 0)
    throw new OperatorError(`${targetFolder} is not empty; name an empty or absent folder.`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await copyFolder(sourceFolder, targetFolder);
      const counts = await verify(targetFolder, auditSecret);
      await writeFacts(targetFolder, { source: resolve(sourceFolder), bytes: await bytesOf(targetFolder), ...counts });
      return;
    } catch (error) {
      for (const name of readdirSync(targetFolder)) await rm(join(targetFolder, name), { recursive: true });
      // Meanwhile a compaction may have removed journals, or a failed write may have been cut off.
      if (attempt === ATTEMPTS || !(error instanceof StoreDamaged || isMissing(error))) throw error;
    }
  }
}

async function verify(
  folder: string,
  auditSecret: string | undefined,
): Promise<Pick<BackupFacts, 'records' | 'auditEntries'>> {
  const store = await openLowdbStore({ folder, auditSecret });
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
  await nodeFileSystem.syncFolder(folder);
}

async function bytesOf(folder: string): Promise<number> {
  const files = [folder, join(folder, AUDIT), join(folder, STORED_FILES)].flatMap((place) =>
    plainFiles(place).map((name) => join(place, name)),
  );
  const sizes = files
    .filter((path) => path !== join(folder, BACKUP_FACTS))
    .map(async (path) => (await stat(path)).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** A backup is named by its time: `2026-11-22T03-00-00-000Z`. */
const NAME = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)$/;

interface BackupFolder {
  readonly folder: string;
  readonly source: string;
}

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

/** Makes a backup, which gets its name once it is complete. `copy` fills an empty folder and writes the facts there. */
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
    await nodeFileSystem.syncFolder(folder);
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

async function factsOf(path: string): Promise<BackupFacts | undefined> {
  try {
    return backupFacts.parse(JSON.parse(await readFile(join(path, BACKUP_FACTS), 'utf8')));
  } catch {
    return undefined;
  }
}
