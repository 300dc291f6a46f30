import { setMaxListeners } from 'node:events';
import type { Flow, FlowStep } from '../../../resources/flow.ts';
import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import type { Commit, Transaction } from '../../../store/port.ts';
import { flowProblem, hasEnded, nextQueued } from '../queue.ts';
import { isTemplate } from '../templates.ts';
import { pause } from './clock.ts';
import { type ExecutionParts, FlowExecution } from './execution.ts';
import { FlowPlace, FlowPlaces } from './places.ts';

/** When the runner goes on that the store took nothing of. */
const RESUME_MS = 30_000;
/** How long a server that stops waits for the calls under way. */
const LEAVE_MS = 8_000;

export interface FlowRunnerParts extends ExecutionParts {
  onFailure(cause: unknown): void;
}

interface Running {
  readonly flowId: string;
  readonly execution: FlowExecution;
  readonly place: FlowPlace;
  readonly ended: Promise<void>;
}

/** A run whose end somebody waits for. */
export interface Awaited {
  readonly id: string;
  readonly flow: Pick<Flow, 'id'> & Partial<Pick<Flow, 'overlap'>>;
  /** The run that waits; undefined: none. */
  readonly by: string | undefined;
}

/**
 * Takes the queued runs of flows, those of a flow oldest first and one at a time unless the flow allows more; owners take turns. A run
 * takes a place while it does something, not while it waits: for its next try, or for a run of its own.
 */
export class FlowRunner {
  readonly #parts: FlowRunnerParts;
  /** By run; a run that is taken but has not begun is not here. */
  readonly #running = new Map<string, Running>();
  readonly #waiting = new Map<string, Set<() => void>>();
  /** What runs under way wait for. */
  readonly #awaited = new Map<string, Awaited>();
  readonly #places = new FlowPlaces();
  /** Flows with runs in the queue by owner, in the order in which they are looked at. */
  readonly #flows = new Map<string, Set<string>>();
  /** Owners for whose flows a place is wanted. */
  readonly #wanting = new Set<string>();
  /** Flows are looked at one after the other. */
  #looking: Promise<void> = Promise.resolve();
  /** Before the runs of an earlier process are found, a new one would be taken for one of them. */
  #started = false;
  readonly #close = new AbortController();
  #forgetListener = () => {};

  constructor(parts: FlowRunnerParts) {
    this.#parts = parts;
    setMaxListeners(0, this.#close.signal); // one for each that waits
  }

  /** Goes on with what an earlier process left, and with what waits. */
  async start(): Promise<void> {
    const { store } = this.#parts;
    this.#forgetListener = store.onCommit((commit) => this.#committed(commit));
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
    // A flow deleted or disabled in the meantime is not stopped halfway: the run has what it needs.
    const flow = (await this.#parts.store.flows.get(run.flowId)) ?? { id: run.flowId, name: run.flowId };
    this.#execute(flow, run, new FlowPlace(this.#places, ownerOf(run), false));
  }

  /** Has the queue of the flow looked at; called after a run was put into it. */
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
    const waiting = this.#waiting.get(runId) ?? new Set();
    this.#waiting.set(runId, waiting.add(resolve));
    signal?.addEventListener('abort', resolve, { once: true });
    try {
      if (!signal?.aborted && (await this.#isOpen(runId))) await promise;
    } finally {
      signal?.removeEventListener('abort', resolve);
      waiting.delete(resolve);
      if (waiting.size === 0 && this.#waiting.get(runId) === waiting) this.#waiting.delete(runId);
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

  /** The runs under way that have to go on for this one to end: itself, or those of its flow that it is queued behind. */
  #before({ id, flow }: Awaited): string[] {
    if (this.#running.has(id)) return [id];
    if (flow.overlap === 'allow') return [];
    return [...this.#running].filter(([, { flowId }]) => flowId === flow.id).map(([runId]) => runId);
  }

  /** Ends a run that is under way, where this process runs it. That it is to end is kept with it before. */
  cancel(runId: string): void {
    this.#running.get(runId)?.execution.cancel();
  }

  /** Begins no further step. What is left goes on with the next start. */
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

  /** However a run ends, or is gone, who waits for it hears of it. */
  #committed({ changes }: Commit): void {
    if (this.#waiting.size === 0) return;
    for (const { kind, collection, record } of changes) {
      if (collection !== 'flowRuns' || (kind !== 'deleted' && !hasEnded(record as unknown as FlowRunRecord))) continue; // a record of its collection
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

  /** Begins a run of the owner, and wants a place for the next one. Never rejects. */
  async #begin(place: FlowPlace): Promise<void> {
    const { owner } = place;
    const flows = this.#flows.get(owner) ?? new Set();
    for (const flowId of flows) {
      flows.delete(flowId);
      const taken = this.#close.signal.aborted ? undefined : await this.#takeOne(flowId);
      if (taken) flows.add(flowId); // it may have another
      if (!taken?.begun) continue;
      this.#execute(taken.begun.flow, taken.begun.run, place);
      return this.#want(owner);
    }
    place.end();
    if (this.#flows.get(owner)?.size === 0) this.#flows.delete(owner);
  }

  /** Undefined where the flow has no run that can begin now. */
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

  /** The flow is looked at in the transaction in which the run begins: once it is changed or disabled, no run begins as it was. */
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

  /** Goes on until the run has ended, also after the store did not take what it had to keep. Never rejects. */
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
      if (run === undefined) return; // purged
    }
  }

  async #isOpen(runId: string): Promise<boolean> {
    const run = await this.#parts.store.flowRuns.get(runId);
    return run !== undefined && !this.#close.signal.aborted && !hasEnded(run);
  }
}

/** Of runs that were kept without their owner, whom they run as. */
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

/** An agent's flow is one step that invokes it. What it is told is a text, also where the prompt is one output and nothing else. */
function planOf({ steps, agentId, prompt = '{{ input }}' }: Flow): FlowStep[] {
  if (agentId === undefined) return steps ?? [];
  const retry = { attempts: 1, delayMs: 0 };
  const input = isTemplate(prompt) ? `{% if true %}${prompt}{% endif %}` : prompt;
  return [{ id: 'agent', tool: 'invoke_agent', arguments: { agent: agentId, input }, onError: 'stop', retry }];
}
