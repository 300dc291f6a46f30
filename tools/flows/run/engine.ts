import type { Store } from '../../../store/port.ts';
import type { Registry } from '../../registry/registry.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Awaited, FlowRunner } from './runner.ts';
import { FlowTriggers } from './triggers.ts';

/** What tools ask of the engine that runs flows. */
export interface Flows {
  /** Has the queue of the flow looked at; called after a run was put into it. */
  wake(flowId: string): void;
  /**
   * Resolves when the run has ended, the signal aborts or the server stops; at once with `stuck` where the one that waits would wait
   * for itself.
   */
  ended(run: Awaited, signal: AbortSignal | undefined): Promise<'stuck' | undefined>;
  /** Ends a run that is under way; called after it was kept that it is to end. */
  cancel(runId: string): void;
}

export interface FlowEngineOptions {
  readonly store: Store;
  readonly clock?: Clock;
  onFailure(cause: unknown): void;
}

/** Runs flows: by hand, webhook, schedule and event. One per store. */
export class FlowEngine implements Flows {
  readonly #options: FlowEngineOptions;
  #runner: FlowRunner | undefined;
  #triggers: FlowTriggers | undefined;

  constructor(options: FlowEngineOptions) {
    this.#options = options;
  }

  /** Goes on with what an earlier process left, and begins to follow the flows. */
  async start(registry: Registry): Promise<void> {
    const { store, clock = systemClock, onFailure } = this.#options;
    const runner = new FlowRunner({ store, registry, clock, onFailure });
    const { catalog } = registry.server;
    const queued = (flowId: string) => runner.wake(flowId);
    this.#triggers = new FlowTriggers({ store, catalog, clock, queued, onFailure });
    this.#runner = runner;
    await this.#triggers.start();
    await runner.start();
  }

  wake(flowId: string): void {
    this.#runner?.wake(flowId);
  }

  async ended(run: Awaited, signal: AbortSignal | undefined): Promise<'stuck' | undefined> {
    return this.#runner?.ended(run, signal);
  }

  cancel(runId: string): void {
    this.#runner?.cancel(runId);
  }

  async close(): Promise<void> {
    await this.#triggers?.close();
    await this.#runner?.close();
  }
}
