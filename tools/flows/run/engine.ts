import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import type { JobTable } from '../../../store/jobs-port.ts';
import type { PeriodicTask } from '../../../store/periodic-task.ts';
import type { Store } from '../../../store/port.ts';
import type { Registry } from '../../core/registry/registry.ts';
import type { RunWait } from './await-run.ts';
import { startRecovery } from './claim-run.ts';
import { type Clock, systemClock } from './clock.ts';
import { FlowRunner } from './runner.ts';
import { FlowTriggers } from './triggers.ts';
import { followDecisions } from './waiting-runs.ts';

interface Flows {
  wake(flowId: string): void;
  /** Resolves with the run when it has ended, waits for a person or the signal aborts; at once with `stuck` where it would wait for itself. */
  ended(run: RunWait, signal: AbortSignal | undefined): Promise<FlowRunRecord | 'stuck' | undefined>;
  cancel(runId: string): void;
}

declare module '../../core/registry/context.ts' {
  interface ServerContext {
    readonly flows?: Flows;
  }
}

interface FlowEngineOptions {
  readonly store: Store;
  readonly clock?: Clock;
  /** Further short jobs, which the same workers do. */
  readonly jobs?: JobTable;
  onFailure(cause: unknown): void;
}

/** Runs flows: by hand, webhook, schedule and event. There is one for each store. */
export class FlowEngine implements Flows {
  readonly #options: FlowEngineOptions;
  #runner: FlowRunner | undefined;
  #triggers: FlowTriggers | undefined;
  #recovery: PeriodicTask | undefined;
  #decisions: PeriodicTask | undefined;
  #leaveJobs = async () => {};

  constructor(options: FlowEngineOptions) {
    this.#options = options;
  }

  /** Continues what an earlier process left unfinished, and begins to follow the flows. */
  async start(registry: Registry): Promise<void> {
    const { store, clock = systemClock, jobs, onFailure } = this.#options;
    const runner = new FlowRunner({ store, registry, clock, onFailure });
    const { catalog, kinds } = registry.server;
    const queued = (flowId: string) => runner.wake(flowId);
    const changed = (flowId: string) => runner.wakeChanged(flowId);
    this.#triggers = new FlowTriggers({ store, catalog, kinds, clock, queued, changed, onFailure });
    this.#runner = runner;
    this.#leaveJobs = store.jobs.serve({ ...runner.jobs, ...this.#triggers.jobs, ...jobs }, onFailure);
    await this.#triggers.start();
    await runner.start();
    this.#decisions = followDecisions({ store, clock, onFailure });
    if (store.jobs.worker !== undefined) this.#recovery = startRecovery(store, onFailure);
  }

  wake(flowId: string): void {
    this.#runner?.wake(flowId);
  }

  async ended(run: RunWait, signal: AbortSignal | undefined): Promise<FlowRunRecord | 'stuck' | undefined> {
    return this.#runner?.ended(run, signal);
  }

  cancel(runId: string): void {
    this.#runner?.cancel(runId);
  }

  async close(): Promise<void> {
    await this.#decisions?.close();
    await this.#recovery?.close();
    await this.#leaveJobs();
    await this.#triggers?.close();
    await this.#runner?.close();
  }
}
