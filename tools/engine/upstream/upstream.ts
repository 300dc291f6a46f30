import type { Tool as UpstreamTool } from '@modelcontextprotocol/client';
import type {
  IntegrationRecord,
  IntegrationStatus,
  IntegrationTool,
  ToolDefinition,
} from '../../../resources/integration.ts';
import { ToolError } from '../../errors.ts';
import type { LiveCatalog } from '../../live-catalog.ts';
import { Connection, ConnectionFailure, type ConnectOptions, secretsOf, type Target } from './connection.ts';
import { type Listing, readListing } from './definition.ts';
import { errorText, failureOf, toolError } from './failure.ts';
import { hashOfListing, Offer, toolStates } from './offer.ts';
import { Scrubber } from './text.ts';
import type { CallOptions, ToolContent } from './tool.ts';

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;
/** A connection that held this long was a good one: after it the retries begin anew. */
const STEADY_MS = 30_000;
const CHECK_EVERY_MS = 60_000;
const MOST_CALLS = 64;
const LONGEST_WAIT_MS = 30_000;
const LIST_MS = 30_000;
/** Of what a program wrote last. */
const LONGEST_WORDS = 1000;
const PROGRESS_FREELY = 20;
const PROGRESS_EVERY_MS = 100;

/** What an integration needs of the server. */
export interface Surroundings extends Pick<ConnectOptions, 'privateAddresses' | 'watchdog' | 'client'> {
  readonly catalog: LiveCatalog;
  /** Where the record says it is, with its secrets. @throws where it may not be there, or a secret cannot be read */
  targetOf(record: IntegrationRecord): Target;
  /** Told of each change of the connection. */
  onState(record: IntegrationRecord, status: IntegrationStatus): void;
}

/** How an integration is, beyond its record. */
export interface View {
  readonly status: IntegrationStatus;
  readonly tools: readonly IntegrationTool[];
  readonly listingHash: string | undefined;
}

/** One integration while the server runs: its connection, the tools it offers, and the way back when it is away. */
export class Upstream {
  readonly #surroundings: Surroundings;
  readonly #offer = new Offer((name, input, options) => this.call(name, input, options));
  #record: IntegrationRecord;
  #status: IntegrationStatus = { state: 'disabled', since: new Date().toISOString() };
  #scrubber = new Scrubber([]);
  #connection: Connection | undefined;
  #connectedAt = 0;
  #attempt: Promise<void> | undefined;
  #check: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #failures = 0;
  #legacy = false;
  #calls = 0;
  #listing: Listing | undefined;
  /** The listed tools as the upstream defines them. */
  #raw: ReadonlyMap<string, UpstreamTool> = new Map();
  /** Aborted by `stop`: what began before it has no effect any more. */
  #life = new AbortController();

  constructor(record: IntegrationRecord, surroundings: Surroundings) {
    this.#record = record;
    this.#surroundings = surroundings;
  }

  get record(): IntegrationRecord {
    return this.#record;
  }

  /** What it lists now, for approval. */
  get definitions(): readonly ToolDefinition[] {
    return this.#listing?.definitions ?? [];
  }

  view(): View {
    const listing = this.#listing;
    return {
      status: this.#status,
      tools: toolStates(this.#record, listing),
      listingHash: listing && hashOfListing(listing),
    };
  }

  /** Connects, and stays connected until `stop`. */
  start(): void {
    if (!this.#record.enabled || this.#watch) return;
    this.#life = new AbortController();
    this.#failures = 0;
    this.#watch = setInterval(() => void this.#lookIfIdle(), CHECK_EVERY_MS).unref();
    this.#publish();
    void this.#connectOnce();
  }

  /** Resolves when nothing of the connection is left. */
  async stop(): Promise<void> {
    this.#life.abort();
    clearTimeout(this.#retry);
    clearInterval(this.#watch);
    this.#watch = undefined;
    const [connection, attempt] = [this.#connection, this.#attempt];
    this.#connection = undefined;
    this.#setStatus({ state: 'disabled' });
    this.#surroundings.catalog.put(this.#record.id, []);
    await Promise.all([connection?.close(), attempt]);
  }

  /** Takes another state of the record. What is somewhere else by it is connected to anew. */
  async change(record: IntegrationRecord): Promise<void> {
    const moved = TARGET.some((member) => JSON.stringify(this.#record[member]) !== JSON.stringify(record[member]));
    if (!moved) {
      this.#record = record;
      return this.#publish();
    }
    await this.stop();
    this.#record = record;
    this.#listing = undefined;
    this.#legacy = false;
    this.#offer.clear();
    this.start();
  }

  /** Lists its tools now, connecting before where it is not. @throws ToolError where it cannot */
  async refresh(): Promise<void> {
    if (!this.#record.enabled) {
      throw new ToolError('conflict', 'The integration is disabled; enable it with update_integration first.');
    }
    if (this.#connection) await this.#look();
    else {
      clearTimeout(this.#retry);
      await this.#connectOnce();
    }
    if (!this.#connection) throw this.#away();
  }

  async call(name: string, input: object, { signal, report }: CallOptions): Promise<ToolContent> {
    const { toolPrefix: prefix, timeoutMs } = this.#record;
    if (this.#calls >= MOST_CALLS) {
      const message = `The integration ${prefix} has ${MOST_CALLS} calls under way; try again in a moment.`;
      throw new ToolError('unavailable', message);
    }
    this.#calls += 1;
    try {
      const connection = await this.#ready();
      const tool = this.#raw.get(name);
      if (!tool || !this.#offer.has(name)) {
        throw new ToolError('unavailable', `The integration ${prefix} does not offer this tool now; see tools/list.`);
      }
      const onProgress = sparing((progress) => report(this.#scrubber.progress(progress)));
      const result = await connection
        .call({ tool, input, timeoutMs, signal, report: onProgress })
        .catch((error: unknown) => Promise.reject(this.#failed(error, connection, signal)));
      return this.#contentOf(result);
    } finally {
      this.#calls -= 1;
    }
  }

  #contentOf({ content, structuredContent, isError }: Awaited<ReturnType<Connection['call']>>): ToolContent {
    const { toolPrefix } = this.#record;
    if (isError) throw new ToolError('conflict', toolError(content, toolPrefix, this.#scrubber));
    try {
      const result = { content, ...(structuredContent !== undefined && { structuredContent }) };
      return this.#scrubber.json(result) as ToolContent; // of the same shape
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new ToolError('too_large', `The answer of the integration ${toolPrefix} nests too deep.`);
    }
  }

  #failed(error: unknown, connection: Connection, signal: AbortSignal | undefined): ToolError {
    const { code, message, doubt } = failureOf(error, this.#record.toolPrefix, this.#scrubber);
    if (doubt && !signal?.aborted && connection === this.#connection) void this.#look();
    return new ToolError(code, message);
  }

  /** The connection; waits for one that is being made. */
  async #ready(): Promise<Connection> {
    if (!this.#connection && this.#attempt) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, LONGEST_WAIT_MS);
      });
      await Promise.race([this.#attempt, late]);
      clearTimeout(timer);
    }
    if (!this.#connection) throw this.#away();
    return this.#connection;
  }

  #away(): ToolError {
    const { retryAt } = this.#status;
    const again = retryAt ? `it is tried again at ${retryAt}` : 'it is tried again soon';
    const message = `The integration ${this.#record.toolPrefix} cannot be reached now; ${again}. get_system_health tells why.`;
    return new ToolError('unavailable', message);
  }

  /** One attempt to connect, or that which is under way. Whatever comes of it, it resolves. */
  #connectOnce(): Promise<void> {
    this.#attempt ??= this.#connect(this.#life.signal).finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async #connect(life: AbortSignal): Promise<void> {
    const { lastError, lastOutput } = this.#status;
    this.#setStatus({ state: 'connecting', lastError, lastOutput });
    let connection: Connection | undefined;
    try {
      const target = this.#surroundings.targetOf(this.#record);
      this.#scrubber = new Scrubber(secretsOf(target));
      connection = await Connection.open(target, {
        ...this.#surroundings,
        legacy: this.#legacy,
        signal: life,
        onToolsChanged: () => void this.#look(),
        onLost: (why) => connection && this.#lost(connection, why),
      });
      await this.#list(connection, life);
      if (life.aborted) return await connection.close();
      this.#connection = connection;
      this.#connectedAt = Date.now();
      this.#legacy = connection.isLegacy;
      this.#publish();
    } catch (error) {
      await connection?.close();
      this.#legacy = false;
      if (!life.aborted) this.#retryLater(error);
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
    const longest = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    const delay = longest * (0.5 + Math.random() / 2);
    this.#failures += 1;
    const retryAt = new Date(Date.now() + delay).toISOString();
    const wrote =
      why instanceof ConnectionFailure ? this.#scrubber.shown(why.wrote.slice(-LONGEST_WORDS), LONGEST_WORDS) : '';
    this.#setStatus({
      state: 'unavailable',
      lastError: errorText(why, this.#scrubber),
      lastOutput: wrote || undefined,
      retryAt,
    });
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#connectOnce(), delay).unref();
  }

  /** Lists the tools again, which tells too whether the server is still there. Resolves also where it is not. */
  #look(): Promise<void> {
    const connection = this.#connection;
    if (!connection) return this.#attempt ?? Promise.resolve();
    this.#check ??= this.#list(connection, this.#life.signal)
      .then(() => this.#publish())
      .catch((error: unknown) => this.#lost(connection, error))
      .finally(() => {
        this.#check = undefined;
      });
    return this.#check;
  }

  /** A server that does one thing at a time has no time to answer meanwhile. */
  #lookIfIdle(): Promise<void> | undefined {
    return this.#calls === 0 ? this.#look() : undefined;
  }

  async #list(connection: Connection, life: AbortSignal): Promise<void> {
    const started = performance.now();
    const raw = await connection.list(Math.max(LIST_MS, this.#record.timeoutMs));
    if (life.aborted) return;
    this.#listing = readListing(raw, this.#record.toolPrefix, this.#scrubber);
    const names = new Set(this.#listing.definitions.map(({ name }) => name));
    // Each of these names was read from an object with a schema; of those with the same name, the first.
    const offered = (raw as (UpstreamTool | null)[]).filter(
      (tool) => tool !== null && names.has(tool.name),
    ) as UpstreamTool[];
    this.#raw = new Map(offered.reverse().map((tool) => [tool.name, tool]));
    const { server, protocolVersion } = connection;
    this.#setStatus({
      state: 'connected',
      server: server && this.#scrubber.shown(`${server.name} ${server.version}`),
      protocolVersion,
      latencyMs: Math.round((performance.now() - started) * 1000) / 1000,
    });
  }

  #publish(): void {
    const { id, enabled } = this.#record;
    this.#surroundings.catalog.put(id, enabled ? this.#offer.entries(this.#record, this.#listing) : []);
  }

  #setStatus(
    status: { readonly [Member in keyof IntegrationStatus]?: IntegrationStatus[Member] | undefined } & Pick<
      IntegrationStatus,
      'state'
    >,
  ): void {
    const before = this.#status;
    const since = before.state === status.state ? before.since : new Date().toISOString();
    const given = Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
    this.#status = { ...given, state: status.state, since };
    if (before.state !== status.state) this.#surroundings.onState(this.#record, this.#status);
  }
}

/** Passes on the first reports of progress, and then a few a second. */
function sparing(report: CallOptions['report']): CallOptions['report'] {
  let [count, last] = [0, 0];
  return (progress) => {
    count += 1;
    const now = performance.now();
    if (count > PROGRESS_FREELY && now - last < PROGRESS_EVERY_MS) return;
    last = now;
    report(progress);
  };
}

/** Members of a record whose change needs another connection. */
const TARGET = ['toolPrefix', 'command', 'args', 'env', 'url', 'headers', 'enabled'] as const;
