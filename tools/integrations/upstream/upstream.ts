import type { Tool as UpstreamTool } from '@modelcontextprotocol/client';
import type {
  IntegrationRecord,
  IntegrationStatus,
  IntegrationTool,
  ToolDefinition,
} from '../../../resources/integration.ts';
import { ToolError } from '../../registry/errors.ts';
import type { LiveCatalog } from '../../registry/live-catalog.ts';
import { Connection, ConnectionFailure, type ConnectOptions, secretsOf, type Target } from './connection.ts';
import { errorText, failureOf, toolError } from './failure.ts';
import type { CallOptions, ToolContent } from './guest-tool.ts';
import { WantsOAuth } from './oauth.ts';
import { hashOfListing, OfferedTools, type TakenBy, toolStates } from './offered-tools.ts';
import { type LinkParts, ReconnectingLink } from './reconnecting-link.ts';
import { Scrubber } from './text.ts';
import { type Listing, labelOf, readListing, shownName } from './tool-definitions.ts';
import { CallsUnderWay } from './under-way.ts';

const MOST_CALLS = 64;
const LIST_MS = 30_000;
/** This much of what a program wrote last is kept. */
const LONGEST_WORDS = 1000;
const PROGRESS_FREELY = 20;
const PROGRESS_EVERY_MS = 100;

/** What an integration needs from the server. */
export interface UpstreamServices extends Pick<ConnectOptions, 'privateAddresses' | 'watchdog' | 'client'> {
  readonly catalog: LiveCatalog;
  /** How to reach the server, with its secrets. @throws where the target is not allowed, or a secret cannot be read */
  targetOf(record: IntegrationRecord): Target;
  /** Finds other tools with the integration's tool names. `approved`: also tools that are approved and not offered now. */
  takenBy(record: IntegrationRecord, approved: boolean): TakenBy;
  /** Called each time the state of the connection changes. */
  onState(record: IntegrationRecord, status: IntegrationStatus): void;
}

/** The state of an integration, besides its record. */
export interface View {
  readonly status: IntegrationStatus;
  readonly tools: readonly IntegrationTool[];
  readonly listingHash: string | undefined;
}

/** One integration while the server runs: its connection, the tools it offers and its state. */
export class Upstream {
  readonly #services: UpstreamServices;
  readonly #offered = new OfferedTools((definition, input, options) => this.call(definition, input, options));
  #record: IntegrationRecord;
  #status: IntegrationStatus = { state: 'disabled', since: new Date().toISOString() };
  #scrubber = new Scrubber([]);
  readonly #link: ReconnectingLink;
  readonly #calls = new CallsUnderWay();
  #listing: Listing | undefined;
  /** The listed tools as their server defines them. */
  #raw: ReadonlyMap<string, UpstreamTool> = new Map();

  constructor(record: IntegrationRecord, services: UpstreamServices) {
    this.#record = record;
    this.#services = services;
    this.#link = new ReconnectingLink(this.#linkParts());
  }

  get record(): IntegrationRecord {
    return this.#record;
  }

  /** The tools that are listed now and could be offered, for approval. */
  get definitions(): readonly ToolDefinition[] {
    const takenBy = this.#services.takenBy(this.#record, true);
    const { toolPrefix } = this.#record;
    return (this.#listing?.definitions ?? []).filter(({ name }) => takenBy(shownName(toolPrefix, name)) === undefined);
  }

  view(): View {
    const listing = this.#listing;
    return {
      status: this.#status,
      tools: toolStates(this.#record, listing, this.#services.takenBy(this.#record, true)),
      listingHash: listing && hashOfListing(listing),
    };
  }

  /** Connects, and reconnects until `stop`. */
  start(): void {
    if (!this.#record.enabled || this.#link.isStarted) return;
    this.#publish();
    this.#link.start();
  }

  /** Resolves when nothing of the connection is left. */
  async stop(): Promise<void> {
    this.#services.catalog.put(this.#record.id, []);
    this.#calls.endUnless(
      () => false,
      () => this.#ended('was disabled, changed or deleted'),
    );
    const stopped = this.#link.stop();
    this.#setStatus({ state: 'disabled' });
    await stopped;
  }

  /** Takes over a changed record, and reconnects if the record has another target. */
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
    this.#offered.clear();
    this.start();
  }

  /** Lists the tools now, and connects first where necessary. @throws ToolError where that fails */
  async refresh(): Promise<void> {
    if (!this.#record.enabled) {
      throw new ToolError('conflict', 'The integration is disabled; enable it with update_integration first.');
    }
    await this.#link.refresh();
    if (!this.#link.connection) throw this.#away();
  }

  async call(definition: ToolDefinition, input: object, { signal: given, report }: CallOptions): Promise<ToolContent> {
    const { timeoutMs } = this.#record;
    if (this.#calls.count >= MOST_CALLS) {
      const message = `The integration ${this.#label} has ${MOST_CALLS} calls under way; try again in a moment.`;
      throw new ToolError('unavailable', message);
    }
    const offered = this.#offered.get(definition);
    if (!offered) throw this.#notOffered();
    return this.#calls.run(offered, given, async (signal) => {
      const connection = await this.#ready();
      const tool = this.#raw.get(definition.name);
      if (!tool || this.#offered.get(definition) !== offered) throw this.#notOffered();
      const onProgress = sparing((progress) => report(this.#scrubber.progress(progress)));
      const result = await connection
        .call({ tool, input, timeoutMs, signal, report: onProgress })
        .catch((error: unknown) => Promise.reject(this.#failed(error, connection, signal)));
      return this.#contentOf(result);
    });
  }

  get #label(): string {
    return labelOf(this.#record);
  }

  #notOffered(): ToolError {
    return new ToolError('unavailable', `The integration ${this.#label} does not offer this tool now; see tools/list.`);
  }

  /** The error of a call that was under way. */
  #ended(why: string): ToolError {
    const message = `The integration ${this.#label} ${why} while the call was under way, which may have been carried out; look before you try again.`;
    return new ToolError('unavailable', message);
  }

  #contentOf({ content, structuredContent, isError }: Awaited<ReturnType<Connection['call']>>): ToolContent {
    if (isError) throw new ToolError('conflict', toolError(content, this.#label, this.#scrubber));
    try {
      const result = { content, ...(structuredContent !== undefined && { structuredContent }) };
      return this.#scrubber.json(result) as ToolContent; // scrubbing keeps the shape
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new ToolError('too_large', `The answer of the integration ${this.#label} nests too deep.`);
    }
  }

  #failed(error: unknown, connection: Connection, signal: AbortSignal | undefined): ToolError {
    const { code, message, doubt } = failureOf(error, this.#label, this.#scrubber);
    if (doubt && !signal?.aborted && connection === this.#link.connection) void this.#link.look();
    return new ToolError(code, message);
  }

  async #ready(): Promise<Connection> {
    const connection = await this.#link.ready();
    if (!connection) throw this.#away();
    return connection;
  }

  #away(): ToolError {
    const { retryAt, state } = this.#status;
    const again = retryAt ? `it is tried again at ${retryAt}` : 'it is tried again soon';
    const message =
      state === 'wants_oauth'
        ? `The integration ${this.#label} wants a token before it can be used; get_system_health tells more.`
        : `The integration ${this.#label} cannot be reached now; ${again}. get_system_health tells why.`;
    return new ToolError('unavailable', message);
  }

  #linkParts(): LinkParts {
    return {
      open: (options) => {
        const target = this.#services.targetOf(this.#record);
        this.#scrubber = new Scrubber(secretsOf(target));
        return Connection.open(target, { ...this.#services, ...options });
      },
      list: (connection, signal) => this.#list(connection, signal),
      onListed: () => this.#publish(),
      onConnecting: () => {
        const { lastError, lastOutput } = this.#status;
        this.#setStatus({ state: 'connecting', lastError, lastOutput });
      },
      onAway: (why, retryAt) => this.#setAway(why, retryAt),
      isIdle: () => this.#calls.count === 0,
    };
  }

  #setAway(why: unknown, retryAt: Date | undefined): void {
    const words = why instanceof ConnectionFailure ? why.wrote.slice(-LONGEST_WORDS) : '';
    this.#setStatus({
      state: why instanceof WantsOAuth ? 'wants_oauth' : 'unavailable',
      lastError: errorText(why, this.#scrubber),
      lastOutput: this.#scrubber.shown(words, LONGEST_WORDS) || undefined,
      retryAt: retryAt?.toISOString(),
    });
  }

  async #list(connection: Connection, life: AbortSignal): Promise<void> {
    const started = performance.now();
    const raw = await connection.list(Math.max(LIST_MS, this.#record.timeoutMs));
    if (life.aborted) return;
    this.#listing = readListing(raw, this.#record.toolPrefix, this.#scrubber);
    const names = new Set(this.#listing.definitions.map(({ name }) => name));
    // Each name was read from an object with a schema. Of several tools with the same name, the first counts.
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
    const takenBy = this.#services.takenBy(this.#record, false);
    const entries = enabled ? this.#offered.entries(this.#record, this.#listing, takenBy) : [];
    this.#services.catalog.put(id, entries);
    const tools = new Set(entries.map(({ tool }) => tool));
    this.#calls.endUnless(
      (tool) => tools.has(tool),
      () => this.#ended('stopped offering this tool as it was'),
    );
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
    if (before.state !== status.state) this.#services.onState(this.#record, this.#status);
  }
}

/** Passes on the first reports of progress, then a few each second. */
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

/** A change of one of these members needs a new connection. */
const TARGET = ['toolPrefix', 'command', 'args', 'env', 'url', 'headers', 'enabled'] as const;
