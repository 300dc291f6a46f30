import type { AuditEntry, Callers, CallerType } from '../resources/audit-entry.ts';
import type { AuditProof } from './audit-proof-port.ts';
import type { Cluster } from './cluster-port.ts';
import type { CollectionName, RecordOf } from './collections.ts';
import type { Embeddings } from './embeddings-port.ts';
import type { StoredFiles } from './files-port.ts';
import type { Jobs } from './jobs-port.ts';
import type { RowStore, StagedRows } from './rows-port.ts';
import type { Size } from './sizes.ts';

/**
 * Where records are kept. Reads outside a transaction see committed changes, by the time of one flush before they are durable. A store
 * never hands out an object that it or a caller changes later.
 */
export interface Store extends Readers, TextSearch {
  readonly rows: RowStore;
  readonly embeddings: Embeddings;
  readonly files: StoredFiles;
  readonly jobs: Jobs;
  readonly kind: string;
  /** Absent if no other process can have the store open. */
  readonly cluster?: Cluster;
  /**
   * Records from memory for questions of each call. Changes of other processes show after a second at most, own ones at once, those of
   * `touch` perhaps never. Absent if all records are read from memory.
   */
  readonly credentials?: Readers;
  /**
   * Runs `work` as the only writer, and commits all of its changes or, if it throws, none. Resolves when they are durable. `work` may run
   * again, so it must change nothing but `tx`, and must not use the store. `origin` is given to listeners. @throws StoreUnavailable:
   * nothing was kept
   */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>, origin?: object): Promise<Result>;
  /**
   * Calls the listener after each durable commit that changed records (of these collections), until the returned function is called.
   * Commits of other processes come within a second, several at once, with records as they are then.
   */
  onCommit(listener: (commit: Commit) => void, collections?: readonly CollectionName[]): () => void;
  /** Calls `add` at the end of each transaction that changed records. Both commit or neither does. */
  beforeCommit(add: AddToCommit): () => void;
  readonly audit: AuditLog;
  /** How much the committed records take of a collection that declares `counts.bytes`, for each combination of the values it counts by. */
  sizes(collection: CollectionName): Promise<readonly Size[]>;
  status(): StoreStatus;
  /** Why nothing is to be added, with the remedy. Undefined while there is memory for it. */
  fullMemory(): string | undefined;
  close(): Promise<void>;
}

export type Readers = { readonly [Name in CollectionName]: Reader<RecordOf<Name>> };
export type Writers = { readonly [Name in CollectionName]: Writer<RecordOf<Name>> };

export type Transaction = Writers & {
  readonly audit: { append(entry: AuditEntry): void };
  readonly rows: RowWriter;
  /**
   * Once the transaction commits, removes the content of these deleted records everywhere else: from earlier files, and from the arguments
   * of audit entries about them, also of calls that end later, but not of this transaction. A restart completes it.
   */
  erase(ids: readonly string[]): void;
};

interface RowWriter {
  /** The rows count if and only if the transaction commits; one refused for lack of disk may have kept them, and its audit entries. */
  commit(staged: StagedRows): void;
  /** Removes all that was imported about the user. Where the transaction commits, nothing of it is on the disk soon after. */
  erase(uid: string): void;
}

export interface Commit {
  readonly changes: readonly RecordChange[];
  /** What was given to `transaction`. `ELSEWHERE` for commits of other processes. */
  readonly origin: object | undefined;
}

export type AddToCommit = (tx: Transaction, changes: readonly RecordChange[]) => Promise<void>;

/** A record that was made, changed or deleted. A change of bookkeeping members alone (`touch`) does not count. */
export type RecordChange = {
  readonly [Name in CollectionName]: {
    readonly kind: 'created' | 'updated' | 'deleted';
    readonly collection: Name;
    readonly record: RecordOf<Name> & Readonly<Record<string, unknown>>;
  };
}[CollectionName];

export interface StoreStatus {
  readonly writable: boolean;
  readonly flushMs?: number;
  readonly lastError?: string;
  /** What is damaged and how to recover. Everything else works. */
  readonly damage?: string;
  /** What is nearly used up, and the remedy. */
  readonly nearlyFull?: string;
  /** Unfinished lines that the start cut off: file, line and length of each. They had not been acknowledged. */
  readonly dropped?: readonly string[];
}

export interface Reader<Record> {
  get(id: string): Promise<Record | undefined>;
  read(id: string): Promise<Record>;
  find(query: Query<Record>): Promise<Page<Record>>;
  first(query: Omit<Query<Record>, 'limit'>): Promise<Record | undefined>;
  /** How many records `find` would return without a limit. */
  count(query: CountQuery<Record>): Promise<number>;
}

export interface Writer<Record> extends Reader<Record> {
  /** Fills in `id`, `createdAt`, `updatedAt` and `revision` (1) where they are not given. @throws UniqueTaken */
  insert(record: NewRecord<Record>): Promise<Record>;
  /** Like `insert` of one after the other, in few steps. @throws UniqueTaken */
  insertAll(records: readonly NewRecord<Record>[]): Promise<readonly Record[]>;
  /**
   * Replaces members, removes those given as null, sets `updatedAt` and adds one to `revision`. A change without effect returns the record
   * as it is. `id`, `createdAt`, `updatedAt` and `revision` are ignored. @throws NotFound, StaleRevision, UniqueTaken
   */
  update(id: string, change: Change<Record>, options?: Guard): Promise<Record>;
  /** Like `update`, for bookkeeping members: `updatedAt` and `revision` stay as they are. */
  touch(id: string, change: Change<Record>): Promise<Record>;
  /** Returns the record. @throws NotFound, StaleRevision */
  delete(id: string, options?: Guard): Promise<Record>;
  /** Like `delete` of one after the other, in few steps. @throws NotFound */
  deleteAll(ids: readonly string[]): Promise<readonly Record[]>;
}

export interface Guard {
  readonly expectedRevision?: number | undefined;
}

type Given = 'id' | 'createdAt' | 'updatedAt' | 'revision';
export type NewRecord<Record> = Omit<Record, Given> & Partial<Pick<Record, Extract<keyof Record, Given>>>;
export type Change<Record> = { readonly [Member in keyof Record]?: Record[Member] | null | undefined };

export type Scalar = string | number | boolean;
/** Every named member must equal the value or one of the values; an array member must contain it. An absent member matches nothing. */
export type Where<Record> = { readonly [Member in keyof Record]?: Scalar | readonly Scalar[] | undefined };

export interface Filter<Record> {
  readonly where?: Where<Record> | undefined;
  readonly any?: readonly Where<Record>[] | undefined;
}

/** A text that one of the members must hold, ignoring case. It is looked for in each record that the other conditions admit. */
export interface Part<Member extends string = string> {
  readonly members: readonly Member[];
  readonly text: string;
}

export interface Query<Record> extends Filter<Record> {
  readonly part?: Part<keyof Record & string> | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly order?: 'newest' | 'oldest' | undefined;
  /** Instead of `order`. */
  readonly sort?: Sort<keyof Record & string> | undefined;
  readonly limit: number;
  readonly after?: Cursor | undefined;
}

/** By a member that the collection declares in `sorts`, then by id. Case and accents do not count; records without the member come last. */
export interface Sort<Member extends string> {
  readonly by: Member;
  /** The reverse order. */
  readonly isDescending: boolean;
}

export interface CountQuery<Record> extends Omit<Query<Record>, 'limit' | 'after' | 'order' | 'sort'> {
  readonly owner?: Filter<object> | undefined;
}

export interface Position {
  readonly createdAt: string;
  readonly id: string;
}

/** Where a page continues. */
export interface Cursor extends Position {
  /** What the record is sorted by, where the query sorts. */
  readonly sortKey?: string;
}

export interface Page<Record> {
  readonly records: readonly Record[];
  readonly next: Cursor | null;
}

export interface TextSearch {
  /**
   * Finds committed records, best first: whose id or title equals the text; with all its words or words beginning with them; with enough
   * words by weight. Case and accents do not count. A word of no record is replaced by words of similar spelling.
   */
  search<Name extends CollectionName>(
    collection: Name,
    query: TextQuery<RecordOf<Name>>,
  ): Promise<TextPage<RecordOf<Name>>>;
  /** Ids of committed records that the filter admits, in no order. Their content is not read. */
  ids<Name extends CollectionName>(collection: Name, query: IdQuery<RecordOf<Name>>): Promise<readonly string[]>;
}

export interface IdQuery<Record> extends CountQuery<Record> {
  readonly limit: number;
}

export interface TextQuery<Record> extends Filter<Record> {
  readonly text: string;
  readonly owner?: Filter<object> | undefined;
  readonly limit: number;
  readonly after?: Rank | undefined;
}

export interface Rank {
  readonly score: number;
  readonly id: string;
}

export interface TextPage<Record> {
  readonly hits: readonly TextHit<Record>[];
  readonly next: Rank | null;
  /** How many records match, on all pages. A store may look at part of the records of a common word alone (10,000 at least). */
  readonly count: number;
}

export interface TextHit<Record> {
  readonly record: Record;
  readonly owner?: object;
  /** Greater than 0. 1 where the id or title equals the text, less otherwise. Scores of different collections can be compared. */
  readonly score: number;
}

/** Append-only, newest first. It is too large to keep its records in memory. */
export interface AuditLog {
  /** The entry is durable within a second and before `close` resolves. For entries of writes see `Transaction.audit`. */
  append(entry: AuditEntry): void;
  find(query: AuditQuery): Promise<Page<AuditEntry>>;
  /** How many entries `find` would return without a limit. A store need not count further than `upTo`. */
  count(filter: AuditFilter, upTo?: number): Promise<number>;
  /** Adds up calls where the entries are. Absent if reading them all is as quick. */
  tally?(query: TallyQuery): Promise<readonly Tally[]>;
  flush(): Promise<void>;
  prune(before: string): Promise<number>;
  /** Absent where entries have no proof, as the store was opened without a key for it. */
  readonly proof?: AuditProof | undefined;
}

export interface AuditFilter {
  readonly id?: string | undefined;
  readonly principal?: string | undefined;
  readonly tool?: string | undefined;
  readonly withoutTools?: readonly string[] | undefined;
  /** Leaves out the calls of these tools at this door. */
  readonly without?: { readonly door: AuditEntry['door']; readonly tools: readonly string[] } | undefined;
  readonly outcome?: AuditEntry['outcome'] | undefined;
  readonly door?: AuditEntry['door'] | undefined;
  readonly requestId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly recordId?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface TallyQuery {
  /** Calls of each are added up by themselves: `at` in [from, to), ISO 8601. */
  readonly spans: readonly { readonly from: string; readonly to: string }[];
  readonly by: readonly TallyKey[];
  readonly where?: Readonly<Partial<Record<TallyKey, string>>>;
  /** Where given, durations come as numbers of buckets: 0 below `smallest`, then each ends `growth` times later than the one before. */
  readonly buckets?: { readonly smallest: number; readonly growth: number } | undefined;
}

export type TallyKey = 'tool' | CallerType;

/** Calls that are alike in the keys of the query. */
export interface Tally {
  readonly span: number;
  readonly callers: Callers;
  readonly tool?: string;
  readonly calls: number;
  readonly failed: number;
  /** Milliseconds, or numbers of buckets, each followed by how many calls took so long. */
  readonly durations: readonly number[];
}

export interface AuditQuery extends AuditFilter {
  /** With what proves the entries: members `proof` and `salt`. */
  readonly sealed?: boolean | undefined;
  readonly limit: number;
  readonly after?: Position | undefined;
}
