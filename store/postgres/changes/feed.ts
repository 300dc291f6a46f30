import type { Client, Notification } from 'pg';
import type { CollectionName } from '../../collections.ts';
import type { RecordChange } from '../../port.ts';

export const CHANGED = 'agent_admin_changed';

const BEAT_MS = 300;
/** An answer that takes longer is not waited for: the connection is replaced. */
const ANSWER_MS = 1000;
const CONNECT_MS = 3000;
const RETRY_MS = 200;
/** How long what was heard last counts as all there is. */
const FRESH_MS = 1000;
const MOST_ROWS = 10_000;
/** Changes are kept longer than this. */
const LONGEST_GAP_MS = 100_000;

export interface NotedChange {
  readonly collection: CollectionName;
  readonly id: string;
  readonly kind: RecordChange['kind'];
  readonly record?: RecordChange['record'];
}

export interface NotedCommit {
  readonly process: string;
  readonly records: readonly NotedChange[];
}

interface FeedOptions {
  connect(): Client;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  wanted(): readonly string[] | undefined;
  onCommits(commits: readonly NotedCommit[]): void;
  onGap(): void;
  /** Another server answers, or the same after a restart. It may have given the numbers of lost transactions again, whose changes count as heard. */
  onOtherServer(): void;
  onNotification(channel: string, payload: string): void;
  /** Further channels to listen to. */
  readonly channels: readonly string[];
  onLost(cause: unknown): void;
  onReadOnly(isReadOnly: boolean): void;
  wallClock(): number;
}

interface BeatRow {
  readonly snapshot: string;
  readonly at_ms: number;
  readonly server: string;
  readonly behind: boolean | null;
  readonly read_only: boolean;
  readonly process: string | null;
  readonly records: readonly NotedChange[] | null;
}

/**
 * Asks again and again, on a connection of its own, which commits became visible since the last answer. So nothing is missed in whatever
 * order transactions end. NOTIFY only shortens the polling interval.
 */
export class ChangeFeed {
  readonly #options: FeedOptions;
  #snapshot: string | undefined;
  #databaseMs = 0;
  #server: string | undefined;
  #heardAt = Number.NEGATIVE_INFINITY;
  #client: Client | undefined;
  #closed = false;
  #wake = () => {};
  #isWoken = false;
  /** The connection may show another database than a new one would. */
  #isDoubted = false;
  /** How far the clock of this process is ahead of that of the database, as known from the last answer. */
  clockAheadMs: number | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#running = this.#run(resolve, reject);
    });
  }

  get isFresh(): boolean {
    return this.#options.now() - this.#heardAt < FRESH_MS;
  }

  reconnect(): void {
    this.#isDoubted = true;
    this.#wake();
  }

  notify(channel: string, payload: string): void {
    this.#client?.query('select pg_notify($1, $2)', [channel, payload]).catch(() => {}); // the loss of the connection is noticed elsewhere
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake();
    await this.#running;
  }

  async #run(onFirst: () => void, onFailure: (cause: unknown) => void): Promise<void> {
    while (!this.#closed) {
      const client = this.#options.connect();
      try {
        await this.#follow(client, onFirst);
      } catch (cause) {
        if (this.#snapshot === undefined) {
          this.#closed = true;
          onFailure(cause);
        } else if (!this.#closed) this.#options.onLost(cause);
      } finally {
        this.#client = undefined;
        await client.end().catch(() => {}); // it may be lost already
      }
      if (!this.#closed) await this.#pause(RETRY_MS);
    }
  }

  async #follow(client: Client, onFirst: () => void): Promise<void> {
    const lost = new Promise<never>((_, reject) => {
      client.on('error', reject).on('end', () => reject(new Error('the connection was closed')));
    });
    lost.catch(() => {}); // also where nothing waits for it just then
    const within = <Result>(work: Promise<Result>, ms: number) => Promise.race([work, lost, late(ms)]);
    client.on('notification', (notification) => this.#notified(notification));
    await within(client.connect(), CONNECT_MS);
    this.#isDoubted = false;
    const ask = async () => {
      this.#isWoken = false;
      const asked = { at: this.#options.now(), wallMs: this.#options.wallClock() };
      const values = [this.#snapshot ?? null, this.#options.wanted() ?? null];
      const { rows } = await within(client.query<BeatRow>(BEAT, values), ANSWER_MS);
      const isReadOnly = this.#heard(rows, asked);
      onFirst();
      return isReadOnly;
    };
    // A hot standby lets nobody listen. Whether it still takes no writes, a new connection finds out.
    if (await ask()) return this.#pause(BEAT_MS);
    const listening = [CHANGED, ...this.#options.channels].map((channel) => `listen ${channel}`).join('; ');
    await within(client.query(listening), ANSWER_MS);
    this.#client = client;
    while (!this.#closed && !this.#isDoubted) {
      if (await ask()) return;
      if (!this.#isWoken) await this.#pause(BEAT_MS);
    }
  }

  #notified({ channel, payload = '' }: Notification): void {
    if (channel === CHANGED) {
      this.#isWoken = true;
      this.#wake();
    } else this.#options.onNotification(channel, payload);
  }

  #heard(rows: readonly BeatRow[], asked: { readonly at: number; readonly wallMs: number }): boolean {
    const [first] = rows;
    if (!first) throw new Error('The question for changes always has an answer.');
    const isGap =
      this.#snapshot !== undefined &&
      (first.behind === true || rows.length > MOST_ROWS || first.at_ms - this.#databaseMs > LONGEST_GAP_MS);
    if (this.#server !== undefined && this.#server !== first.server) this.#options.onOtherServer();
    this.#server = first.server;
    this.#snapshot = first.snapshot;
    this.#databaseMs = first.at_ms;
    if (isGap) this.#options.onGap();
    else {
      const commits = rows.flatMap(({ process, records }) => (process && records ? [{ process, records }] : []));
      if (commits.length > 0) this.#options.onCommits(commits);
    }
    this.#heardAt = asked.at;
    // The answer was made about halfway.
    this.clockAheadMs = Math.round((asked.wallMs + this.#options.wallClock()) / 2 - first.at_ms);
    this.#options.onReadOnly(first.read_only);
    return first.read_only;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** `$1`: the snapshot of the last answer; `behind`: the database is one of an earlier time. `$2`: the wanted collections. */
const BEAT = `
  select beat.snapshot::text, beat.at_ms, beat.server, beat.behind, beat.read_only, noted.process, noted.records
  from (
    select pg_current_snapshot() as snapshot,
      (extract(epoch from clock_timestamp()) * 1000)::float8 as at_ms,
      pg_postmaster_start_time()::text as server,
      pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax($1::pg_snapshot) as behind,
      current_setting('transaction_read_only')::boolean as read_only
  ) as beat
  left join lateral (
    select id, process, records from cluster_changes
    where xid >= pg_snapshot_xmin($1::pg_snapshot)
      and not pg_visible_in_snapshot(xid, $1::pg_snapshot)
      and ($2::text[] is null or collections && $2::text[])
    order by id
    limit ${MOST_ROWS + 1}
  ) as noted on true
  order by noted.id`;

function late(ms: number): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`there was no answer within ${ms} ms`)), ms).unref();
  });
}
