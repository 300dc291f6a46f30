import { setMaxListeners } from 'node:events';
import type { Flow, FlowStep } from '../../../resources/flow.ts';
import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import type { Commit, Transaction } from '../../../store/port.ts';
import { flowProblem, hasEnded, nextQueued } from '../queue.ts';
import { isTemplate } from '../templates.ts';
import { pause } from './clock.ts';
import { type ExecutionParts, FlowExecution } from './execution.ts';
import { FlowPlace, FlowPlaces } from './places.ts';

/** How long to wait after the store refused a change before trying again. */
const RESUME_MS = 30_000;
/** How long a stopping server waits for the current calls. */
const LEAVE_MS = 8_000;

interface FlowRunnerParts extends ExecutionParts {
  onFailure(cause: unknown): void;
}

interface Running {
  readonly flowId: string;
  readonly execution: FlowExecution;
  readonly place: FlowPlace;
  readonly ended: Promise<void>;
}

/** A run whose end a caller waits for. */
export interface Awaited {
  readonly id: string;
  readonly flow: Pick<Flow, 'id'> & Partial<Pick<Flow, 'overlap'>>;
  /** The run that waits. Undefined where the caller is no run. */
  readonly by: string | undefined;
}

/**
 * Begins the queued runs of flows: of each flow the oldest first, and one at a time unless the flow allows more. Owners take turns. A run
 * has a place while it is active, not while it waits for its next attempt or for a run that it began.
 */
export class FlowRunner {
  readonly #parts: FlowRunnerParts;
  /** Running executions by run. A run that was taken but has not begun is not in it. */
  readonly #running = new Map<string, Running>();
  readonly #waiting = new Map<string, Set<() => void>>();
  /** The runs that running runs wait for. */
  readonly #awaited = new Map<string, Awaited>();
  readonly #places = new FlowPlaces();
  /** Flows with queued runs by owner, in the order in which they are looked at. */
  readonly #flows = new Map<string, Set<string>>();
  /** Owners for whose flows a place is wanted. */
  readonly #wanting = new Set<string>();
  /** Flows are looked at one after the other. */
  #looking: Promise<void> = Promise.resolve();
  /** True once the runs of an earlier process were found. Before that, a new run would be mistaken for one of them. */
  #started = false;
  readonly #close = new AbortController();
  #forgetListener = () => {};

  constructor(parts: FlowRunnerParts) {
    this.#parts = parts;
    setMaxListeners(0, this.#close.signal); // every waiting run adds one listener
  }

  /** Continues what an earlier process left, and the queued runs. */
  async start(): Promise<void> {
    const { store } = this.#parts;
    for (const status of ['running', 'queued']) {
      let after: Parameters<typeof store.flowRuns.find>[0]['after'];
      do {
        const page = await store.flowRuns.find({ where: { status }, order: 'oldest', limit: 200, after });
        for (const run of page.records) await this.#resume(run);
        after = page.next ?? undefined;
      } while (after);
    }
    this.#started = true;
    for (const owner of this.#flows.keys()) this.#want(owner);
  }

  async #resume(run: FlowRunRecord): Promise<void> {
    if (run.status === 'queued') return this.#enter(run);
    // A flow that was deleted or disabled meanwhile does not stop its running run, which has everything it needs.
    const flow = (await this.#parts.store.flows.get(run.flowId)) ?? { id: run.flowId, name: run.flowId };
    this.#execute(flow, run, new FlowPlace(this.#places, ownerOf(run), false));
  }

  /** Looks at the flow's queue. Called after a run was added to it. */
  wake(flowId: string): void {
    nextQueued(this.#parts.store, flowId).then((run) => run && this.#enter(run), this.#parts.onFailure);
  }

  #enter(run: FlowRunRecord): void {
    const owner = ownerOf(run);
    this.#flows.set(owner, (this.#flows.get(owner) ?? new Set()).add(run.flowId));
    this.#want(owner);
  }

  async ended(run: Awaited, signal: AbortSignal | undefined): Promise<'stuck' | undefined> {
    const { by } = run;
    if (by === undefined) return void (await this.#end(run.id, signal));
    const place = this.#running.get(by)?.place;
    this.#awaited.set(by, run);
    try {
      if (this.#waitsForItself(by)) return 'stuck';
      place?.leave();
      return void (await this.#end(run.id, signal));
    } finally {
      this.#awaited.delete(by);
      await place?.take(signal ?? this.#close.signal);
    }
  }

  async #end(runId: string, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = waiter();
    if (this.#waiting.size === 0)
      this.#forgetListener = this.#parts.store.onCommit((commit) => this.#committed(commit), ['flowRuns']);
    const waiting = this.#waiting.get(runId) ?? new Set();
    this.#waiting.set(runId, waiting.add(resolve));
    signal?.addEventListener('abort', resolve, { once: true });
    try {
      if (!signal?.aborted && (await this.#isOpen(runId))) await promise;
    } finally {
      signal?.removeEventListener('abort', resolve);
      waiting.delete(resolve);
      if (waiting.size === 0 && this.#waiting.get(runId) === waiting) this.#waiting.delete(runId);
      if (this.#waiting.size === 0) this.#forgetListener();
    }
  }

  #waitsForItself(runId: string): boolean {
    const met = new Set<string>();
    const open = [runId];
    for (const each of open) {
      const awaited = this.#awaited.get(each);
      if (!awaited || met.has(each)) continue;
      met.add(each);
      const before = this.#before(awaited);
      if (before.includes(runId)) return true;
      open.push(...before);
    }
    return false;
  }

  /** The running runs that must continue before this one can end: itself, or the runs of its flow that are queued before it. */
  #before({ id, flow }: Awaited): string[] {
    if (this.#running.has(id)) return [id];
    if (flow.overlap === 'allow') return [];
    return [...this.#running].filter(([, { flowId }]) => flowId === flow.id).map(([runId]) => runId);
  }

  /** Ends a run that this process is running. The wish to end it is stored before. */
  cancel(runId: string): void {
    this.#running.get(runId)?.execution.cancel();
  }

  /** Begins no further step. The next start continues what is left. */
  async close(): Promise<void> {
    this.#close.abort();
    this.#forgetListener();
    for (const { execution } of this.#running.values()) execution.leave();
    for (const waiting of this.#waiting.values()) for (const resolve of waiting) resolve();
    let giveUp: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      giveUp = setTimeout(resolve, LEAVE_MS);
    });
    const ended = Promise.all([...this.#running.values()].map((run) => run.ended));
    await Promise.race([ended, late]);
    clearTimeout(giveUp);
    for (const { execution } of this.#running.values()) execution.abandon();
    await ended;
    await this.#looking;
  }

  /** Resumes the calls that wait for a run, when that run ends or is deleted. Commits are followed only while there are such calls. */
  #committed({ changes }: Commit): void {
    for (const { kind, collection, record } of changes) {
      if (collection !== 'flowRuns' || (kind !== 'deleted' && !hasEnded(record))) continue;
      for (const resolve of this.#waiting.get(record.id) ?? []) resolve();
    }
  }

  #want(owner: string): void {
    if (!this.#started || this.#wanting.has(owner)) return;
    this.#wanting.add(owner);
    void this.#places.take(owner, this.#close.signal).then((has) => {
      this.#wanting.delete(owner);
      if (has) this.#looking = this.#looking.then(() => this.#begin(new FlowPlace(this.#places, owner, true)));
    });
  }

  /** Begins a run of the owner, and requests a place for the next one. Never rejects. */
  async #begin(place: FlowPlace): Promise<void> {
    const { owner } = place;
    const flows = this.#flows.get(owner) ?? new Set();
    for (const flowId of flows) {
      flows.delete(flowId);
      const taken = this.#close.signal.aborted ? undefined : await this.#takeOne(flowId);
      if (taken) flows.add(flowId); // the flow may have another run
      if (!taken?.begun) continue;
      this.#execute(taken.begun.flow, taken.begun.run, place);
      return this.#want(owner);
    }
    place.end();
    if (this.#flows.get(owner)?.size === 0) this.#flows.delete(owner);
  }

  /** Undefined where no run of the flow can begin now. */
  async #takeOne(flowId: string): Promise<Taken | undefined> {
    const { store, clock, onFailure } = this.#parts;
    try {
      const busy = [...this.#running.values()].some((other) => other.flowId === flowId);
      return await store.transaction((tx) => this.#take(flowId, busy, tx));
    } catch (cause) {
      onFailure(cause);
      void pause(clock, RESUME_MS, this.#close.signal).then(() => this.wake(flowId));
      return undefined;
    }
  }

  /** Takes a run. The flow is read in the same transaction, so no run begins with an old or disabled flow. */
  async #take(flowId: string, busy: boolean, tx: Transaction): Promise<Taken | undefined> {
    const run = await nextQueued(tx, flowId);
    if (!run) return undefined;
    const flow = await tx.flows.get(flowId);
    const now = this.#parts.clock.now();
    const message = flow ? flowProblem(flow) : 'The flow was deleted.';
    if (!flow || message !== undefined) {
      const error = { code: 'conflict', message: message ?? '' } as const;
      await tx.flowRuns.update(run.id, { status: 'cancelled', error, finishedAt: now.toISOString() });
      return {};
    }
    if (busy && flow.overlap !== 'allow') return undefined;
    return { begun: { flow, run: await tx.flowRuns.update(run.id, beginning(flow, now)) } };
  }

  #execute(flow: Pick<Flow, 'id' | 'name'>, run: FlowRunRecord, place: FlowPlace): void {
    const execution = new FlowExecution(this.#parts, { flow, run, place });
    const ended = this.#finish(execution, run.id, place).then(() => {
      place.end();
      this.#running.delete(run.id);
      if (!this.#close.signal.aborted) this.wake(run.flowId);
    });
    this.#running.set(run.id, { flowId: run.flowId, execution, place, ended });
  }

  /** Runs until the run has ended, and continues after the store refused a change. Never rejects. */
  async #finish(execution: FlowExecution, runId: string, place: FlowPlace): Promise<void> {
    const { store, clock, onFailure } = this.#parts;
    for (;;) {
      try {
        return await execution.finish();
      } catch (cause) {
        onFailure(cause);
      }
      place.leave();
      await pause(clock, RESUME_MS, this.#close.signal);
      if (this.#close.signal.aborted) return;
      const run = await store.flowRuns.get(runId).catch(() => 'unknown' as const);
      if (run === undefined) return; // the run was purged
    }
  }

  async #isOpen(runId: string): Promise<boolean> {
    const run = await this.#parts.store.flowRuns.get(runId);
    return run !== undefined && !this.#close.signal.aborted && !hasEnded(run);
  }
}

/** The owner of a run. Older runs were stored without one; theirs is the principal they run as. */
function ownerOf({ ownerId, runAs }: FlowRunRecord): string {
  return ownerId ?? runAs.id;
}

interface Taken {
  readonly begun?: { readonly flow: Flow; readonly run: FlowRunRecord };
}

function waiter() {
  let resolve = () => {};
  const promise = new Promise<void>((end) => {
    resolve = end;
  });
  return { promise, resolve };
}

function beginning(flow: Flow, now: Date): Partial<FlowRunRecord> {
  const plan = planOf(flow);
  const steps = plan.map(({ id, tool }) => ({ id, tool, status: 'pending' as const, attempts: 0 }));
  const { revision: flowRevision, runAs } = flow;
  return { status: 'running', flowRevision, runAs, plan, steps, startedAt: now.toISOString() };
}

/**
 * The steps of a run. For a flow with an agent it is one step that invokes the agent. The prompt is always a text, even where it is a
 * single output.
 */
function planOf({ steps, agentId, prompt = '{{ input }}' }: Flow): FlowStep[] {
  if (agentId === undefined) return steps ?? [];
  const retry = { attempts: 1, delayMs: 0 };
  const input = isTemplate(prompt) ? `{% if true %}${prompt}{% endif %}` : prompt;
  return [{ id: 'agent', tool: 'invoke_agent', arguments: { agent: agentId, input }, onError: 'stop', retry }];
}
