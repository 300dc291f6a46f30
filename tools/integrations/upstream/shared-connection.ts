import { backoffMs } from '../../../store/backoff.ts';
import { AccountRequired } from '../accounts/account-required.ts';
import type { Connection, ConnectOptions } from './connection.ts';
import { OAuthRequired } from './oauth.ts';

/** The first wait before it is tried again, and the longest. */
export const BACKOFF = { firstMs: 1000, longestMs: 60_000 };
/** A connection that lasted this long counts as good: after it, the waits between tries start short again. */
const STEADY_MS = 30_000;
const CHECK_EVERY_MS = 60_000;
/** How long a call waits for a connection that is being made. */
const LONGEST_WAIT_MS = 30_000;

/** What a link needs from its integration. */
export interface SharedConnectionDeps {
  /** @throws where the server cannot be reached */
  open(options: Pick<ConnectOptions, 'legacy' | 'signal' | 'onLost' | 'onToolsChanged'>): Promise<Connection>;
  /** Asks for the tools, which also shows whether the server is still there. Has no effect after the signal aborted. */
  list(connection: Connection, signal: AbortSignal): Promise<void>;
  /** Called when the tools are listed and the connection can be used. */
  onListed(): void;
  onConnecting(): void;
  /** Called when the connection is lost. `retryAt` is undefined if only `refresh` or `start` tries again. */
  onAway(why: unknown, retryAt: Date | undefined): void;
  /** False while a request to the server is under way. */
  isIdle(): boolean;
}

/** Keeps the connection of an integration, checks it, and makes it again when it is lost, with growing waits. */
export class SharedConnection {
  readonly #parts: SharedConnectionDeps;
  #connection: Connection | undefined;
  #connectedAt = 0;
  #attempt: Promise<void> | undefined;
  #check: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #failures = 0;
  #legacy = false;
  /** `stop` aborts it. Work that began before then has no effect any more. */
  #life = new AbortController();

  constructor(parts: SharedConnectionDeps) {
    this.#parts = parts;
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  get isStarted(): boolean {
    return this.#watch !== undefined;
  }

  /** Connects, and reconnects until `stop`. */
  start(): void {
    this.#life = new AbortController();
    this.#failures = 0;
    this.#watch = setInterval(() => this.#lookIfIdle(), CHECK_EVERY_MS).unref();
    void this.#connectOnce();
  }

  /** Ends the connection. It cannot be used from now on; resolves when nothing of it is left. */
  async stop(): Promise<void> {
    this.#life.abort();
    clearTimeout(this.#retry);
    clearInterval(this.#watch);
    this.#watch = undefined;
    const [connection, attempt] = [this.#connection, this.#attempt];
    this.#connection = undefined;
    await Promise.all([connection?.close(), attempt]);
  }

  /** Forgets everything that is known about the server. */
  forget(): void {
    this.#legacy = false;
  }

  /** Lists the tools now, and connects first where necessary. Resolves also where that fails. */
  async refresh(): Promise<void> {
    if (this.#connection) return this.look();
    clearTimeout(this.#retry);
    await this.#connectOnce();
  }

  /** The connection. Waits if one is being opened; undefined if there is none. */
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

  /** Lists the tools again. Resolves also where the server does not answer. */
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

  /** Skips a busy server: it may serve one request at a time and could not answer. */
  #lookIfIdle(): void {
    if (this.#parts.isIdle()) void this.look();
  }

  /** Makes one attempt to connect, or joins the one under way. Never rejects. */
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
    if (why instanceof OAuthRequired || why instanceof AccountRequired) {
      this.#parts.onAway(why, undefined);
      return;
    }
    const longest = backoffMs(this.#failures, BACKOFF);
    const delay = longest * (0.5 + Math.random() / 2);
    this.#failures += 1;
    this.#parts.onAway(why, new Date(Date.now() + delay));
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#connectOnce(), delay).unref();
  }
}
