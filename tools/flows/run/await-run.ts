import { EventEmitter } from 'node:events';
import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import type { Commit, Readers, Store } from '../../../store/port.ts';

const LOOK_EVERY_MS = 500;
/** The states of runs that end or wait by themselves. */
const GOING: readonly string[] = ['queued', 'running'];

interface RunCompletionDeps {
  readonly store: Store;
  readonly closed: AbortSignal;
  onFailure(cause: unknown): void;
}

/** Lets callers wait for runs. Commits are followed only while somebody waits. */
export class RunCompletion {
  readonly #deps: RunCompletionDeps;
  /** Emits the id of a run that has ended, or waits for a person. */
  readonly #ends = new EventEmitter().setMaxListeners(0);
  #forgetListener = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: RunCompletionDeps) {
    this.#deps = deps;
    deps.closed.addEventListener('abort', () => this.#endAll(), { once: true });
  }

  /** Resolves with the run once it has ended or waits for a person, or as it is when the signal aborts or the server stops. Undefined if it is gone. */
  async of(runId: string, signal: AbortSignal | undefined): Promise<FlowRunRecord | undefined> {
    const { store, closed } = this.#deps;
    if (this.#ends.eventNames().length === 0) this.#follow();
    let look = () => {};
    const told = () => look();
    this.#ends.on(runId, told);
    signal?.addEventListener('abort', told, { once: true });
    try {
      for (;;) {
        // What waited may go on by the time that this is heard.
        const next = new Promise<void>((resolve) => {
          look = resolve;
        });
        const run = await store.flowRuns.get(runId);
        if (!run || !GOING.includes(run.status) || closed.aborted || signal?.aborted) return run;
        await next;
      }
    } finally {
      this.#ends.off(runId, told);
      signal?.removeEventListener('abort', told);
      if (this.#ends.eventNames().length === 0) this.#leave();
    }
  }

  #endAll(): void {
    for (const runId of this.#ends.eventNames()) this.#ends.emit(runId);
  }

  #follow(): void {
    const { store, onFailure } = this.#deps;
    this.#forgetListener = store.onCommit((commit) => this.#committed(commit), ['flowRuns']);
    if (store.jobs.worker !== undefined) this.#timer = setInterval(() => this.#look().catch(onFailure), LOOK_EVERY_MS);
  }

  #leave(): void {
    this.#forgetListener();
    clearInterval(this.#timer);
  }

  #committed({ changes }: Commit): void {
    for (const { kind, collection, record } of changes) {
      if (collection === 'flowRuns' && (kind === 'deleted' || !GOING.includes(record.status)))
        this.#ends.emit(record.id);
    }
  }

  /** Finds runs that ended in another process. */
  async #look(): Promise<void> {
    const id = this.#ends.eventNames().map(String);
    const open = await this.#deps.store.flowRuns.find({ where: { id, status: GOING }, limit: id.length });
    const stillOpen = new Set(open.records.map((run) => run.id));
    for (const runId of id) if (!stillOpen.has(runId)) this.#ends.emit(runId);
  }
}

/** A run whose end a caller waits for. */
export interface RunWait {
  readonly id: string;
  /** The run that waits. Undefined if the caller is not a run. */
  readonly by: string | undefined;
}

type Waiting = RunWait & { readonly by: string };

/** Stores that one run waits for another. Resolves with true where it would wait for itself, by way of others. */
export function enterWait(store: Store, { by, id }: Waiting): Promise<boolean> {
  return store.transaction(async (tx) => {
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

export async function leaveWait(store: Store, { by, id }: Waiting): Promise<void> {
  await store.transaction(async (tx) => {
    if ((await tx.flowRuns.get(by))?.awaits === id) await tx.flowRuns.touch(by, { awaits: null });
  });
}

type Runs = Pick<Readers, 'flowRuns' | 'flows'>;

/** The running runs that must continue before this one can end: itself, or the runs of its flow that are queued before it. */
async function runsBefore({ flowRuns, flows }: Runs, id: string | undefined): Promise<readonly string[]> {
  const run: FlowRunRecord | undefined = id === undefined ? undefined : await flowRuns.get(id);
  if (run?.status === 'running' || run?.status === 'waiting') return [run.id];
  if (run?.status !== 'queued' || (await flows.get(run.flowId))?.overlap === 'allow') return [];
  const where = { flowId: run.flowId, status: ['running', 'waiting'] };
  const { records } = await flowRuns.find({ where, limit: 100 });
  return records.map((each) => each.id);
}
