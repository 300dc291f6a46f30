import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Low } from 'lowdb';
import type { Readers, Store } from '../port.ts';
import { SegmentedAudit } from './audit/log.ts';
import { type Files, realFiles } from './files/files.ts';
import { damaged, journalPath, journalsIn, rowFilesIn, rowsPath, SNAPSHOT, SNAPSHOT_DRAFT } from './files/folder.ts';
import { FolderLock } from './files/lock.ts';
import { Compaction } from './journal/compaction.ts';
import { currentFormat, type Format } from './journal/format.ts';
import { Journal } from './journal/journal.ts';
import { type Recovered, Recovery } from './journal/recovery.ts';
import { emptySnapshot, type Snapshot, SnapshotAdapter } from './journal/snapshot.ts';
import { Unwritten } from './journal/unwritten.ts';
import { Collection } from './records/collection.ts';
import { keptCollections, ROW_FILE_ID, ROW_FILES } from './records/kept-collections.ts';
import { RowFile } from './rows/row-file.ts';
import { LowdbStore } from './store.ts';

export interface LowdbOptions {
  /** Made where it is absent. One process at a time uses it. */
  readonly folder: string;
  readonly now?: () => Date;
  /** Journals shorter than this are not merged into the snapshot. */
  readonly compactBytes?: number;
  /** When to try again after a compaction failed. */
  readonly compactRetryMs?: number;
  /** When to see whether the disk takes writes again. */
  readonly probeMs?: number;
  /** Audit entries of reads kept while the disk takes none. */
  readonly auditBufferLimit?: number;
  readonly format?: Format;
  readonly files?: Files;
}

/**
 * Opens the embedded store: everything in memory, durable in a folder.
 * @throws StoreLocked, StoreDamaged
 */
export async function openLowdbStore(options: LowdbOptions): Promise<Store> {
  const lock = await FolderLock.take(options.folder);
  try {
    return await assemble(options, lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function assemble(options: LowdbOptions, lock: FolderLock): Promise<Store> {
  const { folder, files = realFiles, format = currentFormat, now = () => new Date() } = options;
  const collections = new Map(
    Array.from(keptCollections, ([name, definition]) => [name, new Collection(name, definition)]),
  );
  const unwritten = new Unwritten();
  const snapshots = new SnapshotAdapter(join(folder, SNAPSHOT), files, format, () => compaction.assertOpen());
  const low = new Low<Snapshot>(snapshots, emptySnapshot);
  const recovered = await recover(folder, collections, low, format);
  const rows = openRows(folder, files, collections);
  for (const collection of collections.values()) collection.indexText();
  const audit = new SegmentedAudit({ folder, files, bufferLimit: options.auditBufferLimit ?? 100_000 });
  await audit.load(recovered);
  const journal = new Journal({
    folder,
    files,
    format: format.number,
    probeMs: options.probeMs ?? 1000,
    afterBatch: () => compaction.check(),
    ...recovered,
  });
  const compaction = new Compaction({
    folder,
    files,
    format: format.number,
    snapshots,
    low,
    collections,
    journal,
    minimumBytes: options.compactBytes ?? 8 * 1024 * 1024,
    retryMs: options.compactRetryMs ?? 30_000,
    unwritten: () => unwritten.latestFirst(),
    settleAudit: () => audit.settle(),
  });
  await settle(recovered, journal, compaction);
  if (!recovered.found) await files.syncFolder(dirname(resolve(folder)));
  const core = new LowdbStore({ collections, journal, unwritten, compaction, audit, rows, lock, now });
  const readers = Object.fromEntries([...collections].map(([name, collection]) => [name, core.reader(collection)]));
  // Every row of a collection was parsed by its schema, when it was written or read from the disk.
  return Object.assign(core, readers as unknown as Readers);
}

function openRows(folder: string, files: Files, collections: ReadonlyMap<string, Collection>): RowFile {
  const record = collections.get(ROW_FILES)?.get(ROW_FILE_ID);
  const extent = {
    file: Number(record?.file ?? 1),
    end: Number(record?.end ?? 0),
    head: Number(record?.head ?? 0),
    shift: Number(record?.shift ?? 0),
  };
  const path = rowsPath(folder, extent.file);
  const size = existsSync(path) ? statSync(path).size : 0;
  if (size < extent.end)
    throw damaged(path, `the file ends before the rows that were committed (${size} of ${extent.end} bytes)`);
  // A crash came while one file took the place of another.
  for (const other of rowFilesIn(folder)) if (other !== extent.file) rmSync(rowsPath(folder, other));
  return new RowFile(folder, files, extent);
}

/** Brings the records into memory as they were acknowledged. */
async function recover(
  folder: string,
  collections: ReadonlyMap<string, Collection>,
  low: Low<Snapshot>,
  format: Format,
): Promise<Recovered> {
  rmSync(join(folder, SNAPSHOT_DRAFT), { force: true });
  await low.read();
  const { generation, sequence, chain, collections: kept, format: written } = low.data;
  const found = generation > 0;
  for (const [name, rows] of Object.entries(kept)) {
    for (const row of rows) collections.get(name)?.set(row.id, row);
  }
  low.data = emptySnapshot;
  const start = found ? { sequence, crc: Number.parseInt(chain, 16) } : { sequence: 0, crc: 0 };
  const recovered = new Recovery(folder, collections, format, start).run(found ? generation : 1, found);
  // A crash came between the new snapshot and the removal of what it holds.
  for (const old of journalsIn(folder)) if (old < generation) rmSync(journalPath(folder, old));
  return { ...recovered, outdated: recovered.outdated || (found && written < format.number), found };
}

/** The first journal and snapshot of a new folder; one snapshot for what a crash left in several files. */
async function settle(recovered: Recovered, journal: Journal, compaction: Compaction): Promise<void> {
  const { found, several, outdated, size, generation, end, erasures } = recovered;
  await journal.begin();
  if (!found && size === 0) return compaction.first(generation, end);
  if (found && !several && !outdated && erasures.length === 0) return;
  const switched = compaction.request();
  // Nothing may be added to a journal of an older format. A disk too full to merge journals is no reason not to start.
  await (outdated ? switched : switched.catch(() => {}));
}
