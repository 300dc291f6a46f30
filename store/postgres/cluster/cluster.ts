import { setTimeout } from 'node:timers/promises';
import type { Cluster, CountResult, ProcessClock, SharedSecrets, WaitOptions } from '../../cluster-port.ts';
import { StoreBusy } from '../../errors.ts';
import type { Changes } from '../changes/changes.ts';
import { Membership, type MembershipDeps } from './membership.ts';

const TURN_MS = 30_000;
const ASK_AGAIN_MS = 50;
const RELEASE_AGAIN_MS = 1000;
const FORGET_EVERY_MS = 60_000;
export const TOLD = 'agent_admin_told';
/** The database takes less than 8,000 bytes. What is longer is not sent. */
const LONGEST_BYTES = 7000;

interface Message {
  readonly from: string;
  readonly topic: string;
  readonly message: unknown;
}

interface ClusterDeps extends Omit<MembershipDeps, 'clockAheadMs'> {
  readonly changes: Changes;
}

export class PostgresCluster implements Cluster {
  readonly #deps: ClusterDeps;
  readonly #membership: Membership;
  /** While the database takes no writes, each process counts for itself. */
  readonly #counts = new OwnCounts();
  readonly #listeners = new Map<string, Set<(message: unknown) => void>>();
  /** What this process holds, asks to hold, or may hold without having heard of it. */
  readonly #held = new Set<string>();
  #forgetting: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(deps: ClusterDeps) {
    this.#deps = deps;
    this.#membership = new Membership({ ...deps, clockAheadMs: () => deps.changes.feed.clockAheadMs });
  }

  async start(): Promise<void> {
    await this.#membership.enter();
    this.#forgetting = setInterval(() => void this.#forgetEnded(), FORGET_EVERY_MS).unref();
  }

  join(secrets: SharedSecrets): Promise<void> {
    return this.#membership.join(secrets);
  }

  async secret(name: string, make: () => string): Promise<string> {
    return (await this.#secret(name)) ?? this.#made(name, make());
  }

  async replaceSecret(name: string, before: string, after: string): Promise<string> {
    const text = 'update cluster_secrets set value = $3 where name = $1 and value = $2';
    await this.#deps.database.query({ text, values: [name, before, after] });
    return (await this.#secret(name)) ?? this.#made(name, after);
  }

  async count(key: string, points: number, periodMs: number): Promise<CountResult> {
    if (this.#deps.database.isReadOnly) return this.#counts.add(key, points, periodMs);
    const values = [key, points, periodMs / 1000];
    const statement = { name: 'cluster_count', text: COUNT, values, isQuick: true };
    const [found] = await this.#deps.database.query<{ points: string; ends_in: number }>(statement);
    if (!found) throw new Error('A count always has an answer.');
    return { points: Number(found.points), endsInMs: Math.max(0, found.ends_in) };
  }

  async hold(key: string): Promise<(() => Promise<void>) | undefined> {
    if (this.#held.has(key)) return undefined;
    this.#held.add(key);
    const { database, process } = this.#deps;
    const held = await database
      .query({ name: 'cluster_hold', text: HOLD, values: [key, process] })
      .catch((cause: unknown) => {
        void this.#release(key); // the database may have taken it before the connection ended
        throw cause;
      });
    if (held.length > 0) return () => this.#release(key);
    this.#held.delete(key);
    return undefined;
  }

  async inTurn<Result>(
    key: string,
    work: () => Promise<Result>,
    { signal, onWait }: WaitOptions = {},
  ): Promise<Result> {
    const until = performance.now() + TURN_MS;
    for (;;) {
      const release = await this.hold(key);
      if (release) return work().finally(release);
      if (performance.now() > until) throw new StoreBusy(`Another process is busy with ${key}; try again in a moment.`);
      onWait?.();
      await setTimeout(ASK_AGAIN_MS, undefined, { signal });
    }
  }

  async put(key: string, value: object, periodMs: number): Promise<void> {
    const values = [key, JSON.stringify(value), periodMs / 1000];
    await this.#deps.database.query({ text: PUT, values });
  }

  get(key: string): Promise<object | undefined> {
    return this.#value('select value from cluster_values where key = $1 and ends_at > clock_timestamp()', key);
  }

  take(key: string): Promise<object | undefined> {
    return this.#value(TAKE, key);
  }

  clocks(): Promise<readonly ProcessClock[]> {
    return this.#membership.clocks();
  }

  tell(topic: string, message: unknown): void {
    const { changes, process: from } = this.#deps;
    const text = JSON.stringify({ from, topic, message } satisfies Message);
    if (Buffer.byteLength(text) <= LONGEST_BYTES) changes.feed.notify(TOLD, text);
  }

  onTold(topic: string, listener: (message: unknown) => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Called with what another process, or this one, told. */
  heard(text: string): void {
    const { from, topic, message } = JSON.parse(text) as Message; // sent by `tell`
    if (from === this.#deps.process) return;
    for (const listener of this.#listeners.get(topic) ?? []) listener(message);
  }

  onGap(listener: () => void): () => void {
    return this.#deps.changes.onGap(listener);
  }

  async close(): Promise<void> {
    clearInterval(this.#forgetting);
    this.#closed = true;
    await this.#membership.leave();
  }

  /** Tries until it succeeds, since a process that runs keeps what it holds. */
  async #release(key: string): Promise<void> {
    const { database, process, onFailure } = this.#deps;
    const text = 'delete from cluster_holds where key = $1 and process = $2';
    try {
      await database.query({ name: 'cluster_release', text, values: [key, process] });
      this.#held.delete(key);
    } catch (cause) {
      if (this.#closed) return;
      onFailure(cause);
      globalThis.setTimeout(() => void this.#release(key), RELEASE_AGAIN_MS).unref();
    }
  }

  async #secret(name: string): Promise<string | undefined> {
    const text = 'select value from cluster_secrets where name = $1';
    const [found] = await this.#deps.database.query<{ value: string }>({ text, values: [name] });
    return found?.value;
  }

  async #made(name: string, value: string): Promise<string> {
    const text = 'insert into cluster_secrets (name, value) values ($1, $2) on conflict (name) do nothing';
    await this.#deps.database.query({ text, values: [name, value] });
    return (await this.#secret(name)) ?? value;
  }

  async #value(text: string, key: string): Promise<object | undefined> {
    const [found] = await this.#deps.database.query<{ value: object | null }>({ text, values: [key] });
    return found?.value ?? undefined;
  }

  async #forgetEnded(): Promise<void> {
    await this.#deps.database.query({ text: FORGET }).catch(this.#deps.onFailure);
  }
}

const COUNT = `insert into cluster_counts as kept (key, points, ends_at)
  values ($1, $2, clock_timestamp() + make_interval(secs => $3::float8))
  on conflict (key) do update set
    points = case when kept.ends_at > clock_timestamp() then kept.points + excluded.points else excluded.points end,
    ends_at = case when kept.ends_at > clock_timestamp() then kept.ends_at else excluded.ends_at end
  returning points, (extract(epoch from ends_at - clock_timestamp()) * 1000)::float8 as ends_in`;

/** What the process itself holds was taken by an attempt whose answer was lost. */
const HOLD = `insert into cluster_holds as held (key, process) values ($1, $2)
  on conflict (key) do update set process = excluded.process
    where held.process = excluded.process or not ${Membership.runs('held.process')}
  returning 1`;

const PUT = `insert into cluster_values (key, value, ends_at)
  values ($1, $2, clock_timestamp() + make_interval(secs => $3::float8))
  on conflict (key) do update set value = excluded.value, ends_at = excluded.ends_at`;

const TAKE = `delete from cluster_values where key = $1
  returning case when ends_at > clock_timestamp() then value end as value`;

const FORGET = `with counts as (delete from cluster_counts where ends_at < clock_timestamp()),
    kept as (delete from cluster_values where ends_at < clock_timestamp()),
    held as (delete from cluster_holds where not ${Membership.runs('cluster_holds.process')})
  delete from cluster_processes where seen_at < clock_timestamp() - interval '1 day'`;

const MOST = 10_000;

class OwnCounts {
  readonly #counts = new Map<string, { points: number; readonly endsAt: number }>();

  add(key: string, points: number, periodMs: number): CountResult {
    const now = performance.now();
    const known = this.#counts.get(key);
    if (!known && this.#counts.size >= MOST) this.#counts.clear();
    const count = known && known.endsAt > now ? known : { points: 0, endsAt: now + periodMs };
    count.points += points;
    this.#counts.set(key, count);
    return { points: count.points, endsInMs: count.endsAt - now };
  }
}
