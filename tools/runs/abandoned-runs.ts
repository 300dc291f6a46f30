import { pagesOf } from '../../store/pages.ts';
import { type PeriodicTask, startPeriodicTask } from '../../store/periodic-task.ts';
import type { Store } from '../../store/port.ts';
import { type AgentRuns, endRun, lostRun } from './run-records.ts';

const LOOK_EVERY_MS = 5000;
/** Between its beginning and its first step, and between its last step and its end, a run is not under way for a moment. */
const LOOKS = 3;
const MESSAGE = 'The store did not take the end of the run, or its beginning was not known here.';

/** Ends the runs of this process that it does not run, because the store failed just as they began or ended. */
export class AbandonedRuns {
  readonly #store: Pick<Store, 'agentRuns' | 'jobs' | 'transaction'>;
  readonly #agentRuns: Pick<AgentRuns, 'isUnderWay'>;
  /** In how many looks in a row a run was not under way. */
  #suspects: ReadonlyMap<string, number> = new Map();

  constructor(store: Pick<Store, 'agentRuns' | 'jobs' | 'transaction'>, agentRuns: Pick<AgentRuns, 'isUnderWay'>) {
    this.#store = store;
    this.#agentRuns = agentRuns;
  }

  start(onFailure: (cause: unknown) => void): PeriodicTask {
    return startPeriodicTask(() => this.look(), onFailure, LOOK_EVERY_MS);
  }

  /** Looks now, and ends those that were not under way in three looks in a row. */
  async look(): Promise<void> {
    const { agentRuns, jobs } = this.#store;
    const suspects = new Map<string, number>();
    for await (const runs of pagesOf(agentRuns, { where: { status: 'running' }, order: 'oldest', limit: 500 }))
      for (const { id, worker } of runs)
        if (worker === jobs.worker && !this.#agentRuns.isUnderWay(id))
          suspects.set(id, (this.#suspects.get(id) ?? 0) + 1);
    this.#suspects = suspects;
    const abandoned = [...suspects].filter(([, looks]) => looks >= LOOKS);
    if (abandoned.length === 0) return;
    await this.#store.transaction(async (tx) => {
      for (const [id] of abandoned) await endRun(tx, id, lostRun(new Date(), MESSAGE));
    });
  }
}
