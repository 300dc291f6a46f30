import { rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Low } from 'lowdb';
import { ProofKey } from '../audit-proof/proof-key.ts';
import { AuditProver } from '../audit-proof/prover.ts';
import { startErrorOf } from '../disk-full.ts';
import { FILE_RECORDS } from '../files-port.ts';
import { noProgress, type OpenProgress } from '../open-progress.ts';
import type { Readers, Store } from '../port.ts';
import { HeadFile } from './audit/head-file.ts';
import { SegmentedAudit } from './audit/log.ts';
import { keepOlderFormat } from './copy-folder.ts';
import { EmbeddingFile } from './embeddings/embedding-file.ts';
import { type FileSystem, nodeFileSystem } from './files/file-system.ts';
import { journalPath, journalsIn, SNAPSHOT, SNAPSHOT_DRAFT, STORED_FILES } from './files/folder.ts';
import { FolderLock } from './files/lock.ts';
import { Manifest } from './files/manifest.ts';
import { Heap } from './heap.ts';
import { Compaction } from './journal/compaction.ts';
import { currentFormat, type Format } from './journal/format.ts';
import { Journal } from './journal/journal.ts';
import { type Recovered, Recovery } from './journal/recovery.ts';
import { SharedTexts } from './journal/shared-texts.ts';
import { emptySnapshot, type Snapshot, SnapshotAdapter } from './journal/snapshot.ts';
import { UndoLog } from './journal/undo-log.ts';
import { Collection } from './records/collection.ts';
import { allCollections } from './records/own-collections.ts';
import { RowCommits } from './rows.ts';
import { LowdbStore } from './store.ts';
import { FolderFiles } from './stored-files.ts';

export interface LowdbOptions {
  /** The data folder. It is made where it does not exist. Only one process at a time can use it. */
  readonly folder: string;
  readonly now?: () => Date;
  readonly compactBytes?: number;
  readonly compactRetryMs?: number;
  readonly probeMs?: number;
  /** The largest number of audit entries of reads that wait in memory while the disk refuses them. */
  readonly auditBufferLimit?: number;
  readonly metricsMemoryMb?: number;
  /** The secret behind the proof of the audit log. Without it, entries have none. */
  readonly auditSecret?: string | undefined;
  readonly format?: Format;
  readonly files?: FileSystem;
  readonly opening?: OpenProgress | undefined;
}

/** @throws StoreLocked, StoreDamaged, OperatorError if there is no room */
export async function openLowdbStore(options: LowdbOptions): Promise<Store> {
  const { folder, opening = noProgress } = options;
  const lock = await FolderLock.take(folder, opening).catch((error) => {
    throw startErrorOf(error, folder);
  });
  const heap = new Heap();
  try {
    return await assemble({ ...options, opening: heap.watched(opening, folder) }, lock, heap);
  } catch (error) {
    heap.close();
    await lock.release();
    throw startErrorOf(error, folder);
  }
}

async function assemble(options: LowdbOptions, lock: FolderLock, heap: Heap): Promise<Store> {
  const { folder, files = nodeFileSystem, format = currentFormat, opening = noProgress } = options;
  const collections = emptyCollections();
  const unwritten = new UndoLog();
  const texts = new SharedTexts();
  const onChunk = () => compaction.assertOpen();
  const snapshots = new SnapshotAdapter(join(folder, SNAPSHOT), { files, format, opening, texts, onChunk });
  const low = new Low<Snapshot>(snapshots, emptySnapshot);
  const manifest = new Manifest(folder, files);
  manifest.read();
  const recovered = await recover({ folder, collections, low, format, manifest, opening, texts });
  texts.forget();
  for (const collection of collections.values()) collection.indexText();
  const audit = await openAudit(options, { manifest, recovered });
  const journal = new Journal({
    folder,
    files,
    format: format.number,
    probeMs: options.probeMs ?? 1000,
    manifest,
    afterBatch: () => compaction.check(),
    ...recovered,
  });
  const compaction = new Compaction({
    ...{ folder, files, format: format.number, snapshots, low, collections, journal },
    minimumBytes: options.compactBytes ?? 8 * 1024 * 1024,
    retryMs: options.compactRetryMs ?? 30_000,
    unwritten: () => unwritten.latestFirst(),
    settleAudit: () => audit.settle(),
  });
  const settled = { folder, format, opening, recovered, journal, compaction };
  await settle(settled).catch((error: unknown) => failed(error, [journal, manifest]));
  if (!recovered.found) await files.syncFolder(dirname(resolve(folder)));
  const { now = () => new Date(), metricsMemoryMb: memoryMb = 128 } = options;
  const imports = new RowCommits({ folder, memoryMb, collections, audit });
  const beside = { imports, ...(await openBeside(folder, files, collections)), dropped: recovered.dropped };
  const parts = { collections, journal, unwritten, compaction, audit, lock, manifest, heap, now, ...beside };
  const core = new LowdbStore(parts);
  const readers = Object.fromEntries([...collections].map(([name, collection]) => [name, core.reader(collection)]));
  // Every row of a collection was checked by its schema when it was written or read from the disk.
  return Object.assign(core, readers as Readers);
}

/** What has files of its own, which the journal does not name. */
async function openBeside(folder: string, files: FileSystem, collections: ReadonlyMap<string, Collection>) {
  const stored = new FolderFiles(join(folder, STORED_FILES), files);
  await stored.sweep((id) => collections.get(FILE_RECORDS)?.get(id) !== undefined);
  return { files: stored, embeddings: new EmbeddingFile(folder, files) };
}

async function openAudit(
  { folder, files = nodeFileSystem, now = () => new Date(), opening = noProgress, ...options }: LowdbOptions,
  { manifest, recovered }: { readonly manifest: Manifest; readonly recovered: Recovered },
): Promise<SegmentedAudit> {
  const audit = new SegmentedAudit({ folder, files, manifest, bufferLimit: options.auditBufferLimit ?? 100_000 });
  if (options.auditSecret !== undefined) {
    const log = audit.provenLog(new HeadFile(folder, files));
    audit.proof = new AuditProver(new ProofKey(options.auditSecret), log, now);
  }
  await audit.load(recovered, opening);
  await audit.proof?.begin();
  return audit;
}

function emptyCollections(): ReadonlyMap<string, Collection> {
  return new Map(Array.from(allCollections, ([name, definition]) => [name, new Collection(name, definition)]));
}

interface RecoverOptions {
  readonly folder: string;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly low: Low<Snapshot>;
  readonly format: Format;
  readonly manifest: Manifest;
  readonly opening: OpenProgress;
  readonly texts: SharedTexts;
}

async function recover(options: RecoverOptions): Promise<Recovered> {
  const { folder, collections, low, format, manifest, opening, texts } = options;
  rmSync(join(folder, SNAPSHOT_DRAFT), { force: true });
  await low.read();
  const { generation, sequence, chain, collections: kept, format: written } = low.data;
  const found = generation > 0;
  for (const [name, rows] of Object.entries(kept)) {
    for (const row of rows) collections.get(name)?.set(row.id, row);
  }
  low.data = emptySnapshot;
  const start = found ? { sequence, crc: Number.parseInt(chain, 16) } : { sequence: 0, crc: 0 };
  const recovery = new Recovery({ folder, collections, format, start, mark: manifest.journal, opening, texts });
  const recovered = await recovery.run(found ? generation : 1, found);
  // A crash came between writing the new snapshot and removing the journals that it contains.
  for (const old of journalsIn(folder)) if (old < generation) rmSync(journalPath(folder, old));
  return { ...recovered, outdated: recovered.outdated || (found && written < format.number), found };
}

/** Closes what was opened: newer versions of Node.js end a process in which an open file is collected as garbage. */
async function failed(error: unknown, opened: readonly (Journal | Manifest)[]): Promise<never> {
  await Promise.allSettled(opened.map((each) => each.close()));
  throw error;
}

interface SettleOptions {
  readonly folder: string;
  readonly format: Format;
  readonly opening: OpenProgress;
  readonly recovered: Recovered;
  readonly journal: Journal;
  readonly compaction: Compaction;
}

/** Writes the first journal and snapshot of a new folder, or one snapshot where a crash left several journals. */
async function settle({ folder, format, opening, recovered, journal, compaction }: SettleOptions): Promise<void> {
  const { found, several, outdated, isHalfMigrated, size, generation, end, erasures } = recovered;
  if (found && outdated && !isHalfMigrated) {
    opening.step(`copying the data before it is brought to format ${format.number}`);
    const kept = await keepOlderFormat(folder, format.number);
    opening.notice(
      `The data is brought to format ${format.number}. As it was, it is in ${kept}: see "Upgrade" in the guides.`,
    );
  }
  await journal.begin();
  if (!found && size === 0) return compaction.first(generation, end);
  if (found && !several && !outdated && erasures.length === 0) return;
  const switched = compaction.request();
  // Nothing may be added to a journal of an older format. A disk that is too full to merge journals does not prevent the start.
  await (outdated ? switched : switched.catch(() => {}));
}
