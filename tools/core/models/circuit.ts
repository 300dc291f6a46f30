import { randomUUID } from 'node:crypto';
import type { Cluster } from '../../../store/cluster-port.ts';

/** So many failures in a row, within this time, keep a provider from being asked. */
export const FAILURES = 5;
const WINDOW_MS = 60_000;
/** For how long, at first and at most; each failed try doubles it. */
export const OPEN_MS = 30_000;
export const LONGEST_OPEN_MS = 5 * 60_000;
/** A request that has no answer by then counts as a failure, and goes on. */
export const HANG_MS = 60_000;
/** More requests do not wait at once for a provider that left this many without an answer for so long. */
export const MOST_SILENT = 20;
const SILENT_MS = 20_000;
/** How long the state of a circuit is kept that nobody asks for. */
const KEPT_MS = 60 * 60_000;
/** While another request tries the provider. */
const PROBE_MS = 5000;

/** The provider is not asked for now. */
export class CircuitOpen extends Error {
  readonly untilMs: number;
  readonly retryAfterSeconds: number;

  constructor(provider: string, untilMs: number, nowMs: number) {
    super(`the provider ${provider} is not asked before ${new Date(untilMs).toISOString()}`);
    this.untilMs = untilMs;
    this.retryAfterSeconds = Math.max(1, Math.ceil((untilMs - nowMs) / 1000));
  }
}

/** Why a request is given up to a provider that said nothing for too long. */
export class ProviderSilent extends Error {
  constructor() {
    super('the provider was silent for too long');
  }
}

export interface CircuitOptions {
  /** Names the circuit among all processes. Default: the name of the provider. */
  readonly id?: string;
  /** Where other processes ask the same provider. Undefined: this process alone counts. */
  readonly cluster?: Pick<Cluster, 'count' | 'put' | 'get' | 'take' | 'hold'> | undefined;
  readonly now?: () => Date;
  readonly hangMs?: number;
}

interface Opened {
  readonly untilMs: number;
  /** How often it opened since the provider last answered. */
  readonly opens: number;
}

/** One request to the provider. Its first verdict counts; a success also counts after a hang. */
export interface Permit {
  /** The first bytes of an answer came. */
  answered(): void;
  succeeded(): Promise<void>;
  failed(): Promise<void>;
  /** Says nothing of the provider: the caller went away. */
  abandoned(): Promise<void>;
}

/** Whether a provider is asked, by what came of the last requests: after failures in a row it is left alone, then tried by one request. */
export class Circuit {
  readonly provider: string;
  readonly #options: CircuitOptions;
  /** As this process knows it. */
  #opened: Opened | undefined;
  /** The others could not be told. */
  #isUnshared = false;
  #hasCounted = false;
  /** Failures since the last success here, and when the window of those that count began. */
  #streak = 0;
  #own = { points: 0, untilMs: 0 };
  #probing = false;
  readonly #silent = new Set<{ readonly sinceMs: number }>();

  constructor(provider: string, options: CircuitOptions = {}) {
    this.provider = provider;
    this.#options = options;
  }

  get id(): string {
    return this.#options.id ?? this.provider;
  }

  /** When the provider is tried again. Undefined if it is asked. */
  get opensAgainMs(): number | undefined {
    return this.#opened && Math.min(this.#opened.untilMs, this.#now() + LONGEST_OPEN_MS);
  }

  /** Reads what other processes found out. */
  async refresh(): Promise<void> {
    const { cluster } = this.#options;
    if (!cluster) return;
    try {
      const found = (await cluster.get(this.#key)) as Opened | undefined; // put by `#open` alone
      if (found || !this.#isUnshared) this.#opened = found;
    } catch {
      // Without the database each process goes by what it knows.
    }
  }

  /** @throws CircuitOpen */
  async admit(): Promise<Permit> {
    await this.refresh();
    const now = this.#now();
    const opened = this.#opened;
    if (!opened) {
      const waiting = [...this.#silent].filter(({ sinceMs }) => now - sinceMs >= SILENT_MS).length;
      if (waiting >= MOST_SILENT) throw new CircuitOpen(this.provider, now + PROBE_MS, now);
      return this.#permit();
    }
    if (this.#isAhead(opened, now)) throw new CircuitOpen(this.provider, opened.untilMs, now);
    const release = await this.#probe();
    if (!release) throw new CircuitOpen(this.provider, now + PROBE_MS, now);
    return this.#permit(release);
  }

  #permit(release?: () => Promise<void>): Permit {
    const silent = { sinceMs: this.#now() };
    this.#silent.add(silent);
    let verdict: 'failed' | 'over' | undefined;
    const fail = async () => {
      if (verdict) return;
      verdict = 'failed';
      await this.#failed(release !== undefined);
      await release?.();
    };
    const hang = setTimeout(() => void fail(), this.#options.hangMs ?? HANG_MS).unref();
    const answered = () => {
      clearTimeout(hang);
      this.#silent.delete(silent);
    };
    return {
      answered,
      failed: () => {
        answered();
        return fail();
      },
      succeeded: async () => {
        answered();
        if (verdict === 'over') return;
        const wasHanging = verdict === 'failed';
        verdict = 'over';
        await this.#succeeded();
        if (!wasHanging) await release?.();
      },
      abandoned: async () => {
        answered();
        if (verdict) return;
        verdict = 'over';
        await release?.();
      },
    };
  }

  async #probe(): Promise<(() => Promise<void>) | undefined> {
    if (this.#probing) return undefined;
    this.#probing = true;
    const held = await this.#options.cluster?.hold(`${this.#key} probe`).catch(() => async () => {});
    if (this.#options.cluster && !held) {
      this.#probing = false;
      return undefined;
    }
    return async () => {
      this.#probing = false;
      await held?.().catch(() => {});
    };
  }

  async #succeeded(): Promise<void> {
    const { cluster } = this.#options;
    this.#streak = 0;
    this.#own.points = 0;
    // A count of all processes cannot be set back, so another one begins.
    if (this.#hasCounted) await cluster?.put(this.#series, { series: randomUUID() }, KEPT_MS).catch(() => {});
    this.#hasCounted = false;
    if (!this.#opened) return;
    this.#opened = undefined;
    this.#isUnshared = false;
    await cluster?.take(this.#key).catch(() => {});
  }

  /** A failure between successes says little, so those in a row count. */
  async #failed(isProbe: boolean): Promise<void> {
    this.#streak += 1;
    if (isProbe) return this.#open();
    const points = this.#streak === 1 ? 0 : this.#streak === 2 ? 2 : 1;
    if (points > 0 && !this.#opened && (await this.#count(points)) >= FAILURES) await this.#open();
  }

  async #count(points: number): Promise<number> {
    this.#hasCounted = true;
    const shared = await this.#countTogether(points).catch(() => undefined);
    if (shared !== undefined) return shared;
    const now = this.#now();
    if (now >= this.#own.untilMs) this.#own = { points: 0, untilMs: now + WINDOW_MS };
    this.#own.points += points;
    return this.#own.points;
  }

  async #countTogether(points: number): Promise<number | undefined> {
    const { cluster } = this.#options;
    const { series = '' } = ((await cluster?.get(this.#series)) ?? {}) as { readonly series?: string }; // put by `#succeeded` alone
    return (await cluster?.count(`${this.#key} failures ${series}`, points, WINDOW_MS))?.points;
  }

  /** Whether its end is still to come. A clock that was ahead wrote what is longer than any wait. */
  #isAhead({ untilMs }: Opened, now: number): boolean {
    return now < untilMs && untilMs - now <= LONGEST_OPEN_MS;
  }

  async #open(): Promise<void> {
    const opens = (this.#opened?.opens ?? 0) + 1;
    const untilMs = this.#now() + Math.min(OPEN_MS * 2 ** (opens - 1), LONGEST_OPEN_MS);
    this.#opened = { untilMs, opens };
    this.#isUnshared = false;
    await this.#options.cluster?.put(this.#key, this.#opened, KEPT_MS).catch(() => {
      this.#isUnshared = true;
    });
  }

  get #key(): string {
    return `circuit ${this.id}`;
  }

  get #series(): string {
    return `${this.#key} series`;
  }

  #now(): number {
    return (this.#options.now?.() ?? new Date()).getTime();
  }
}
