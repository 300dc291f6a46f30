import type {
  IntegrationExtra,
  IntegrationRecord,
  IntegrationStatus,
  IntegrationTool,
  ToolDefinition,
} from '../../../resources/integration.ts';
import type { Principal } from '../../core/access/principal.ts';
import { ToolError } from '../../core/errors.ts';
import type { Scrubber } from '../../core/outbound/untrusted-text.ts';
import type { Progress } from '../../core/registry/call.ts';
import type { LiveCatalog } from '../../core/registry/catalog-index.ts';
import type { Tool } from '../../core/registry/define-tool.ts';
import type { Connection } from './connection.ts';
import { type Extras, extraStates, NO_EXTRAS } from './extras.ts';
import { pagesIn, questionsIn, toolError } from './failure.ts';
import { extraOffers, type RunCall } from './guest-extras.ts';
import { listedTool } from './list-tools.ts';
import {
  type CallOptions,
  hashOfListing,
  type NameHolder,
  OfferedEntries,
  type ToolContent,
  toolOffers,
  toolStates,
} from './offered-tools.ts';
import { labelOf, shownName } from './tool-definitions.ts';
import { UpstreamConnections, type UpstreamConnectionsDeps } from './upstream-connections.ts';

export const MOST_CALLS = 64;

interface UpstreamServices extends UpstreamConnectionsDeps {
  readonly catalog: LiveCatalog;
  /** Finds other tools with the integration's tool names. `approved`: also tools that are approved and not offered now. */
  takenBy(record: IntegrationRecord, approved: boolean): NameHolder;
}

export interface View {
  readonly status: IntegrationStatus;
  readonly tools: readonly IntegrationTool[];
  readonly prompts?: readonly IntegrationExtra[];
  readonly resources?: readonly IntegrationExtra[];
  readonly listingHash: string | undefined;
}

/** One integration while the server runs: its connection or those of each person, the tools it offers and its state. */
export class Upstream {
  readonly #services: UpstreamServices;
  #offered = new OfferedEntries();
  #record: IntegrationRecord;
  readonly #calls = new CallsInFlight();
  readonly #connections: UpstreamConnections;
  /** False before `start` and from `stop` on. A listing that comes later offers nothing. */
  #isRunning = false;

  constructor(record: IntegrationRecord, services: UpstreamServices) {
    this.#record = record;
    this.#services = services;
    this.#connections = new UpstreamConnections(this, services);
  }

  get record(): IntegrationRecord {
    return this.#record;
  }

  /** The tools that are listed now and could be offered, for approval. */
  get definitions(): readonly ToolDefinition[] {
    const takenBy = this.#services.takenBy(this.#record, true);
    const { toolPrefix } = this.#record;
    return (this.#connections.listed?.listing.definitions ?? []).filter(
      ({ name }) => takenBy(shownName(toolPrefix, name)) === undefined,
    );
  }

  get extras(): Extras {
    return this.#connections.listed?.extras ?? NO_EXTRAS;
  }

  view(): View {
    const listing = this.#connections.listed?.listing;
    return {
      status: this.#connections.status,
      tools: toolStates(this.#record, listing, this.#services.takenBy(this.#record, true)),
      ...extraStates(this.#record, this.#connections.listed?.extras),
      listingHash: listing && hashOfListing(listing, this.#connections.listed?.extras),
    };
  }

  onListed(): void {
    this.#publish();
  }

  /** Connects, and reconnects until `stop`. Where each person has an account, connections are made when they are needed. */
  start(): void {
    if (!this.#record.enabled || this.#connections.isStarted) return;
    this.#isRunning = true;
    this.#publish();
    this.#connections.start();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#services.catalog.put(this.#record.id, []);
    const reason = this.#ended('was disabled, changed or deleted');
    this.#endCalls(reason);
    await this.#connections.stop(reason);
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
    this.#offered = new OfferedEntries();
    this.start();
  }

  /** Lists the tools now, and connects first where necessary. @throws ToolError if that fails */
  async refresh(caller: Principal): Promise<void> {
    if (!this.#record.enabled) {
      throw new ToolError('conflict', 'The integration is disabled; enable it with update_integration first.');
    }
    await this.#connections.refresh(caller);
  }

  accountConnected(userId: string | undefined): void {
    this.#connections.accountConnected(userId);
  }

  /** An account has ended. The calls with it and its connection end at once. */
  async accountEnded(userId: string | undefined): Promise<void> {
    const reason = this.#ended('lost the account that the call used');
    if (userId === undefined) this.#endCalls(reason);
    await this.#connections.accountEnded(userId, reason);
  }

  /** Calls the tool with this definition. `input` was checked against it. */
  async call(definition: ToolDefinition, input: object, options: CallOptions): Promise<ToolContent> {
    const { report, questions } = options;
    const offered = this.#offered.toolOf(definition);
    if (!offered) throw this.#notOffered();
    return this.#run(offered, options, async ({ connection, listed, scrubber }, { signal, timeoutMs }) => {
      const tool = listedTool(listed, definition);
      if (!tool || this.#offered.toolOf(definition) !== offered) throw this.#notOffered();
      const onProgress = throttled((progress) => report(scrubber.progress(progress)));
      const asking = { label: this.#label, scrubber, questions };
      const result = await connection
        .call({ tool, input, timeoutMs, signal, report: onProgress, questions })
        .catch((error: unknown) => Promise.reject(pagesIn(error, asking) ?? error));
      const asked = questionsIn(result, asking);
      if (asked) throw asked;
      return this.#contentOf(result, scrubber);
    });
  }

  readonly #run: RunCall = async (tool, { principal, signal: given }, work) => {
    const { timeoutMs } = this.#record;
    if (this.#calls.count >= MOST_CALLS) {
      const message = `The integration ${this.#label} has ${MOST_CALLS} calls under way; try again in a moment.`;
      throw new ToolError('unavailable', message, { notMade: true });
    }
    return this.#calls.run(tool, given, (ending) =>
      this.#connections.use(principal, ending, (upstream, signal) => work(upstream, { signal, timeoutMs })),
    );
  };

  get #label(): string {
    return labelOf(this.#record);
  }

  #endCalls(reason: ToolError): void {
    this.#calls.endUnless(
      () => false,
      () => reason,
    );
  }

  #notOffered(): ToolError {
    return new ToolError('unavailable', `The integration ${this.#label} does not offer this tool now; see tools/list.`);
  }

  #ended(why: string): ToolError {
    const message = `The integration ${this.#label} ${why} while the call was under way, which may have been carried out; look before you try again.`;
    return new ToolError('unavailable', message);
  }

  #contentOf(
    { content, structuredContent, isError }: Awaited<ReturnType<Connection['call']>>,
    scrubber: Scrubber,
  ): ToolContent {
    if (isError) throw new ToolError('conflict', toolError(content, this.#label, scrubber));
    try {
      const result = { content, ...(structuredContent !== undefined && { structuredContent }) };
      return scrubber.json(result) as ToolContent; // scrubbing keeps the shape
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new ToolError('too_large', `The answer of the integration ${this.#label} nests too deep.`);
    }
  }

  #publish(): void {
    const { id } = this.#record;
    const takenBy = this.#services.takenBy(this.#record, false);
    const listing = this.#connections.listed?.listing;
    const call = this.call.bind(this);
    const offers = this.#isRunning
      ? [...toolOffers(this.#record, { listing, takenBy, call }), ...extraOffers(this.#record, this.#run)]
      : [];
    const entries = this.#offered.update(`Integrations/${this.#label}`, offers);
    this.#services.catalog.put(id, entries);
    const tools = new Set(entries.map(({ tool }) => tool));
    this.#calls.endUnless(
      (tool) => tools.has(tool),
      () => this.#ended('stopped offering this tool as it was'),
    );
  }
}

/** A change of one of these members needs a new connection. */
const TARGET = ['toolPrefix', 'command', 'args', 'env', 'url', 'headers', 'auth', 'oauth', 'enabled'] as const;

/** The calls of an integration that are under way. A call ends when its tool is no longer offered as it was when the call began. */
class CallsInFlight {
  readonly #calls = new Map<AbortController, Tool>();

  get count(): number {
    return this.#calls.size;
  }

  /** Runs the work with a signal that aborts with the other signal or with the error of `endUnless`. Throws the error of `endUnless` where that ended it. */
  async run<Result>(
    tool: Tool,
    other: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const ending = new AbortController();
    this.#calls.set(ending, tool);
    try {
      return await work(other ? AbortSignal.any([other, ending.signal]) : ending.signal);
    } catch (thrown) {
      throw ending.signal.aborted ? ending.signal.reason : thrown;
    } finally {
      this.#calls.delete(ending);
    }
  }

  endUnless(isOffered: (tool: Tool) => boolean, why: () => ToolError): void {
    for (const [ending, tool] of this.#calls) if (!isOffered(tool)) ending.abort(why());
  }
}

export const FREELY = 20;
export const EVERY_MS = 100;

/** Passes on the first reports of progress, then a few each second. */
function throttled(report: (progress: Progress) => void): (progress: Progress) => void {
  let [count, last] = [0, 0];
  return (progress) => {
    count += 1;
    const now = performance.now();
    if (count > FREELY && now - last < EVERY_MS) return;
    last = now;
    report(progress);
  };
}
