import type { Store } from '../../store/port.ts';

/** What tools need to know of the runs of agents that are under way. */
interface AgentRuns {
  /** Calls `end` when somebody wants the run to end, until the returned function is called. */
  watch(runId: string, end: () => void): () => void;
}

declare module '../core/registry/context.ts' {
  interface ServerFacts {
    /** Absent if nobody can end runs, as in a registry of tests. */
    readonly agentRuns?: AgentRuns;
  }
}

/** Ends runs of this process that somebody wants to end, in whichever process the wish was stored. */
export class RunningRuns implements AgentRuns {
  readonly #ends = new Map<string, () => void>();

  constructor(store: Pick<Store, 'onCommit'>) {
    store.onCommit(
      ({ changes }) => {
        for (const { record } of changes) {
          if ('cancelAsked' in record && record.cancelAsked) this.#ends.get(record.id)?.();
        }
      },
      ['agentRuns'],
    );
  }

  watch(runId: string, end: () => void): () => void {
    this.#ends.set(runId, end);
    return () => this.#ends.delete(runId);
  }
}
