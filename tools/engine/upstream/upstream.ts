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
import { Link, type LinkParts } from './link.ts';
import { hashOfListing, Offer, toolStates } from './offer.ts';
import { Scrubber } from './text.ts';
import type { CallOptions, ToolContent } from './tool.ts';

const MOST_CALLS = 64;
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
  /** Called at each change of the connection. */
  onState(record: IntegrationRecord, status: IntegrationStatus): void;
}

/** How an integration is, beyond its record. */
export interface View {
  readonly status: IntegrationStatus;
  readonly tools: readonly IntegrationTool[];
  readonly listingHash: string | undefined;
}

/** One integration while the server runs: its connection, the tools it offers and how it is. */
export class Upstream {
  readonly #surroundings: Surroundings;
  readonly #offer = new Offer((name, input, options) => this.call(name, input, options));
  #record: IntegrationRecord;
  #status: IntegrationStatus = { state: 'disabled', since: new Date().toISOString() };
  #scrubber = new Scrubber([]);
  readonly #link: Link;
  #calls = 0;
  #listing: Listing | undefined;
  /** The listed tools as the upstream defines them. */
  #raw: ReadonlyMap<string, UpstreamTool> = new Map();

  constructor(record: IntegrationRecord, surroundings: Surroundings) {
    this.#record = record;
    this.#surroundings = surroundings;
    this.#link = new Link(this.#linkParts());
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
    if (!this.#record.enabled || this.#link.isStarted) return;
    this.#publish();
    this.#link.start();
  }

  /** Resolves when nothing of the connection is left. */
  async stop(): Promise<void> {
    const stopped = this.#link.stop();
    this.#setStatus({ state: 'disabled' });
    this.#surroundings.catalog.put(this.#record.id, []);
    await stopped;
  }

  /** Takes a new state of the record, and reconnects if that points elsewhere. */
  async change(record: IntegrationRecord): Promise<void> {
    const moved = TARGET.some((member) => JSON.stringify(this.#record[member]) !== JSON.stringify(record[member]));
    if (!moved) {
      this.#record = record;
      return this.#publish();
    }
    await this.stop();
    this.#record = record;
    this.#listing = undefined;
    this.#link.forget();
    this.#offer.clear();
    this.start();
  }

  /** Lists its tools now, connecting before where it is not. @throws ToolError where it cannot */
  async refresh(): Promise<void> {
    if (!this.#record.enabled) {
      throw new ToolError('conflict', 'The integration is disabled; enable it with update_integration first.');
    }
    await this.#link.refresh();
    if (!this.#link.connection) throw this.#away();
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
    if (doubt && !signal?.aborted && connection === this.#link.connection) void this.#link.look();
    return new ToolError(code, message);
  }

  async #ready(): Promise<Connection> {
    const connection = await this.#link.ready();
    if (!connection) throw this.#away();
    return connection;
  }

  #away(): ToolError {
    const { retryAt } = this.#status;
    const again = retryAt ? `it is tried again at ${retryAt}` : 'it is tried again soon';
    const message = `The integration ${this.#record.toolPrefix} cannot be reached now; ${again}. get_system_health tells why.`;
    return new ToolError('unavailable', message);
  }

  #linkParts(): LinkParts {
    return {
      open: (options) => {
        const target = this.#surroundings.targetOf(this.#record);
        this.#scrubber = new Scrubber(secretsOf(target));
        return Connection.open(target, { ...this.#surroundings, ...options });
      },
      list: (connection, signal) => this.#list(connection, signal),
      onListed: () => this.#publish(),
      onConnecting: () => {
        const { lastError, lastOutput } = this.#status;
        this.#setStatus({ state: 'connecting', lastError, lastOutput });
      },
      onAway: (why, retryAt) => this.#setAway(why, retryAt),
      isIdle: () => this.#calls === 0,
    };
  }

  #setAway(why: unknown, retryAt: Date): void {
    const words = why instanceof ConnectionFailure ? why.wrote.slice(-LONGEST_WORDS) : '';
    this.#setStatus({
      state: 'unavailable',
      lastError: errorText(why, this.#scrubber),
      lastOutput: this.#scrubber.shown(words, LONGEST_WORDS) || undefined,
      retryAt: retryAt.toISOString(),
    });
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
