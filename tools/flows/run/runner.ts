import { setMaxListeners } from 'node:events';
import type { Flow } from '../../../resources/flow.ts';
import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import { backoffMs } from '../../../store/backoff.ts';
import type { JobTable } from '../../../store/jobs-port.ts';
import { nextQueued } from '../run-queue.ts';
import { enterWait, leaveWait, RunCompletion, type RunWait } from './await-run.ts';
import { type ClaimedRun, claimNext, claimRun, forEachRun, orphanedRun, RunLost } from './claim-run.ts';
import { Backoff, pause } from './clock.ts';
import { type ExecutionDeps, FlowExecution } from './execution.ts';
import { finishObserved } from './observed-run.ts';
import { RunSlot, RunSlots } from './run-slots.ts';
import { claimWaiting } from './waiting-runs.ts';

const LEAVE_MS = 8_000;
/** How often the runs of this process are looked up for a wish to end them, which another process may have stored. */
const ASK_MS = 1000;
/** How soon another process is asked to begin a run for which this one has no slot: at first, and at most. */
const PASS = { firstMs: 1000, longestMs: 30_000 };

/** A few of the connections to a shared database. */
const MOST_WAKERS = 4;

interface FlowRunnerDeps extends ExecutionDeps {
  onFailure(cause: unknown): void;
}

interface Running {
  readonly flowId: string;
  readonly execution: FlowExecution;
  readonly slot: RunSlot;
  readonly ended: Promise<void>;
}

/**
 * Begins the queued runs of flows: of each flow the oldest first, and one at a time unless the flow allows more. Owners take turns. A run
 * has a slot while it is active, not while it waits for its next attempt or for a run that it began.
 *
 * Where several processes share the store, a run belongs to the process that it names as its `worker`, and each change of it is made only
 * if it still does.
 */
export class FlowRunner {
  readonly #deps: FlowRunnerDeps;
  /** Running executions by run. A run that was taken but has not begun is not in it. */
  readonly #running = new Map<string, Running>();
  readonly #ends: RunCompletion;
  readonly #slots = new RunSlots();
  /** Flows with queued runs by owner, in the order in which they are looked at. */
  readonly #flows = new Map<string, Set<string>>();
  readonly #wanting = new Set<string>();
  /** Changed flows to look at, in order. */
  readonly #toWake = new Set<string>();
  #wakers = 0;
  #looking: Promise<void> = Promise.resolve();
  readonly #backoff: Backoff;
  /** True once the runs of an earlier process were found. Before that, a new run would be mistaken for one of them. */
  #started = false;
  readonly #close = new AbortController();
  #asking: NodeJS.Timeout | undefined;

  constructor(deps: FlowRunnerDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(deps.clock);
    this.#ends = new RunCompletion({ ...deps, closed: this.#close.signal });
    setMaxListeners(0, this.#close.signal); // every waiting run adds one listener
  }

  readonly jobs: JobTable = {
    look_at_flow: ({ flowId, turn }) => this.#look(String(flowId), Number(turn ?? 0)),
    resume_run: ({ runId }) => this.#takeOver(String(runId)),
    go_on: ({ runId }) => this.#goOn(String(runId)),
  };

  /** Continues what an earlier process left, and the queued runs. */
  async start(): Promise<void> {
    const { store } = this.#deps;
    if (this.#isShared) this.#asking = setInterval(() => this.#ask(), ASK_MS);
    else {
      await forEachRun(store, 'running', (run) => this.#resume(run));
      await forEachRun(store, 'queued', (run) => this.#enter(run));
    }
    this.#started = true;
    for (const owner of this.#flows.keys()) this.#want(owner);
  }

  wake(flowId: string): void {
    void this.#wake(flowId);
  }

  /** Many flows may change at once. A few are looked at at a time, because all other calls need the store too. */
  wakeChanged(flowId: string): void {
    this.#toWake.add(flowId);
    if (this.#wakers < MOST_WAKERS) void this.#wakeAll();
  }

  async ended(run: RunWait, signal: AbortSignal | undefined): Promise<FlowRunRecord | 'stuck' | undefined> {
    const { by } = run;
    const { store, onFailure } = this.#deps;
    if (by === undefined) return this.#ends.of(run.id, signal);
    const slot = this.#running.get(by)?.slot;
    const waiting = { ...run, by };
    try {
      if (await enterWait(store, waiting)) return 'stuck';
      slot?.leave();
      return await this.#ends.of(run.id, signal);
    } finally {
      await leaveWait(store, waiting).catch(onFailure); // the run goes on, and in a slot
      await slot?.take(signal ?? this.#close.signal);
    }
  }

  /** Ends a run that this process is running. The wish to end it is stored before. */
  cancel(runId: string): void {
    this.#running.get(runId)?.execution.cancel();
  }

  /** Begins no further step. The next start, or another process, continues what is left. */
  async close(): Promise<void> {
    this.#close.abort();
    clearInterval(this.#asking);
    for (const { execution } of this.#running.values()) execution.leave();
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

  get #isShared(): boolean {
    return this.#deps.store.jobs.worker !== undefined;
  }

  async #wakeAll(): Promise<void> {
    this.#wakers += 1;
    for (const flowId of this.#toWake) {
      this.#toWake.delete(flowId);
      await this.#wake(flowId);
    }
    this.#wakers -= 1;
  }

  /** Tries again where the store refuses. Never rejects. */
  async #wake(flowId: string): Promise<void> {
    const { store } = this.#deps;
    while (!this.#close.signal.aborted) {
      try {
        if (!this.#isShared) return await this.#look(flowId, 0);
        return await store.jobs.add('look_at_flow', { flowId }, { key: flowId });
      } catch (cause) {
        await this.#refused(cause);
      }
    }
  }

  /** Resolves when it is time to try again what the store refused, or when the server stops. */
  #refused(cause: unknown): Promise<void> {
    const { clock, onFailure } = this.#deps;
    onFailure(cause);
    return pause(clock, this.#backoff.next(), this.#close.signal);
  }

  async #look(flowId: string, turn: number): Promise<void> {
    const run = await nextQueued(this.#deps.store, flowId);
    if (!run || this.#close.signal.aborted) return;
    const isFull = !this.#slots.hasRoom(ownerOf(run));
    this.#enter(run);
    if (!isFull || !this.#isShared) return;
    const afterMs = backoffMs(turn, PASS);
    await this.#deps.store.jobs.add('look_at_flow', { flowId, turn: turn + 1 }, { key: flowId, afterMs });
  }

  #enter(run: FlowRunRecord): void {
    const owner = ownerOf(run);
    this.#flows.set(owner, (this.#flows.get(owner) ?? new Set()).add(run.flowId));
    this.#want(owner);
  }

  /** Continues a run whose process is gone, unless another process did so first. */
  async #takeOver(runId: string): Promise<void> {
    const left = this.#close.signal.aborted ? undefined : await orphanedRun(this.#deps.store, runId);
    if (!left) return;
    const taken = await claimRun(this.#deps.store, left).catch((cause) => {
      this.#regainLater(left.flowId, cause);
      throw cause;
    });
    if (taken) await this.#resume(taken);
  }

  /** Continues a run whose approval was decided, unless another process did so first. */
  async #goOn(runId: string): Promise<void> {
    const waiting =
      this.#close.signal.aborted || this.#running.has(runId) ? undefined : await this.#deps.store.flowRuns.get(runId);
    if (waiting?.status !== 'waiting') return;
    const taken = await claimWaiting(this.#deps, runId).catch((cause) => {
      this.#regainLater(waiting.flowId, cause);
      throw cause;
    });
    if (taken) await this.#resume(taken);
  }

  async #resume(run: FlowRunRecord): Promise<void> {
    // A running run continues if its flow is deleted or disabled; it has everything it needs.
    const flow = (await this.#deps.store.flows.get(run.flowId)) ?? { id: run.flowId, name: run.flowId };
    if (this.#running.has(run.id)) return;
    this.#execute(flow, run, new RunSlot(this.#slots, ownerOf(run), false));
  }

  async #ask(): Promise<void> {
    const { store, onFailure } = this.#deps;
    if (this.#running.size === 0) return;
    const where = { worker: store.jobs.worker, status: 'running', cancelAsked: true };
    try {
      const { records } = await store.flowRuns.find({ where, limit: 500 });
      for (const { id } of records) this.cancel(id);
    } catch (cause) {
      onFailure(cause);
    }
  }

  #want(owner: string): void {
    if (!this.#started || this.#wanting.has(owner)) return;
    this.#wanting.add(owner);
    void this.#slots.take(owner, this.#close.signal).then((has) => {
      this.#wanting.delete(owner);
      if (has) this.#looking = this.#looking.then(() => this.#begin(new RunSlot(this.#slots, owner, true)));
    });
  }

  /** Begins a run of the owner, and requests a slot for the next one. Never rejects. */
  async #begin(slot: RunSlot): Promise<void> {
    const { owner } = slot;
    const flows = this.#flows.get(owner) ?? new Set();
    for (const flowId of flows) {
      flows.delete(flowId);
      const taken = this.#close.signal.aborted ? undefined : await this.#takeOne(flowId);
      if (taken) flows.add(flowId); // the flow may have another run
      if (!taken?.begun) continue;
      this.#execute(taken.begun.flow, taken.begun.run, slot);
      return this.#want(owner);
    }
    slot.end();
    if (this.#flows.get(owner)?.size === 0) this.#flows.delete(owner);
  }

  async #takeOne(flowId: string): Promise<ClaimedRun | undefined> {
    try {
      const busy = [...this.#running.values()].some((other) => other.flowId === flowId);
      return await claimNext(this.#deps, flowId, busy);
    } catch (cause) {
      this.#regainLater(flowId, cause);
      return undefined;
    }
  }

  #regainLater(flowId: string, cause: unknown): void {
    void this.#refused(cause).then(() => {
      this.#looking = this.#looking.then(() => this.#regain(flowId));
    });
  }

  /** Continues after a change that the store refused, but may have made: then a run names this process, and no other runs it. Never rejects. */
  async #regain(flowId: string): Promise<void> {
    const { store } = this.#deps;
    if (this.#close.signal.aborted) return;
    const where = { flowId, status: 'running', ...(this.#isShared && { worker: store.jobs.worker }) };
    const known = new Set(this.#running.keys()); // some may have ended since
    try {
      const { records } = await store.flowRuns.find({ where, limit: 500 });
      for (const run of records) if (!known.has(run.id)) await this.#resume(run);
      this.wake(flowId);
    } catch (cause) {
      this.#regainLater(flowId, cause);
    }
  }

  #execute(flow: Pick<Flow, 'id' | 'name'>, run: FlowRunRecord, slot: RunSlot): void {
    const execution = new FlowExecution(this.#deps, { flow, run, slot });
    const ended = this.#finish(execution, run, slot).then(() => {
      slot.end();
      this.#running.delete(run.id);
      this.wake(run.flowId);
      if (execution.isWaiting) void this.#lookAgain(run.id);
    });
    this.#running.set(run.id, { flowId: run.flowId, execution, slot, ended });
  }

  /** The approval may have been decided before the run was stored as waiting. Never rejects. */
  async #lookAgain(runId: string): Promise<void> {
    const { store, onFailure } = this.#deps;
    await store.jobs.add('go_on', { runId }, { key: `go on ${runId}` }).catch(onFailure);
  }

  /** Runs until the run has ended, and continues after the store refused a change. Never rejects. */
  async #finish(execution: FlowExecution, begun: FlowRunRecord, slot: RunSlot): Promise<void> {
    const { store, registry } = this.#deps;
    for (;;) {
      try {
        return await finishObserved(registry.server.telemetry, begun, execution);
      } catch (cause) {
        if (cause instanceof RunLost) return execution.abandon();
        slot.leave();
        await this.#refused(cause);
      }
      if (this.#close.signal.aborted) return;
      const run = await store.flowRuns.get(begun.id).catch(() => 'unknown' as const);
      if (run === undefined) return; // the run was purged
    }
  }
}

/** The owner of a run. Older runs were stored without one; theirs is the principal they run as. */
function ownerOf({ ownerId, runAs }: FlowRunRecord): string {
  return ownerId ?? runAs.id;
}
