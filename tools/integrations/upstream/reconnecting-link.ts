import type { Connection, ConnectOptions } from './connection.ts';
import { WantsOAuth } from './oauth.ts';

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;
/** A connection that held this long was a good one: after it the retries begin anew. */
const STEADY_MS = 30_000;
const CHECK_EVERY_MS = 60_000;
/** How long a call waits for a connection that is being made. */
const LONGEST_WAIT_MS = 30_000;

/** What a link does for, and tells, the upstream it belongs to. */
export interface LinkParts {
  /** @throws where there is no reaching it */
  open(options: Pick<ConnectOptions, 'legacy' | 'signal' | 'onLost' | 'onToolsChanged'>): Promise<Connection>;
  /** Asks for its tools, which tells too whether it is still there. Of no effect once the signal is aborted. */
  list(connection: Connection, signal: AbortSignal): Promise<void>;
  /** Told when the connection can be used with the tools that were listed. */
  onListed(): void;
  onConnecting(): void;
  /** `retryAt`: undefined where it is not tried again before `refresh` or another `start`. */
  onAway(why: unknown, retryAt: Date | undefined): void;
  /** False where it is asked something just now. */
  isIdle(): boolean;
}

/** Keeps the connection of an upstream, looks after it and makes it anew, ever more rarely, when it is lost. */
export class Link {
  readonly #parts: LinkParts;
  #connection: Connection | undefined;
  #connectedAt = 0;
  #attempt: Promise<void> | undefined;
  #check: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #failures = 0;
  #legacy = false;
  /** Aborted by `stop`: what began before it has no effect any more. */
  #life = new AbortController();

  constructor(parts: LinkParts) {
    this.#parts = parts;
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  get isStarted(): boolean {
    return this.#watch !== undefined;
  }

  /** Connects, and stays connected until `stop`. */
  start(): void {
    this.#life = new AbortController();
    this.#failures = 0;
    this.#watch = setInterval(() => this.#lookIfIdle(), CHECK_EVERY_MS).unref();
    void this.#connectOnce();
  }

  /** Resolves when nothing of the connection is left; at once it is none to be used. */
  async stop(): Promise<void> {
    this.#life.abort();
    clearTimeout(this.#retry);
    clearInterval(this.#watch);
    this.#watch = undefined;
    const [connection, attempt] = [this.#connection, this.#attempt];
    this.#connection = undefined;
    await Promise.all([connection?.close(), attempt]);
  }

  /** Forgets what is known of the server that was there. */
  forget(): void {
    this.#legacy = false;
  }

  /** Lists the tools now, connecting before where it is not. Resolves also where it cannot. */
  async refresh(): Promise<void> {
    if (this.#connection) return this.look();
    clearTimeout(this.#retry);
    await this.#connectOnce();
  }

  /** The connection, undefined where there is none; waits for one that is being made. */
  async ready(): Promise<Connection | undefined> {
    if (this.#connection || !this.#attempt) return this.#connection;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LONGEST_WAIT_MS);
    });
    await Promise.race([this.#attempt, late]);
    clearTimeout(timer);
    return this.#connection;
  }

  /** Lists the tools again. Resolves also where the server is not there any more. */
  look(): Promise<void> {
    const connection = this.#connection;
    if (!connection) return this.#attempt ?? Promise.resolve();
    this.#check ??= this.#parts
      .list(connection, this.#life.signal)
      .then(() => this.#parts.onListed())
      .catch((error: unknown) => this.#lost(connection, error))
      .finally(() => {
        this.#check = undefined;
      });
    return this.#check;
  }

  /** A server that does one thing at a time has no time to answer meanwhile. */
  #lookIfIdle(): void {
    if (this.#parts.isIdle()) void this.look();
  }

  /** One attempt to connect, or that which is under way. Whatever comes of it, it resolves. */
  #connectOnce(): Promise<void> {
    this.#attempt ??= this.#connect(this.#life.signal).finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async #connect(signal: AbortSignal): Promise<void> {
    this.#parts.onConnecting();
    let connection: Connection | undefined;
    try {
      connection = await this.#parts.open({
        legacy: this.#legacy,
        signal,
        onToolsChanged: () => void this.look(),
        onLost: (why) => connection && this.#lost(connection, why),
      });
      await this.#parts.list(connection, signal);
      if (signal.aborted) return await connection.close();
      this.#connection = connection;
      this.#connectedAt = Date.now();
      this.#legacy = connection.isLegacy;
      this.#parts.onListed();
    } catch (error) {
      await connection?.close();
      this.#legacy = false;
      if (!signal.aborted) this.#retryLater(error);
    }
  }

  #lost(connection: Connection, why: unknown): void {
    if (connection !== this.#connection) return;
    this.#connection = undefined;
    void connection.close();
    if (Date.now() - this.#connectedAt > STEADY_MS) this.#failures = 0;
    this.#retryLater(why);
  }

  #retryLater(why: unknown): void {
    if (why instanceof WantsOAuth) {
      this.#parts.onAway(why, undefined);
      return;
    }
    const longest = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    const delay = longest * (0.5 + Math.random() / 2);
    this.#failures += 1;
    this.#parts.onAway(why, new Date(Date.now() + delay));
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#connectOnce(), delay).unref();
  }
}
