import type { Flow } from '../../../resources/flow.ts';
import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import type { Readers, Store } from '../../../store/port.ts';

export interface Awaited {
  readonly id: string;
  readonly flow: Pick<Flow, 'id'> & Partial<Pick<Flow, 'overlap'>>;
  /** The run that waits. Undefined if the caller is not a run. */
  readonly by: string | undefined;
}

interface Waiting extends Awaited {
  readonly by: string;
}

/** Which runs wait for which, so that none waits for itself by way of others. */
export interface WaitGraph {
  /** Enters that one run waits for another. Resolves with true where it would wait for itself. */
  enter(waiting: Waiting): Promise<boolean>;
  leave(waiting: Waiting): Promise<void>;
}

/** Waits of a process that has the store for itself. */
export class LocalWaitGraph implements WaitGraph {
  readonly #awaited = new Map<string, Awaited>();
  readonly #running: ReadonlyMap<string, { readonly flowId: string }>;

  constructor(running: ReadonlyMap<string, { readonly flowId: string }>) {
    this.#running = running;
  }

  async enter(waiting: Waiting): Promise<boolean> {
    this.#awaited.set(waiting.by, waiting);
    return this.#waitsForItself(waiting.by);
  }

  async leave({ by }: Waiting): Promise<void> {
    this.#awaited.delete(by);
  }

  #waitsForItself(runId: string): boolean {
    const open = new Set([runId]);
    for (const each of open) {
      const awaited = this.#awaited.get(each);
      const before = awaited ? this.#before(awaited) : [];
      if (before.includes(runId)) return true;
      for (const next of before) open.add(next);
    }
    return false;
  }

  /** The running runs that must continue before this one can end: itself, or the runs of its flow that are queued before it. */
  #before({ id, flow }: Awaited): string[] {
    if (this.#running.has(id)) return [id];
    if (flow.overlap === 'allow') return [];
    return [...this.#running].filter(([, { flowId }]) => flowId === flow.id).map(([runId]) => runId);
  }
}

/** Waits among the runs of several processes, kept in the records of the runs. */
export class SharedWaitGraph implements WaitGraph {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  enter({ by, id }: Waiting): Promise<boolean> {
    return this.#store.transaction(async (tx) => {
      if (!(await tx.flowRuns.get(by))) return false; // the run was purged
      await tx.flowRuns.touch(by, { awaits: id });
      const open = new Set([by]);
      for (const each of open) {
        const before = await runsBefore(tx, (await tx.flowRuns.get(each))?.awaits);
        if (before.includes(by)) return true;
        for (const next of before) open.add(next);
      }
      return false;
    });
  }

  async leave({ by, id }: Waiting): Promise<void> {
    await this.#store.transaction(async (tx) => {
      if ((await tx.flowRuns.get(by))?.awaits === id) await tx.flowRuns.touch(by, { awaits: null });
    });
  }
}

type Runs = Pick<Readers, 'flowRuns' | 'flows'>;

/** The running runs that must continue before this one can end: itself, or the runs of its flow that are queued before it. */
async function runsBefore({ flowRuns, flows }: Runs, id: string | undefined): Promise<readonly string[]> {
  const run: FlowRunRecord | undefined = id === undefined ? undefined : await flowRuns.get(id);
  if (run?.status === 'running') return [run.id];
  if (run?.status !== 'queued' || (await flows.get(run.flowId))?.overlap === 'allow') return [];
  const { records } = await flowRuns.find({ where: { flowId: run.flowId, status: 'running' }, limit: 100 });
  return records.map((each) => each.id);
}
