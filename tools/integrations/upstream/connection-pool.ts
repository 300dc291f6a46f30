import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../../store/backoff.ts';
import { ToolError } from '../../core/errors.ts';
import type { Scrubber } from '../../core/outbound/untrusted-text.ts';
import { AccountRequired } from '../accounts/account-tokens.ts';
import type { Connection, ConnectOptions } from './connection.ts';
import type { ListedTools } from './list-tools.ts';
import { OAuthRequired } from './transport.ts';

/** The account of the connection that all callers share. Other accounts are named by the ids of their people. */
export const SHARED = 'shared';

export interface UpstreamConnection {
  readonly connection: Connection;
  readonly scrubber: Scrubber;
  readonly listed: ListedTools;
  readonly latencyMs: number;
}

export type OpenOptions = Pick<ConnectOptions, 'legacy' | 'signal' | 'onLost' | 'onToolsChanged'>;

interface ConnectionPoolDeps {
  /** Connects with the account, and lists. @throws if the server cannot be reached */
  open(account: string, options: OpenOptions): Promise<UpstreamConnection>;
  list(upstream: UpstreamConnection): Promise<Pick<UpstreamConnection, 'listed' | 'latencyMs'>>;
  /** These three are about the shared connection. */
  onConnecting(): void;
  onListed(upstream: UpstreamConnection): void;
  /** `retryAt` is undefined if only `refresh`, `renew` or `start` tries again. */
  onAway(why: unknown, retryAt: Date | undefined): void;
}

export const BACKOFF = { firstMs: 1000, longestMs: 60_000 };
/** A connection that lasted this long counts as good: after it, the backoff begins anew. */
const STEADY_MS = 30_000;
const CHECK_EVERY_MS = 60_000;
/** How long a call waits for a connection that is being made. */
const LONGEST_WAIT_MS = 30_000;
/** Connections of people at a time, and how long an unused one is kept. */
export const LIMITS = { most: 50, idleMs: 5 * 60_000 };
const TOO_MANY = 'Too many people use this integration now; try again in a moment.';

interface Entry {
  readonly account: string;
  readonly opening: Promise<UpstreamConnection>;
  /** Aborts with the reason when the account or the integration ends. */
  readonly ending: AbortController;
  upstream?: UpstreamConnection;
  connectedAt: number;
  /** One for each call under way. No signal of a call depends on that of the entry, which would remember it for ever. */
  readonly uses: Set<AbortController>;
  isRetired: boolean;
  idle?: NodeJS.Timeout;
  looking?: Promise<void> | undefined;
  closing?: Promise<void>;
}

/** Connections by account: a person's opens at a call and closes when idle; the shared one is checked, and made again when it is lost. */
export class ConnectionPool {
  readonly #deps: ConnectionPoolDeps;
  readonly #limits: typeof LIMITS;
  /** By account, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #legacy = false;
  #checks: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(deps: ConnectionPoolDeps, limits = LIMITS) {
    this.#deps = deps;
    this.#limits = limits;
  }

  get count(): number {
    return this.#entries.size;
  }

  get isStarted(): boolean {
    return this.#checks !== undefined;
  }

  start(): void {
    this.#failures = 0;
    this.#checks = setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
    this.#connect();
  }

  /** Ends all connections. Resolves when nothing of them is left. */
  async stop(reason: Error): Promise<void> {
    clearTimeout(this.#retry);
    clearInterval(this.#checks);
    this.#checks = undefined;
    this.#legacy = false;
    await Promise.all([...this.#entries.keys()].map((account) => this.end(account, reason)));
  }

  /** Lists over the shared connection now, and connects first where necessary. Whether that succeeded. */
  async refresh(): Promise<boolean> {
    if (!this.isStarted) return false; // it stops, or may have another target soon
    const entry = this.#connect();
    if (entry.upstream) await this.#look(entry);
    else await entry.opening.catch(() => {});
    return this.#entries.get(SHARED)?.upstream !== undefined;
  }

  /** The signal aborts when the account ends, and the work then fails with the reason. @throws if it is not connected; what the work throws */
  async use<Result>(
    account: string,
    work: (upstream: UpstreamConnection, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const entry = this.#entries.get(account) ?? this.#enter(account);
    this.#entries.delete(account);
    this.#entries.set(account, entry);
    clearTimeout(entry.idle);
    const use = new AbortController();
    entry.uses.add(use);
    try {
      return await work(entry.upstream ?? (await opened(entry)), use.signal);
    } catch (thrown) {
      throw use.signal.aborted ? use.signal.reason : thrown;
    } finally {
      entry.uses.delete(use);
      if (entry.uses.size === 0) this.#rest(entry);
    }
  }

  doubt(account: string): void {
    const entry = this.#entries.get(account);
    if (entry && account === SHARED) void this.#look(entry);
    else if (entry) this.#retire(entry);
  }

  /** The account was connected anew, so calls from now on use a new connection. */
  renew(account: string): void {
    const entry = this.#entries.get(account);
    if (entry) this.#retire(entry);
    if (account === SHARED && this.isStarted) this.#connect();
  }

  /** The account has ended, and its connection is closed at once. Resolves when nothing of it is left. */
  async end(account: string, reason: Error): Promise<void> {
    const entry = this.#entries.get(account);
    if (entry) {
      this.#entries.delete(account);
      entry.isRetired = true;
      clearTimeout(entry.idle);
      entry.ending.abort(reason);
      for (const use of entry.uses) use.abort(reason);
      await close(entry);
    }
    if (account === SHARED && this.isStarted) this.#connect();
  }

  #connect(): Entry {
    const known = this.#entries.get(SHARED);
    if (known) return known;
    clearTimeout(this.#retry);
    this.#deps.onConnecting();
    return this.#open(SHARED);
  }

  /** An entry for a call. The shared connection is not made before its time. */
  #enter(account: string): Entry {
    if (account === SHARED) throw new Error('It is not connected.');
    while (this.#entries.size >= this.#limits.most) {
      const idle = [...this.#entries.values()].find(({ uses }) => uses.size === 0);
      if (!idle) throw new ToolError('unavailable', TOO_MANY, { notMade: true });
      this.#retire(idle);
    }
    return this.#open(account);
  }

  #open(account: string): Entry {
    const ending = new AbortController();
    const opening = this.#deps.open(account, {
      legacy: this.#legacy,
      signal: ending.signal,
      onLost: (why) => void (entry.upstream && this.#lost(entry, why)),
      onToolsChanged: () => void this.#look(entry),
    });
    const entry: Entry = { account, opening, ending, connectedAt: 0, uses: new Set(), isRetired: false };
    this.#entries.set(account, entry);
    opening
      .then((upstream) => {
        this.#legacy = upstream.connection.isLegacy;
        entry.connectedAt = Date.now();
        this.#listed(entry, upstream);
      })
      .catch((why: unknown) => {
        this.#legacy = false;
        this.#lost(entry, why);
      });
    return entry;
  }

  #listed(entry: Entry, upstream: UpstreamConnection): void {
    if (entry.ending.signal.aborted) return;
    entry.upstream = upstream;
    if (entry.account === SHARED && !entry.isRetired) this.#deps.onListed(upstream);
  }

  /** Skips a busy server: it may serve one request at a time and could not answer. */
  #check(): void {
    const entry = this.#entries.get(SHARED);
    if (entry?.uses.size === 0) void this.#look(entry);
  }

  /** Lists the tools again, which also shows whether the server is still there. Never rejects. */
  #look(entry: Entry): Promise<void> {
    const { upstream } = entry;
    if (!upstream) return Promise.resolve();
    entry.looking ??= this.#deps
      .list(upstream)
      .then((listed) => this.#listed(entry, { ...upstream, ...listed }))
      .catch((why: unknown) => this.#lost(entry, why))
      .finally(() => {
        entry.looking = undefined;
      });
    return entry.looking;
  }

  #lost(entry: Entry, why: unknown): void {
    const isCurrent = this.#entries.get(entry.account) === entry;
    this.#retire(entry);
    if (!isCurrent || entry.account !== SHARED || !this.isStarted) return;
    void close(entry); // its calls end too: two copies of a program would be in each other's way
    if (why instanceof OAuthRequired || why instanceof AccountRequired) {
      this.#deps.onAway(why, undefined);
      return;
    }
    if (entry.upstream && Date.now() - entry.connectedAt > STEADY_MS) this.#failures = 0;
    const wait = backoffMs(this.#failures, BACKOFF) * (0.5 + Math.random() / 2);
    this.#failures += 1;
    this.#deps.onAway(why, new Date(Date.now() + wait));
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#connect(), wait).unref();
  }

  #rest(entry: Entry): void {
    if (entry.isRetired) return void close(entry);
    if (entry.account !== SHARED) entry.idle = setTimeout(() => this.#retire(entry), this.#limits.idleMs).unref();
  }

  /** Takes it out of use. It is closed when the calls under way have ended. */
  #retire(entry: Entry): void {
    if (this.#entries.get(entry.account) === entry) this.#entries.delete(entry.account);
    if (entry.isRetired) return;
    entry.isRetired = true;
    clearTimeout(entry.idle);
    if (entry.uses.size === 0) void close(entry);
  }
}

async function opened({ opening }: Entry): Promise<UpstreamConnection> {
  const waited = new AbortController();
  const late = delay(LONGEST_WAIT_MS, undefined, { ref: false, signal: waited.signal }).then(() => {
    throw new Error('Connecting takes too long.');
  });
  try {
    return await Promise.race([opening, late]);
  } finally {
    waited.abort();
    late.catch(() => {});
  }
}

/** Closes it once. Never rejects. */
function close(entry: Entry): Promise<void> {
  entry.closing ??= entry.opening.then(
    ({ connection }) => connection.close(),
    () => {},
  );
  return entry.closing;
}
