import { type CollectionName, collections, type RecordOf } from '../collections.ts';
import { CommitAdditions, CommitListeners } from '../commit-listeners.ts';
import type { Embeddings } from '../embeddings-port.ts';
import { StoreUnavailable } from '../errors.ts';
import { FILE_RECORDS, type StoredFiles } from '../files-port.ts';
import { Mutex } from '../mutex.ts';
import type {
  AddToCommit,
  AuditLog,
  IdQuery,
  Reader,
  Readers,
  RecordChange,
  Store,
  StoreStatus,
  TextPage,
  TextQuery,
  Transaction,
} from '../port.ts';
import { changeOf } from '../record-change.ts';
import type { Row } from '../row.ts';
import type { RowStore } from '../rows-port.ts';
import type { Size } from '../sizes.ts';
import type { SegmentedAudit } from './audit/log.ts';
import type { EmbeddingFile } from './embeddings/embedding-file.ts';
import type { FolderLock } from './files/lock.ts';
import type { Manifest } from './files/manifest.ts';
import type { Heap } from './heap.ts';
import { OwnJobs } from './jobs.ts';
import type { Compaction } from './journal/compaction.ts';
import type { Journal } from './journal/journal.ts';
import type { StoredChange, UndoLog } from './journal/undo-log.ts';
import type { Collection } from './records/collection.ts';
import { find, inOrder } from './records/find.ts';
import { count, type RowCount, type RowFilter, type RowQuery, withOwners } from './records/query.ts';
import type { RowCommits } from './rows.ts';
import type { FolderFiles } from './stored-files.ts';
import { search } from './text/text-search.ts';
import { StagedTransaction } from './transaction.ts';

interface StoreDeps {
  readonly collections: ReadonlyMap<string, Collection>;
  readonly journal: Journal;
  readonly unwritten: UndoLog;
  readonly compaction: Compaction;
  readonly audit: SegmentedAudit;
  readonly imports: RowCommits;
  readonly embeddings: EmbeddingFile;
  readonly files: FolderFiles;
  readonly lock: FolderLock;
  readonly manifest: Manifest;
  readonly heap: Heap;
  readonly dropped: readonly string[];
  readonly now: () => Date;
}

type StoreCore = Omit<Store, keyof Readers>;

export class LowdbStore implements StoreCore {
  readonly kind = 'lowdb';
  readonly audit: AuditLog;
  readonly rows: RowStore;
  readonly embeddings: Embeddings;
  readonly files: StoredFiles;
  readonly jobs = new OwnJobs();
  readonly #deps: StoreDeps;
  readonly #turns = new Mutex();
  readonly #listeners = new CommitListeners();
  readonly #additions = new CommitAdditions();
  #closing: Promise<void> | undefined;

  constructor(deps: StoreDeps) {
    this.#deps = deps;
    this.rows = deps.imports.rows;
    this.embeddings = deps.embeddings;
    this.files = deps.files;
    deps.imports.transact = (work) => this.#transactOwn(work);
    this.audit = {
      append: (entry) => {
        this.#assertOpen();
        deps.audit.append(entry);
      },
      find: async (query) => {
        this.#assertOpen();
        return deps.audit.find(query);
      },
      count: async (filter) => {
        this.#assertOpen();
        return deps.audit.count(filter);
      },
      flush: async () => {
        this.#assertOpen();
        return deps.audit.flush();
      },
      prune: (before) => this.#prune(before),
      proof: deps.audit.proof,
    };
  }

  onCommit(...listener: Parameters<CommitListeners['add']>): () => void {
    return this.#listeners.add(...listener);
  }

  beforeCommit(add: AddToCommit): () => void {
    return this.#additions.add(add);
  }

  async transaction<Result>(work: (tx: Transaction) => Promise<Result>, origin?: object): Promise<Result> {
    this.#assertOpen();
    const { compaction, imports, files } = this.#deps;
    const staged = this.#stage();
    const { result, notified, notes } = await this.#commitDurably(staged, work).catch((error) => {
      throw imports.mend(staged, error);
    });
    if (notified.length > 0) this.#listeners.tell({ changes: notified, origin });
    if (notes.length > 0) await imports.erase(notes, staged);
    // The snapshot and the journals still hold what was erased. A failure shows in the status and is tried again.
    if (staged.erased.length > 0) compaction.renew().catch(() => {});
    await files.discard(staged.removed(FILE_RECORDS));
    return result;
  }

  async #commitDurably<Result>(staged: StagedTransaction, work: (tx: Transaction) => Promise<Result>) {
    const endTurn = await this.#turns.take();
    let result: Result;
    let notes: readonly string[];
    let durable: Promise<void>;
    let notified: readonly RecordChange[] = [];
    try {
      const { journal, imports, collections } = this.#deps;
      const { refusals } = journal;
      result = await staged.run(this.#additions.after(work, () => recordChanges(staged.changes(), collections)));
      // Rows cannot be taken back.
      if (staged.batch) await journal.requireWritable();
      await imports.write(staged);
      if (journal.refusals !== refusals) {
        throw new StoreUnavailable('a change that this one was based on could not be written to the disk');
      }
      notes = staged.placeErasures(staged.erasedUsers);
      const changes = staged.changes();
      if (!this.#listeners.isEmpty) notified = recordChanges(changes, collections);
      durable = this.#commit(staged, changes);
    } finally {
      endTurn();
    }
    await durable;
    return { result, notified, notes };
  }

  status(): StoreStatus {
    const { journal, compaction, audit, imports, manifest, heap } = this.#deps;
    const dropped = [...this.#deps.dropped, ...audit.dropped];
    const failed = journal.error ?? compaction.error ?? audit.error ?? manifest.error;
    const error = failed ?? imports.rows.error ?? this.#listeners.error;
    const nearlyFull = heap.warning();
    return {
      writable: !journal.error && !this.#closing,
      ...(journal.flushMs !== undefined && { flushMs: journal.flushMs }),
      ...(error && { lastError: error.message }),
      ...(imports.rows.damage && { damage: imports.rows.damage.message }),
      ...(nearlyFull !== undefined && { nearlyFull }),
      ...(dropped.length > 0 && { dropped }),
    };
  }

  fullMemory(): string | undefined {
    return this.#deps.heap.refusal();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  reader(collection: Collection): Reader<Row> {
    return {
      get: async (id) => this.#current(collection).get(id),
      read: async (id) => this.#current(collection).read(id),
      find: (query) => this.#find(collection, query),
      first: async (query) => (await this.#find(collection, { ...query, limit: 1 })).records[0],
      count: async (filter) => {
        return count(this.#current(collection), await this.#withOwners(collection, filter));
      },
    };
  }

  async #find(collection: Collection, query: RowQuery) {
    if (query.sort) await inOrder(this.#current(collection), query);
    return find(this.#current(collection), query);
  }

  async sizes(name: CollectionName): Promise<readonly Size[]> {
    this.#assertOpen();
    return this.#collection(name).sizes?.all() ?? [];
  }

  async search<Name extends CollectionName>(
    name: Name,
    query: TextQuery<RecordOf<Name>>,
  ): Promise<TextPage<RecordOf<Name>>> {
    await this.#collection(name).textCaughtUp();
    const owner = collections[name].search?.owner;
    const owners = owner && this.#current(this.#collection(owner.collection));
    // The rows of a collection were checked by its schema when they were written or read from the disk.
    return search(this.#current(this.#collection(name)), owners, query as TextQuery<Row>) as TextPage<RecordOf<Name>>;
  }

  async ids<Name extends CollectionName>(
    name: Name,
    { limit, ...filter }: IdQuery<RecordOf<Name>>,
  ): Promise<readonly string[]> {
    const collection = this.#collection(name);
    const owned = await this.#withOwners(collection, filter as RowCount); // it names members of the collection
    return find(this.#current(collection), { ...owned, limit }).records.map(({ id }) => id);
  }

  #withOwners(collection: Collection, filter: RowCount): Promise<RowFilter> {
    return withOwners(collection, filter, (name, query) => this.reader(this.#collection(name)).find(query));
  }

  #collection(name: string): Collection {
    const found = this.#deps.collections.get(name);
    if (!found) throw new Error(`there is no collection ${name}`);
    return found;
  }

  #current(collection: Collection): Collection {
    this.#assertOpen();
    collection.expire(() => this.#deps.now().toISOString());
    return collection;
  }

  async #transactOwn(work: (staged: StagedTransaction) => void): Promise<void> {
    const endTurn = await this.#turns.take();
    let durable: Promise<void>;
    try {
      const staged = this.#stage();
      work(staged);
      durable = this.#commit(staged, staged.changes());
    } finally {
      endTurn();
    }
    await durable;
    this.#deps.compaction.renew().catch(() => {});
  }

  #stage(): StagedTransaction {
    const { collections, now } = this.#deps;
    return new StagedTransaction({ collections, now: () => now().toISOString() });
  }

  /** Changes memory and adds to the journal's queue in one step. */
  #commit(staged: StagedTransaction, changes: readonly StoredChange[]): Promise<void> {
    const { journal, unwritten, audit, collections } = this.#deps;
    const body = staged.body();
    // A transaction that only read may have read changes that are not durable yet, so it waits for those.
    if (!body) return journal.settled();
    const json = JSON.stringify(body);
    const undo = unwritten.apply(collections, changes);
    return journal.append({
      json,
      undo,
      written: (sequence) => {
        unwritten.forget(undo);
        if (body.erased) audit.erase({ sequence, ids: body.erased });
        for (const [index, entry] of (body.audit ?? []).entries()) audit.append(entry, `${sequence}.${index}`);
      },
    });
  }

  async #prune(before: string): Promise<number> {
    this.#assertOpen();
    const { journal, audit } = this.#deps;
    const pruned = new Date(before).toISOString();
    // Without this line the next start would take the removed entries from the journals again.
    await journal.append({ json: JSON.stringify({ pruned }), undo: () => {}, written: () => {} });
    return audit.prune(pruned);
  }

  async #close(): Promise<void> {
    const { journal, compaction, audit, imports, embeddings, files, lock, manifest } = this.#deps;
    this.jobs.close();
    this.#deps.heap.close();
    for (const collection of this.#deps.collections.values()) collection.close();
    const endTurn = await this.#turns.take();
    endTurn();
    try {
      await journal.drained();
      await compaction.close();
      await journal.close();
      await audit.close();
      await imports.rows.close();
      await embeddings.close();
      await files.close();
    } finally {
      await manifest.close();
      await lock.release();
    }
  }

  #assertOpen(): void {
    if (this.#closing) throw new StoreUnavailable('the store is closed');
  }
}

function recordChanges(changes: readonly StoredChange[], kept: ReadonlyMap<string, Collection>): RecordChange[] {
  return changes.flatMap(({ collection, id, row }) => changeOf(collection, kept.get(collection)?.get(id), row) ?? []);
}
