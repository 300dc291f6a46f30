import { ToolError } from '../../core/errors.ts';
import type { Connection, ConnectOptions } from './connection.ts';
import type { ListedTools } from './list-tools.ts';
import type { Scrubber } from './text.ts';

/** A connection that can be used, with what is listed over it. */
export interface UpstreamConnection {
  readonly connection: Connection;
  readonly listed: ListedTools;
  readonly scrubber: Scrubber;
}

type ConnectionOptions = Pick<ConnectOptions, 'legacy' | 'signal' | 'onLost' | 'onToolsChanged'>;

interface PersonalConnectionsDeps {
  /** Connects with the account of the person. */
  open(userId: string, options: ConnectionOptions): Promise<UpstreamConnection>;
  list(line: UpstreamConnection): Promise<ListedTools>;
}

interface Limits {
  /** Connections at a time. */
  readonly most: number;
  /** How long a connection is kept that nobody uses. */
  readonly idleMs: number;
}

const TOO_MANY = 'Too many people use this integration now; try again in a moment.';
export const LIMITS: Limits = { most: 50, idleMs: 5 * 60_000 };

interface Entry {
  readonly opening: Promise<UpstreamConnection>;
  /** Aborts with the reason when the account ends. */
  readonly ending: AbortController;
  line?: UpstreamConnection;
  users: number;
  isRetired: boolean;
  idle?: NodeJS.Timeout | undefined;
  closing?: Promise<void>;
}

/** The connections of an integration that has one for each person. They are opened when somebody makes a call, and closed when idle. */
export class PersonalConnections {
  readonly #parts: PersonalConnectionsDeps;
  readonly #limits: Limits;
  /** By person, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #legacy = false;

  constructor(parts: PersonalConnectionsDeps, limits: Limits = LIMITS) {
    this.#parts = parts;
    this.#limits = limits;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** Does the work with the connection of the person. The signal aborts when the account ends, and the work then fails with the reason. */
  async use<Result>(
    userId: string,
    work: (line: UpstreamConnection, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const entry = this.#entries.get(userId) ?? this.#enter(userId);
    this.#entries.delete(userId);
    this.#entries.set(userId, entry);
    clearTimeout(entry.idle);
    entry.users += 1;
    const { signal } = entry.ending;
    try {
      entry.line ??= await entry.opening;
      return await work(entry.line, signal);
    } catch (thrown) {
      throw signal.aborted ? signal.reason : thrown;
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#rest(userId, entry);
    }
  }

  /** The connection may be broken: the next call makes a new one. */
  doubt(userId: string): void {
    const entry = this.#entries.get(userId);
    if (entry) this.#retire(userId, entry);
  }

  /** Closes the connection of the person at once. Resolves when nothing of it is left. */
  async end(userId: string, reason: Error): Promise<void> {
    const entry = this.#entries.get(userId);
    if (!entry) return;
    this.#entries.delete(userId);
    entry.isRetired = true;
    entry.ending.abort(reason);
    await close(entry);
  }

  async endAll(reason: Error): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((userId) => this.end(userId, reason)));
    this.#legacy = false;
  }

  #enter(userId: string): Entry {
    while (this.#entries.size >= this.#limits.most) {
      const [idle] = [...this.#entries].filter(([, { users }]) => users === 0);
      if (!idle) throw new ToolError('unavailable', TOO_MANY, { notMade: true });
      this.#retire(...idle);
    }
    const ending = new AbortController();
    const opening = this.#parts.open(userId, {
      legacy: this.#legacy,
      signal: ending.signal,
      onLost: () => this.#retire(userId, entry),
      onToolsChanged: () => void this.#relist(entry),
    });
    const entry: Entry = { opening, ending, users: 0, isRetired: false };
    this.#entries.set(userId, entry);
    opening.then(
      ({ connection }) => {
        this.#legacy = connection.isLegacy;
      },
      () => this.#retire(userId, entry),
    );
    return entry;
  }

  #rest(userId: string, entry: Entry): void {
    if (entry.isRetired) return void close(entry);
    entry.idle = setTimeout(() => this.#retire(userId, entry), this.#limits.idleMs).unref();
  }

  /** Takes it out of use. It is closed when the calls under way have ended. */
  #retire(userId: string, entry: Entry): void {
    if (this.#entries.get(userId) === entry) this.#entries.delete(userId);
    if (entry.isRetired) return;
    entry.isRetired = true;
    clearTimeout(entry.idle);
    if (entry.users === 0) void close(entry);
  }

  async #relist(entry: Entry): Promise<void> {
    const { line } = entry;
    if (!line) return;
    entry.line = { ...line, listed: await this.#parts.list(line).catch(() => line.listed) };
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
