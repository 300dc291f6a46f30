import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { canonicalize } from 'json-canonicalize';
import type { Author, EntityType, Version, VersionRecord } from '../../../resources/version.ts';
import { ByCollection } from '../../../store/by-collection.ts';
import type { CollectionName, RecordOf } from '../../../store/collections.ts';
import { FILE_RECORDS } from '../../../store/files-port.ts';
import { mapInSeries } from '../../../store/map-in-series.ts';
import type { Change, Guard, NewRecord, Readers, Store, Transaction, Where, Writer } from '../../../store/port.ts';
import { bytesOf } from '../../../store/sizes.ts';
import { actorsOf, authorOf, type Principal } from '../access/principal.ts';
import { type StorageRoom, storageOwnerOf } from '../access/storage.ts';
import type { HistoryWriter, HistoryWriters, VersionNote } from '../history-writers.ts';
import { type HistoryOptions, isVersioned, type Payload, type RecordKind, type VersionedKind } from '../kind.ts';
import type { ServerContext } from '../registry/context.ts';
import type { History } from '../registry/define-kind.ts';
import { deleteAnswersAbout } from '../registry/idempotency.ts';

/** The transaction as handlers get it: changes of versioned records cannot be made without their version. */
export function withHistory(tx: Transaction, kinds: readonly RecordKind[], by: WrittenBy): HistoryWriters {
  // It makes the member of each collection that the type names.
  return new HistoryView({ now: () => new Date(), ...by, tx, kinds }) as unknown as HistoryWriters;
}

interface WrittenBy {
  readonly author: Author;
  /** Ids by which the change is found (`by` of the version). */
  readonly by?: readonly string[];
  readonly now?: () => Date;
  /** The principal in whose quota of storage the versions count. */
  readonly principalId?: string;
  /** Of changes that have none of their own. */
  readonly changeDescription?: string;
  /** Absent if nothing is limited. */
  readonly room?: StorageRoom | undefined;
}

interface HistoryParts extends WrittenBy {
  readonly tx: Transaction;
  readonly kinds: readonly RecordKind[];
  readonly now: () => Date;
}

/** Agents and flows can be stopped, and their models changed, also where the storage is full. */
const NEVER_REFUSED: readonly EntityType[] = ['agent', 'agent-config', 'flow'];

class HistoryView extends ByCollection<unknown> {
  readonly #parts: HistoryParts;

  constructor(parts: HistoryParts) {
    super();
    this.#parts = parts;
  }

  get rows(): Transaction['rows'] {
    return this.#parts.tx.rows;
  }

  noting(changeDescription: string): HistoryView {
    return new HistoryView({ ...this.#parts, changeDescription });
  }

  async purge(collection: CollectionName, id: string): Promise<boolean> {
    const { tx, kinds } = this.#parts;
    const found = await tx[collection].get(id);
    if (found) await tx[collection].delete(id);
    const types = kinds.filter(isVersioned).filter((kind) => kind.collection === collection);
    const versions = await deleteVersions(tx.versions, { entityType: types.map(({ type }) => type), entityId: id });
    await deleteAnswersAbout(tx, id);
    for (const kind of kinds) await kind.forget?.(tx, id);
    tx.erase([id]);
    return found !== undefined || versions > 0;
  }

  protected make(collection: CollectionName): unknown {
    const { tx, kinds } = this.#parts;
    if (collection === FILE_RECORDS) return new FileWriter(tx.documentFiles, this.#parts);
    const kind = kinds.find((each) => each.collection === collection);
    return kind && isVersioned(kind) ? new VersionedWriter(kind, this.#parts) : tx[collection];
  }
}

const BATCH = 500;

/** Deletes all of them, `batch` at a time. Returns how many. */
export async function deleteVersions(
  versions: Transaction['versions'],
  where: Where<VersionRecord>,
  batch = BATCH,
): Promise<number> {
  for (let deleted = 0; ; ) {
    const { records } = await versions.find({ where, limit: batch });
    await versions.deleteAll(records.map(({ id }) => id));
    deleted += records.length;
    if (records.length < batch) return deleted;
    await setImmediate();
  }
}

interface StoredRecord {
  readonly id: string;
  readonly revision: number;
}

class VersionedWriter implements HistoryWriter<StoredRecord> {
  readonly #kind: VersionedKind;
  readonly #parts: HistoryParts;
  readonly #writer: Writer<StoredRecord>;
  readonly get: Writer<StoredRecord>['get'] = (id) => this.#writer.get(id);
  readonly read: Writer<StoredRecord>['read'] = (id) => this.#writer.read(id);
  readonly find: Writer<StoredRecord>['find'] = (query) => this.#writer.find(query);
  readonly first: Writer<StoredRecord>['first'] = (query) => this.#writer.first(query);
  readonly count: Writer<StoredRecord>['count'] = (query) => this.#writer.count(query);
  readonly touch: Writer<StoredRecord>['touch'] = (id, change) => this.#writer.touch(id, change);

  constructor(kind: VersionedKind, parts: HistoryParts) {
    this.#kind = kind;
    this.#parts = parts;
    // Records of every versioned kind have an id and a revision, which is all that is read of them here.
    this.#writer = parts.tx[kind.collection] as Writer<StoredRecord>;
  }

  async insert(record: NewRecord<StoredRecord>, note?: VersionNote): Promise<StoredRecord> {
    const inserted = await this.#writer.insert(record);
    await this.#note(inserted, inserted.revision, note);
    return inserted;
  }

  insertAll(records: readonly NewRecord<StoredRecord>[]): Promise<StoredRecord[]> {
    return mapInSeries(records, (record) => this.insert(record));
  }

  async update(id: string, change: Change<StoredRecord>, options?: Guard & VersionNote): Promise<StoredRecord> {
    const old = await this.#writer.read(id);
    const updated = await this.#writer.update(id, change, options);
    if (updated.revision !== old.revision) {
      await this.#note(options?.kind === 'delete' ? old : updated, updated.revision, options);
    }
    return updated;
  }

  async delete(id: string, options?: Guard & VersionNote): Promise<StoredRecord> {
    const removed = await this.#writer.delete(id, options);
    await this.#note(removed, removed.revision + 1, { ...options, kind: 'delete' });
    return removed;
  }

  deleteAll(ids: readonly string[]): Promise<StoredRecord[]> {
    return mapInSeries(ids, (id) => this.delete(id));
  }

  async #note(state: StoredRecord, revision: number, { kind = 'snapshot', ...noted }: VersionNote = {}) {
    const { tx, author, by, principalId, room } = this.#parts;
    const changeDescription = noted.changeDescription ?? this.#parts.changeDescription;
    const { type, history } = this.#kind;
    const payload = history.payload(state as never); // a record of the kind's own collection
    const size = bytesOf(payload);
    if (kind !== 'delete' && !NEVER_REFUSED.includes(type)) room?.require(size);
    room?.note(size);
    const createdAt = await this.#timeOfNext(state.id, revision);
    await tx.versions.insert({
      ...(createdAt !== undefined && { createdAt }),
      entityType: type,
      entityId: state.id,
      revision,
      kind,
      contentHash: hash('sha256', contentOf(history, payload)),
      payload,
      author,
      ...(by && { by: [...by] }),
      ...(changeDescription !== undefined && { changeDescription }),
      ...(principalId !== undefined && { principalId }),
      size,
    });
  }

  /** Later than the version before, also when the clock went back, so that the order in time is the order of revisions. */
  async #timeOfNext(entityId: string, revision: number): Promise<string | undefined> {
    if (revision === 1) return undefined;
    const { tx, now } = this.#parts;
    const where = { entityType: this.#kind.type, entityId };
    const latest = await tx.versions.first({ where });
    const previous = latest ? Date.parse(latest.createdAt) : 0;
    return previous < now().getTime() ? undefined : new Date(previous + 1).toISOString();
  }
}

type FileRecord = RecordOf<typeof FILE_RECORDS>;

/** Counts files in the quota of who puts them. */
class FileWriter implements Pick<Writer<FileRecord>, 'get' | 'insert' | 'first' | 'find' | 'deleteAll'> {
  readonly #writer: Writer<FileRecord>;
  readonly #by: WrittenBy;
  readonly get: Writer<FileRecord>['get'] = (id) => this.#writer.get(id);
  readonly deleteAll: Writer<FileRecord>['deleteAll'] = (ids) => this.#writer.deleteAll(ids);
  readonly find: Writer<FileRecord>['find'] = (query) => this.#writer.find(query);
  readonly first: Writer<FileRecord>['first'] = (query) => this.#writer.first(query);

  constructor(writer: Writer<FileRecord>, by: WrittenBy) {
    this.#writer = writer;
    this.#by = by;
  }

  insert(record: NewRecord<FileRecord>): Promise<FileRecord> {
    const { room, principalId } = this.#by;
    room?.require(record.sizeBytes);
    room?.note(record.sizeBytes);
    return this.#writer.insert({ ...record, ...(principalId !== undefined && { principalId }) });
  }
}

/** Payload members that every version has of its own. */
export function withoutBookkeeping<Kept extends { updatedAt: string; revision: number }>(record: Kept): Payload {
  const { updatedAt: _, revision: __, ...rest } = record;
  return rest;
}

export function contentOf({ text }: Pick<HistoryOptions, 'text'>, payload: Payload): string {
  return text === undefined ? canonicalize(payload) : String(payload[text] ?? '');
}

type Shown = Pick<History, 'text' | 'shown'>;

export function shownPayload(history: Shown, payload: Payload, store: Readers): Payload | Promise<Payload> {
  return history.shown ? history.shown(payload, store) : payload;
}

export async function showVersion(history: Shown, record: VersionRecord, store: Readers): Promise<Version> {
  if (!history.shown) return { ...record, content: contentOf(history, record.payload) };
  const payload = await history.shown(record.payload, store);
  const content = contentOf(history, payload);
  return { ...record, payload, content, contentHash: hash('sha256', content) };
}

/** Runs the work with the history of what it changes, held against the quotas of storage. */
export async function transactWithHistory<Result>(
  store: Store,
  { principal, server }: { readonly principal: Principal; readonly server: ServerContext },
  work: (tx: Transaction, history: HistoryWriters) => Promise<Result>,
): Promise<Result> {
  const { kinds, now, storage } = server;
  const room = await storage?.roomFor(principal);
  const writer = { author: authorOf(principal), by: actorIds(principal), principalId: storageOwnerOf(principal) };
  const done = store.transaction((tx) => work(tx, withHistory(tx, kinds, { ...writer, room, now })), principal);
  return done.finally(() => room?.end());
}

function actorIds(principal: Principal): string[] {
  const ids = actorsOf(principal).flatMap(({ id, runId }) => (runId === undefined ? [id] : [id, runId]));
  return [...new Set(ids)];
}
