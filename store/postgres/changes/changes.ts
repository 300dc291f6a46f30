import { ByCollection } from '../../by-collection.ts';
import { ELSEWHERE } from '../../cluster-port.ts';
import type { CollectionName } from '../../collections.ts';
import { CommitListeners } from '../../commit-listeners.ts';
import type { Reader, Readers, RecordChange } from '../../port.ts';
import type { BatchedStatement } from '../batched-writes.ts';
import type { Database } from '../database.ts';
import { ChangeFeed, type NotedCommit } from './feed.ts';
import { KnownRecords } from './known-records.ts';
import { type NotedChange, notedChanges } from './outbox.ts';

/**
 * Collections that decide who a caller is and what it may do. Sessions are excluded: a session confirmed in one process must be known to
 * the next call in any process.
 */
const KNOWN: readonly CollectionName[] = [
  'apiKeys',
  'capsules',
  'connectedApps',
  'adminUsers',
  'oauthStates',
  'settings',
];

/** Whether records of the collection decide about a caller, in each call. */
export function decidesAboutCallers(name: CollectionName): boolean {
  return KNOWN.includes(name) || name === 'sessions';
}

/** By this name administrators recognise the connection. */
const CONNECTION = { application_name: 'agent-admin changes', connectionTimeoutMillis: 3000 };
const PRUNE_EVERY_MS = 30_000;
const PRUNED_AT_ONCE = 10_000;
const KEPT = "interval '2 minutes'";

export interface ChangesOptions {
  /** Names this process. */
  readonly process: string;
  readonly database: Database;
  readers(): Readers;
  /** Milliseconds of a clock that never goes back. Default: the machine's. */
  readonly clock?: (() => number) | undefined;
  /** The time of day of this process. Default: the machine's. */
  readonly now?: (() => Date) | undefined;
  /** Called when the feed lost its connection, and when old changes could not be removed. */
  onFailure(cause: unknown): void;
  onNotification?(channel: string, payload: string): void;
  readonly channels?: readonly string[];
}

/** What this process and the others change: who hears of it, and the records that are known from memory. */
export class Changes {
  readonly listeners = new CommitListeners();
  /** Records of some collections from memory, all others from the database. */
  readonly credentials: Readers;
  readonly feed: ChangeFeed;
  readonly #options: ChangesOptions;
  readonly #known = new Map<string, KnownRecords<{ readonly id: string }>>();
  readonly #gapListeners = new Set<() => void>();
  #delivering: Promise<void> = Promise.resolve();
  #pruning: NodeJS.Timeout | undefined;

  constructor(options: ChangesOptions) {
    const { database, clock = () => performance.now(), now = () => new Date(), onFailure } = options;
    this.#options = options;
    this.feed = new ChangeFeed({
      connect: () => database.client(CONNECTION),
      now: clock,
      wanted: () => this.#wanted(),
      onCommits: (commits) => this.#heard(commits),
      onGap: () => this.#missed(),
      onNotification: options.onNotification ?? (() => {}),
      channels: options.channels ?? [],
      onLost: onFailure,
      onDatabase: ({ isReadOnly }) => database.noteReadOnly(isReadOnly),
      wallClock: () => now().getTime(),
    });
    database.onRefusedWrite(() => this.feed.reconnect());
    this.credentials = new Credentials((name) => this.#reader(name)) as unknown as Readers; // it has a member for each collection
  }

  async start(): Promise<void> {
    await this.feed.start();
    this.#pruning = setInterval(() => void this.#prune(), PRUNE_EVERY_MS).unref();
  }

  /** Writes down the changes for the other processes, right before the COMMIT. */
  note(changes: readonly RecordChange[]): BatchedStatement {
    return notedChanges(this.#options.process, changes);
  }

  /** Called right after the COMMIT, before its caller hears of it. */
  committed(changes: readonly RecordChange[], origin: object | undefined): void {
    for (const { collection, record } of changes) this.#known.get(collection)?.forget(record.id);
    if (changes.length > 0) this.listeners.tell({ changes, origin });
  }

  /** Calls the listener where it is unknown what other processes have changed, until the returned function is called. */
  onGap(listener: () => void): () => void {
    this.#gapListeners.add(listener);
    return () => this.#gapListeners.delete(listener);
  }

  async close(): Promise<void> {
    clearInterval(this.#pruning);
    await this.feed.close();
    await this.#delivering;
  }

  #reader(name: CollectionName): Reader<{ readonly id: string }> {
    const reader = this.#options.readers()[name] as Reader<{ readonly id: string }>; // whose records are not looked into here
    if (!KNOWN.includes(name)) return reader;
    const known = new KnownRecords(reader, () => this.feed.isFresh);
    this.#known.set(name, known);
    return known;
  }

  #wanted(): readonly string[] | undefined {
    const { collections } = this.listeners;
    return collections && [...new Set([...KNOWN, ...collections])];
  }

  /** Also of commits of its own, in case the database did not say whether they succeeded. */
  #heard(commits: readonly NotedCommit[]): void {
    for (const { records } of commits) {
      for (const { collection, id } of records) this.#known.get(collection)?.forget(id);
    }
    const { collections } = this.listeners;
    const others = commits.filter(({ process }) => process !== this.#options.process);
    const wanted = others.flatMap(({ records }) =>
      records.filter(({ collection }) => !collections || collections.has(collection)),
    );
    if (wanted.length === 0 || this.listeners.isEmpty) return;
    this.#delivering = this.#delivering.then(() => this.#deliver(wanted)).catch(this.#options.onFailure);
  }

  async #deliver(noted: readonly NotedChange[]): Promise<void> {
    const changes = await readChanges(this.#options.readers(), noted);
    if (changes.length > 0) this.listeners.tell({ changes, origin: ELSEWHERE });
  }

  #missed(): void {
    for (const known of this.#known.values()) known.forgetAll();
    for (const listener of this.#gapListeners) listener();
  }

  async #prune(): Promise<void> {
    try {
      for (let pruned = PRUNED_AT_ONCE; pruned === PRUNED_AT_ONCE; )
        pruned = (await this.#options.database.query({ text: PRUNE })).length;
    } catch (cause) {
      this.#options.onFailure(cause);
    }
  }
}

const PRUNE = `delete from cluster_changes where id in (
  select id from cluster_changes where at < clock_timestamp() - ${KEPT} order by id limit ${PRUNED_AT_ONCE} for update skip locked)
  returning id`;

class Credentials extends ByCollection<unknown> {
  readonly #reader: (collection: CollectionName) => unknown;

  constructor(reader: (collection: CollectionName) => unknown) {
    super();
    this.#reader = reader;
  }

  protected make(collection: CollectionName): unknown {
    return this.#reader(collection);
  }
}

/** The changed records, each once, in their current state. Deleted ones are left out: their deletion follows. */
async function readChanges(readers: Readers, noted: readonly NotedChange[]): Promise<RecordChange[]> {
  const latest = new Map<string, NotedChange>();
  for (const change of noted) {
    const name = `${change.collection} ${change.id}`;
    const kind = latest.get(name)?.kind === 'created' && change.kind === 'updated' ? 'created' : change.kind;
    latest.delete(name);
    latest.set(name, { ...change, kind });
  }
  const records = await readAll(
    readers,
    [...latest.values()].filter(({ kind }) => kind !== 'deleted'),
  );
  return [...latest].flatMap(([name, { collection, kind, record }]) => {
    const found = kind === 'deleted' ? record : records.get(name);
    return found ? [{ collection, kind, record: found } as RecordChange] : []; // a record of its collection
  });
}

async function readAll(readers: Readers, noted: readonly NotedChange[]): Promise<Map<string, RecordChange['record']>> {
  const byCollection = new Map<CollectionName, string[]>();
  for (const { collection, id } of noted) byCollection.set(collection, [...(byCollection.get(collection) ?? []), id]);
  const found = await Promise.all(
    [...byCollection].map(async ([collection, ids]) => {
      const reader = readers[collection] as Reader<RecordChange['record']>; // whose records are not looked into here
      const { records } = await reader.find({ where: { id: ids }, limit: ids.length });
      return records.map((record) => [`${collection} ${record.id}`, record] as const);
    }),
  );
  return new Map(found.flat());
}
