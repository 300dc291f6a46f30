import { randomUUID } from 'node:crypto';
import { ByCollection } from '../by-collection.ts';
import type { Cluster } from '../cluster-port.ts';
import type { CollectionName, RecordOf } from '../collections.ts';
import { CommitAdditions } from '../commit-listeners.ts';
import type { Embeddings } from '../embeddings-port.ts';
import { StoreUnavailable } from '../errors.ts';
import type { StoredFiles } from '../files-port.ts';
import type { Jobs } from '../jobs-port.ts';
import type { PeriodicTask } from '../periodic-task.ts';
import type {
  AddToCommit,
  AuditLog,
  Commit,
  IdQuery,
  Page,
  Reader,
  Readers,
  StoreStatus,
  TextPage,
  TextQuery,
  Transaction,
} from '../port.ts';
import { expectedRecord, firstOf } from '../record-change.ts';
import type { Row } from '../row.ts';
import type { RowStore } from '../rows-port.ts';
import type { Size } from '../sizes.ts';
import { Erasures } from './audit/erasures.ts';
import { PostgresAudit } from './audit/log.ts';
import { Changes, decidesAboutCallers } from './changes/changes.ts';
import { PostgresCluster, TOLD } from './cluster/cluster.ts';
import { maintainCounts, materializedCount, materializedSizes } from './counts.ts';
import type { Database } from './database.ts';
import { PostgresEmbeddings } from './embeddings.ts';
import { PostgresJobs } from './jobs.ts';
import { type AnyCount, type AnyQuery, countRecords, idsOf, type Reading, readOne, readPage } from './records/query.ts';
import { type Table, tableNamed } from './records/tables.ts';
import type { PostgresRowStore } from './rows/row-store.ts';
import { PostgresFiles } from './stored-files.ts';
import type { AnyTextQuery } from './text/search.ts';
import { Searches } from './text/searches.ts';
import { Vocabulary } from './text/vocabulary.ts';
import { Transactions } from './transaction.ts';

interface StoreDeps {
  readonly database: Database;
  readonly rows: PostgresRowStore;
  readonly shared: Shared;
  readonly auditSecret: string | undefined;
  readonly now: () => Date;
}

export class PostgresStore extends ByCollection<Reader<Row>> {
  readonly kind = 'postgres';
  readonly audit: AuditLog;
  readonly rows: RowStore;
  readonly embeddings: Embeddings;
  readonly files: StoredFiles;
  readonly jobs: Jobs;
  readonly cluster: Cluster;
  readonly credentials: Readers;
  readonly #deps: StoreDeps;
  readonly #audit: PostgresAudit;
  readonly #erasures: Erasures;
  readonly #vocabulary = new Vocabulary();
  readonly #additions = new CommitAdditions();
  readonly #transactions: Transactions;
  readonly #reading: Reading;
  readonly #searches: Searches;
  #closing: Promise<void> | undefined;

  constructor(deps: StoreDeps) {
    super();
    const { database, now, rows, shared } = deps;
    this.#deps = deps;
    this.#audit = new PostgresAudit(database, now, deps.auditSecret);
    this.#erasures = new Erasures(database, async (ids) => this.#audit.proof?.erased(ids));
    this.#transactions = new Transactions({
      ...deps,
      hook: shared.changes,
      audit: this.#audit,
      erasures: this.#erasures,
      vocabulary: this.#vocabulary,
      additions: this.#additions,
    });
    this.#reading = { session: database, now };
    this.#searches = new Searches(this.#reading, this.#vocabulary);
    this.audit = this.#audit;
    this.rows = rows;
    this.embeddings = new PostgresEmbeddings(database);
    this.files = shared.files;
    this.jobs = shared.jobs;
    this.cluster = shared.cluster;
    this.credentials = shared.changes.credentials;
  }

  async start(): Promise<void> {
    await this.#audit.partitions.ensure([], this.#deps.now());
    await this.#audit.proof?.begin();
    this.#erasures.sweeping.soon();
    await this.#deps.shared.start();
  }

  transaction<Result>(work: (tx: Transaction) => Promise<Result>, origin?: object): Promise<Result> {
    return this.#open(() => this.#transactions.run(work, origin));
  }

  onCommit(tell: (commit: Commit) => void, collections?: readonly CollectionName[]): () => void {
    return this.#deps.shared.changes.listeners.add(tell, collections);
  }

  beforeCommit(add: AddToCommit): () => void {
    return this.#additions.add(add);
  }

  sizes(name: CollectionName): Promise<readonly Size[]> {
    return this.#open(() => materializedSizes(tableNamed(name), this.#reading.session));
  }

  async search<Name extends CollectionName>(
    name: Name,
    query: TextQuery<RecordOf<Name>>,
  ): Promise<TextPage<RecordOf<Name>>> {
    // Filters name members of the collection, whose records were checked by its schema when they were written.
    const found = await this.#open(() => this.#searches.page({ name, query: query as AnyTextQuery }));
    return found as TextPage<RecordOf<Name>>;
  }

  ids<Name extends CollectionName>(name: Name, query: IdQuery<RecordOf<Name>>): Promise<readonly string[]> {
    const { limit, ...filter } = query as AnyCount & { readonly limit: number }; // it names members of the collection
    return this.#open(() => idsOf(tableNamed(name), filter, limit, this.#reading));
  }

  fullMemory(): undefined {}

  status(): StoreStatus {
    const { database, shared } = this.#deps;
    const error =
      database.error ??
      this.#audit.error ??
      this.#erasures.sweeping.error ??
      shared.error ??
      shared.changes.listeners.error;
    return { writable: !database.error && !this.#closing, ...(error && { lastError: error.message }) };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  protected make(name: CollectionName): Reader<Row> {
    const table: Table = tableNamed(name);
    const reading = { ...this.#reading, findsCredentials: decidesAboutCallers(name) };
    const get = (id: string) => this.#open(() => readOne(table, id, this.#reading));
    const find = (query: AnyQuery): Promise<Page<Row>> => this.#open(() => readPage(table, query, reading));
    return {
      get,
      read: async (id) => expectedRecord(table, id, await get(id)),
      find,
      first: (query) => firstOf({ find }, query),
      count: (filter: AnyCount) =>
        this.#open(
          async () =>
            (await materializedCount(table, filter, this.#reading)) ?? countRecords(table, filter, this.#reading),
        ),
    };
  }

  async #open<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#closing) throw new StoreUnavailable('the store is closed');
    return work();
  }

  async #close(): Promise<void> {
    const { database, shared, rows } = this.#deps;
    await this.#transactions.settled();
    // Each, also where the database is away: what is left open would ask for it for ever.
    const closings = [
      () => this.#audit.close(), // before a sweep is waited for: entries are to be kept also where the stop has to be quick
      () => this.#erasures.sweeping.close(),
      () => rows.close(),
      () => shared.close(),
      () => database.close(),
    ];
    const failures: unknown[] = [];
    for (const close of closings) await close().catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }
}

const SHOWN_MS = 60_000;

interface SharedOptions {
  readonly database: Database;
  readers(): Readers;
  readonly clock?: (() => number) | undefined;
  now(): Date;
}

export type Shared = ReturnType<typeof createShared>;

export function createShared(options: SharedOptions) {
  const process = randomUUID();
  let failure: { readonly error: Error; readonly at: number } | undefined;
  const noted = (what: string) => (cause: unknown) => {
    const message = `${what} failed: ${cause instanceof Error ? cause.message : String(cause)}`;
    failure = { error: new Error(message, { cause }), at: performance.now() };
  };
  const onFailure = noted('hearing of other processes');
  const changes: Changes = new Changes({
    ...options,
    process,
    onFailure,
    channels: [TOLD],
    onNotification: (_, text) => cluster.heard(text),
  });
  const cluster: PostgresCluster = new PostgresCluster({ ...options, process, changes, onFailure });
  const jobs = new PostgresJobs({ ...options, process, onFailure: noted('work that one process does') });
  const files = new PostgresFiles(options.database, process);
  const tasks: PeriodicTask[] = [];
  return {
    changes,
    cluster,
    jobs,
    files,
    /** What failed in the last minute. */
    get error(): Error | undefined {
      return failure && performance.now() - failure.at < SHOWN_MS ? failure.error : undefined;
    },
    async start() {
      await changes.start();
      await cluster.start();
      await jobs.start();
      tasks.push(maintainCounts(options.database, jobs, noted('adding up counts')));
      tasks.push(files.startSweeping(jobs, noted('removing files without a document')));
    },
    async close() {
      for (const task of tasks) await task.close();
      await jobs.close();
      await cluster.close();
      await changes.close();
    },
  };
}
