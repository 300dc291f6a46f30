import { ByCollection } from '../../by-collection.ts';
import { ELSEWHERE } from '../../cluster-port.ts';
import type { CollectionName } from '../../collections.ts';
import { CommitListeners } from '../../commit-listeners.ts';
import type { Reader, Readers, RecordChange } from '../../port.ts';
import type { Database } from '../database.ts';
import type { BatchedStatement } from '../session.ts';
import { CHANGED, ChangeFeed, type NotedChange, type NotedCommit } from './feed.ts';
import { KnownRecords } from './known-records.ts';

/** Collections that decide about callers, but for sessions: one confirmed in one process must be known to the next call in any. */
const KNOWN: readonly CollectionName[] = [
  'apiKeys',
  'capsules',
  'connectedApps',
  'adminUsers',
  'oauthStates',
  'settings',
];

export function decidesAboutCallers(name: CollectionName): boolean {
  return KNOWN.includes(name) || name === 'sessions';
}

/** By this name administrators recognise the connection. */
const CONNECTION = { application_name: 'agent-admin changes', connectionTimeoutMillis: 3000 };
const PRUNE_EVERY_MS = 30_000;
const PRUNED_AT_ONCE = 10_000;
const KEPT = "interval '2 minutes'";

interface ChangesOptions {
  readonly process: string;
  readonly database: Database;
  readers(): Readers;
  readonly clock?: (() => number) | undefined;
  readonly now?: (() => Date) | undefined;
  onFailure(cause: unknown): void;
  onNotification?(channel: string, payload: string): void;
  readonly channels?: readonly string[];
}

/** What this process and the others change: who hears of it, and the records that are known from memory. */
export class Changes {
  readonly listeners = new CommitListeners();
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
      onOtherServer: () => this.#forgetAll(),
      onNotification: options.onNotification ?? (() => {}),
      channels: options.channels ?? [],
      onLost: onFailure,
      onReadOnly: (isReadOnly) => database.noteReadOnly(isReadOnly),
      wallClock: () => now().getTime(),
    });
    database.onRefusedWrite(() => this.feed.reconnect());
    this.credentials = new Credentials((name) => this.#reader(name)) as unknown as Readers; // it has a member for each collection
  }

  async start(): Promise<void> {
    await this.feed.start();
    const { database, onFailure } = this.#options;
    this.#pruning = setInterval(() => void pruneChanges(database).catch(onFailure), PRUNE_EVERY_MS).unref();
  }

  note(changes: readonly RecordChange[]): BatchedStatement {
    return notedChanges(this.#options.process, changes);
  }

  committed(changes: readonly RecordChange[], origin: object | undefined): void {
    for (const { collection, record } of changes) this.#known.get(collection)?.forget(record.id);
    if (changes.length > 0) this.listeners.tell({ changes, origin });
  }

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

  #forgetAll(): void {
    for (const known of this.#known.values()) known.forgetAll();
  }

  #missed(): void {
    this.#forgetAll();
    for (const listener of this.#gapListeners) listener();
  }
}

/** Removes what all processes have heard of. */
export async function pruneChanges(database: Database): Promise<void> {
  for (let pruned = PRUNED_AT_ONCE; pruned === PRUNED_AT_ONCE; )
    pruned = (await database.query({ text: PRUNE })).length;
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

/** Others hear of these at once, of all else at their next poll: each NOTIFY holds up all other commits for a moment. */
const URGENT: ReadonlySet<CollectionName> = new Set([
  'apiKeys',
  'capsules',
  'connectedApps',
  'adminUsers',
  'sessions',
  'oauthStates',
  'settings',
  'integrations',
  'modelProviders',
]);

function notedChanges(process: string, changes: readonly RecordChange[]): BatchedStatement {
  const collections = [...new Set(changes.map(({ collection }) => collection))];
  const isUrgent = changes.some(isUrgentChange);
  return {
    name: isUrgent ? 'urgent_changes' : 'changes',
    text: ([by, of, records]) => `insert into cluster_changes (process, collections, records)
      values (${by}::text, ${of}::text[], ${records}::json)${isUrgent ? ` returning pg_notify('${CHANGED}', '')::text` : ''}`,
    values: [process, collections, JSON.stringify(changes.map(noted))],
  };
}

/** Nobody knows a new credential yet. */
function isUrgentChange({ collection, kind, record }: RecordChange): boolean {
  if (!URGENT.has(collection) || (collection === 'oauthStates' && record.kind !== 'AccessToken')) return false;
  return kind !== 'created' || collection === 'integrations' || collection === 'modelProviders';
}

function noted({ collection, kind, record }: RecordChange): NotedChange {
  return { collection, id: record.id, kind, ...(kind === 'deleted' && { record }) };
}
