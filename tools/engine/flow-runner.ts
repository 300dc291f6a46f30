import type { Flow, FlowStep } from '../../resources/flow.ts';
import type { FlowRunRecord } from '../../resources/flow-run.ts';
import { flowProblem, nextQueued } from '../flows/queue.ts';
import { type ExecutionParts, FlowExecution } from './flow-execution.ts';

/** Runs under way at once; the others wait. */
const MOST_AT_ONCE = 16;
/** When a run goes on that the store took nothing of. */
const RESUME_MS = 30_000;
/** How long a server that stops waits for the calls under way. */
const LEAVE_MS = 8_000;

export interface FlowRunnerParts extends ExecutionParts {
  onFailure(cause: unknown): void;
}

/** Takes the queued runs of flows, oldest first, one of a flow at a time unless the flow allows more. */
export class FlowRunner {
  readonly #parts: FlowRunnerParts;
  readonly #running = new Map<
    string,
    { readonly flowId: string; readonly execution: FlowExecution; readonly ended: Promise<void> }
  >();
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Flows with runs in the queue, in the order in which they are looked at. */
  readonly #flows = new Set<string>();
  #advancing: Promise<void> | undefined;
  #closing = false;

  constructor(parts: FlowRunnerParts) {
    this.#parts = parts;
  }

  /** Goes on with what an earlier process left, and with what waits. */
  async start(): Promise<void> {
    const { store } = this.#parts;
    for (const status of ['running', 'queued']) {
      let after: Parameters<typeof store.flowRuns.find>[0]['after'];
      do {
        const page = await store.flowRuns.find({ where: { status }, order: 'oldest', limit: 200, after });
        for (const run of page.records) {
          if (status === 'running') await this.#resume(run);
          this.#flows.add(run.flowId);
        }
        after = page.next ?? undefined;
      } while (after);
    }
    this.#advance();
  }

  /** Has the queue of the flow looked at; called after a run was put into it. */
  wake(flowId: string): void {
    this.#flows.add(flowId);
    this.#advance();
  }

  /** Resolves when the run has ended, the signal aborts or the server stops. */
  async ended(runId: string, signal: AbortSignal | undefined): Promise<void> {
    if (!(await this.#isOpen(runId)) || signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const waiting = this.#waiting.get(runId) ?? new Set();
      this.#waiting.set(runId, waiting);
      waiting.add(resolve);
      signal?.addEventListener('abort', () => resolve(), { once: true });
      // It may have ended before this was noted.
      this.#isOpen(runId).then((open) => open || resolve(), resolve);
    });
  }

  /** Ends a run that is under way; false where this process does not run it. */
  cancel(runId: string): boolean {
    const found = this.#running.get(runId);
    found?.execution.cancel();
    return found !== undefined;
  }

  /** Begins no further step. What is left goes on with the next start. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const { execution } of this.#running.values()) execution.leave();
    for (const waiting of this.#waiting.values()) for (const resolve of waiting) resolve();
    let giveUp: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      giveUp = setTimeout(resolve, LEAVE_MS);
    });
    await Promise.race([Promise.all([...this.#running.values()].map(({ ended }) => ended)), late]);
    clearTimeout(giveUp);
    await this.#advancing;
  }

  #advance(): void {
    this.#advancing ??= this.#takeAll()
      .catch(this.#parts.onFailure)
      .finally(() => {
        this.#advancing = undefined;
      });
  }

  async #takeAll(): Promise<void> {
    for (const flowId of this.#flows) {
      if (this.#closing || this.#running.size >= MOST_AT_ONCE) return;
      this.#flows.delete(flowId);
      if (await this.#takeOne(flowId)) this.#flows.add(flowId);
    }
  }

  /** Whether the flow may have another run to begin. */
  async #takeOne(flowId: string): Promise<boolean> {
    const { store, clock } = this.#parts;
    const run = await nextQueued(store, flowId);
    if (!run) return false;
    const flow = await store.flows.get(flowId);
    const problem = flow ? flowProblem(flow) : 'The flow was deleted.';
    if (!flow || problem) {
      const error = { code: 'conflict', message: problem ?? '' } as const;
      const change = { status: 'cancelled', error, finishedAt: clock.now().toISOString() } as const;
      await this.#change(run, change);
      this.#tell(run.id);
      return true;
    }
    const busy = [...this.#running.values()].some((other) => other.flowId === flowId);
    if (busy && flow.overlap !== 'allow') return false;
    const begun = await this.#change(run, beginning(flow, clock.now()));
    if (begun) this.#execute(flow, begun);
    return true;
  }

  /** The run as it is now, or undefined where it was cancelled meanwhile. */
  #change(run: FlowRunRecord, change: Partial<FlowRunRecord>): Promise<FlowRunRecord | undefined> {
    return this.#parts.store.transaction(async (tx) => {
      const current = await tx.flowRuns.get(run.id);
      return current?.status === 'queued' ? tx.flowRuns.update(run.id, change) : undefined;
    });
  }

  /** A flow that is gone or disabled meanwhile is not stopped in the middle: the run has what it needs. */
  async #resume(run: FlowRunRecord): Promise<void> {
    const flow = (await this.#parts.store.flows.get(run.flowId)) ?? { id: run.flowId, name: run.flowId };
    this.#execute(flow, run);
  }

  #execute(flow: Pick<Flow, 'id' | 'name'>, run: FlowRunRecord): void {
    const execution = new FlowExecution(this.#parts, flow, run);
    const ended = execution
      .finish()
      .then(
        () => undefined,
        (cause) => this.#resumeLater(run.id, cause),
      )
      .then(() => {
        this.#running.delete(run.id);
        this.#tell(run.id);
        if (!this.#closing) this.wake(run.flowId);
      });
    this.#running.set(run.id, { flowId: run.flowId, execution, ended });
  }

  /** The store did not take what the run had to keep. */
  #resumeLater(runId: string, cause: unknown): void {
    this.#parts.onFailure(cause);
    this.#parts.clock.after(RESUME_MS, async () => {
      const run = this.#closing ? undefined : await this.#parts.store.flowRuns.get(runId).catch(() => undefined);
      if (run?.status === 'running' && !this.#running.has(runId)) await this.#resume(run);
    });
  }

  #tell(runId: string): void {
    for (const resolve of this.#waiting.get(runId) ?? []) resolve();
    this.#waiting.delete(runId);
  }

  async #isOpen(runId: string): Promise<boolean> {
    const status = (await this.#parts.store.flowRuns.get(runId))?.status;
    return !this.#closing && (status === 'queued' || status === 'running');
  }
}

function beginning(flow: Flow, now: Date): Partial<FlowRunRecord> {
  const plan = planOf(flow);
  const steps = plan.map(({ id, tool }) => ({ id, tool, status: 'pending' as const, attempts: 0 }));
  const { revision: flowRevision, runAs } = flow;
  return { status: 'running', flowRevision, runAs, plan, steps, startedAt: now.toISOString() };
}

/** An agent's flow is one step that invokes it. */
function planOf({ steps, agentId, prompt = '{{ input | json }}' }: Flow): FlowStep[] {
  if (agentId === undefined) return steps ?? [];
  const retry = { attempts: 1, delayMs: 0 };
  return [{ id: 'agent', tool: 'invoke_agent', arguments: { agent: agentId, input: prompt }, onError: 'stop', retry }];
}
