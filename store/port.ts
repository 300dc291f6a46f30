import type { AuditEntry } from '../resources/audit-entry.ts';
import type { CollectionName, RecordOf } from './collections.ts';

/**
 * Where records are kept. Every store behaves alike: the suite in test/store runs on each of them.
 *
 * Reads outside a transaction see what was committed; a committed change may be visible up to one flush before it is durable.
 * Records are immutable: a store never hands out an object that it or a caller changes later.
 */
export interface Store extends Readers, TextSearch {
  readonly rows: RowLog;
  readonly kind: string;
  /**
   * Runs `work` alone among writers, against a view that holds its own changes, and commits them all at once, or none if it throws.
   * Resolves when the changes are durable. `work` may be run again when a store has to retry, so its only effects are on `tx`;
   * it must not use the store itself.
   * @throws StoreUnavailable when the changes could not be made durable; nothing of them remains then.
   *
   * `origin` says for listeners who or what makes the changes.
   */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>, origin?: object): Promise<Result>;
  /**
   * Tells the listener of each commit that changed records, once it is durable; until the function returned is called. One that throws shows
   * in the status and changes nothing for anybody else.
   */
  onCommit(listener: (commit: Commit) => void): () => void;
  readonly audit: AuditLog;
  status(): StoreStatus;
  /** Finishes what was accepted, makes it durable and lets go of the store. */
  close(): Promise<void>;
}

export type Readers = { readonly [Name in CollectionName]: Reader<RecordOf<Name>> } & { readonly rows: RowReader };
export type Writers = { readonly [Name in CollectionName]: Writer<RecordOf<Name>> };

export type Transaction = Writers & {
  /** Kept if and only if the transaction commits. */
  readonly audit: { append(entry: AuditEntry): void };
  /** `append` is kept if and only if the transaction commits; reading shows what was committed before. */
  readonly rows: RowReader & { append(rows: readonly NewLoggedRow[]): void };
  /**
   * If the transaction commits, what tells the content of these records (ids), deleted in it or before, goes from everywhere else the store
   * keeps it too: files of earlier states, and arguments of audit entries about them (`withoutContent`), also of calls that end later, but not
   * those of this transaction. That is begun at once, goes on after the commit and is finished after a restart.
   */
  erase(ids: readonly string[]): void;
};

export interface Commit {
  readonly changes: readonly RecordChange[];
  readonly origin: object | undefined;
}

/** A record that was made, changed or deleted. Changes of bookkeeping members alone (`touch`) are none. */
export interface RecordChange {
  readonly kind: 'created' | 'updated' | 'deleted';
  readonly collection: CollectionName;
  /** As it is now; a deleted one as it was. */
  readonly record: { readonly id: string } & Readonly<Record<string, unknown>>;
}

export interface StoreStatus {
  readonly writable: boolean;
  /** Duration of the last flush in milliseconds. */
  readonly flushMs?: number;
  readonly lastError?: string;
}

export interface Reader<Record> {
  get(id: string): Promise<Record | undefined>;
  find(query: Query<Record>): Promise<Page<Record>>;
  /** How many records `find` would give without a limit. */
  count(query: Omit<Query<Record>, 'limit' | 'after' | 'order'>): Promise<number>;
}

export interface Writer<Record> extends Reader<Record> {
  /**
   * Fills in `id`, `createdAt`, `updatedAt` and `revision` (1) where they are not given.
   * @throws UniqueTaken
   */
  insert(record: NewRecord<Record>): Promise<Record>;
  /**
   * Replaces the given members, removes those given as null, sets `updatedAt` and adds one to `revision`.
   * A change that changes nothing returns the record as it is; `id`, `createdAt`, `updatedAt` and `revision` in it are ignored.
   * @throws NotFound, StaleRevision, UniqueTaken
   */
  update(id: string, change: Change<Record>, options?: Guard): Promise<Record>;
  /** Like `update`, for bookkeeping members: `updatedAt` and `revision` stay. */
  touch(id: string, change: Change<Record>): Promise<Record>;
  /**
   * Returns the record that was removed.
   * @throws NotFound, StaleRevision
   */
  delete(id: string, options?: Guard): Promise<Record>;
}

export interface Guard {
  readonly expectedRevision?: number | undefined;
}

type Given = 'id' | 'createdAt' | 'updatedAt' | 'revision';
export type NewRecord<Record> = Omit<Record, Given> & Partial<Pick<Record, Extract<keyof Record, Given>>>;
export type Change<Record> = { readonly [Member in keyof Record]?: Record[Member] | null | undefined };

export type Scalar = string | number | boolean;
/** Every named member equals the value or one of the values; an array member contains it. Absent members match nothing. */
export type Where<Record> = { readonly [Member in keyof Record]?: Scalar | readonly Scalar[] | undefined };

export interface Filter<Record> {
  readonly where?: Where<Record> | undefined;
  /** At least one of these must hold too. An empty list matches nothing. */
  readonly any?: readonly Where<Record>[] | undefined;
}

export interface Query<Record> extends Filter<Record> {
  /** `createdAt` in [from, to), ISO 8601. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** By `createdAt`, ties by id. */
  readonly order?: 'newest' | 'oldest' | undefined;
  readonly limit: number;
  /** Start behind this position, whether or not a record is still there. */
  readonly after?: Position | undefined;
}

export interface Position {
  readonly createdAt: string;
  readonly id: string;
}

export interface Page<Record> {
  readonly records: readonly Record[];
  /** Position of the last record when more follow, else null. */
  readonly next: Position | null;
}

export interface TextSearch {
  /**
   * Committed records of a collection that declares `search`, best first: those whose id or title is the text, then those that have
   * all its words or words beginning with them, then such as have the weightier ones. Case and accents do not count; a word that no
   * record has stands for those spelled nearly so.
   */
  search<Name extends CollectionName>(
    collection: Name,
    query: TextQuery<RecordOf<Name>>,
  ): Promise<TextPage<RecordOf<Name>>>;
}

export interface TextQuery<Record> extends Filter<Record> {
  readonly text: string;
  /** What the record's owner must meet, where the collection declares one. */
  readonly owner?: Filter<object> | undefined;
  readonly limit: number;
  readonly after?: Rank | undefined;
}

/** A place in a ranked list: by score, ties by id, newest first. */
export interface Rank {
  readonly score: number;
  readonly id: string;
}

export interface TextPage<Record> {
  readonly hits: readonly TextHit<Record>[];
  /** Place of the last hit when more follow, else null. */
  readonly next: Rank | null;
  /** How many records match, on this page or not. */
  readonly count: number;
}

export interface TextHit<Record> {
  readonly record: Record;
  readonly owner?: object;
  /** Above 0; 1 where the id or title is the text, less elsewhere. Comparable between collections. */
  readonly score: number;
}

/** Append-only, newest first, too large to be held as records in memory. */
export interface AuditLog {
  /** Durable within a second and before `close` resolves. For entries of writes see `Transaction.audit`. */
  append(entry: AuditEntry): void;
  find(query: AuditQuery): Promise<Page<AuditEntry>>;
  /** How many entries `find` would give without a limit. */
  count(filter: AuditFilter): Promise<number>;
  /** Makes every appended entry durable and visible to `find`. */
  flush(): Promise<void>;
  /** Forgets entries older than this (ISO 8601), at least to the granularity of a day. Returns how many. */
  prune(before: string): Promise<number>;
}

export interface AuditFilter {
  /** Principal id. */
  readonly principal?: string | undefined;
  readonly tool?: string | undefined;
  readonly outcome?: AuditEntry['outcome'] | undefined;
  readonly door?: AuditEntry['door'] | undefined;
  readonly requestId?: string | undefined;
  readonly sessionId?: string | undefined;
  /** A record that the call made or was about: one of `recordsOf`. */
  readonly recordId?: string | undefined;
  /** `at` in [from, to), ISO 8601. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface AuditQuery extends AuditFilter {
  readonly limit: number;
  readonly after?: Position | undefined;
}

/**
 * Imported rows in the order in which they came, never changed, too many to be held as records in memory. What they amount to is folded
 * by the reader, who comes back for what is new and drops what no longer matters; only durable rows are shown.
 */
export interface RowReader {
  /** Rows at and behind this position (0 is the start), oldest first. */
  read(from: number, limit: number): Promise<readonly LoggedRow[]>;
  /** Rows by position, in the order asked, without those that were dropped. */
  get(positions: readonly number[]): Promise<readonly LoggedRow[]>;
}

export interface RowLog extends RowReader {
  /**
   * Takes the rows at these positions away for good; the others keep their positions. Until it resolves they may still be read; then nothing
   * of them is left on the disk.
   * @throws StoreUnavailable when it could not be done; then all are still there.
   */
  drop(positions: Iterable<number>): Promise<void>;
}

export interface NewLoggedRow {
  /** One word. */
  readonly type: string;
  /** When it was imported, ISO 8601. */
  readonly at: string;
  readonly row: Readonly<Record<string, unknown>>;
}

export interface LoggedRow extends NewLoggedRow {
  /** Grows with every row; not without gaps. */
  readonly position: number;
  /** Where to go on reading. */
  readonly next: number;
}
