import type { Commit, Store } from '../../../store/port.ts';
import { hasEnded, OPEN } from '../run-queue.ts';

const LOOK_EVERY_MS = 500;

interface RunCompletionDeps {
  readonly store: Store;
  readonly closed: AbortSignal;
  onFailure(cause: unknown): void;
}

export class RunCompletion {
  readonly #parts: RunCompletionDeps;
  readonly #waiting = new Map<string, Set<() => void>>();
  #forgetListener = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: RunCompletionDeps) {
    this.#parts = parts;
    parts.closed.addEventListener('abort', () => this.#close(), { once: true });
  }

  /** Resolves when the run has ended or was deleted, the signal aborts or the server stops. */
  async of(runId: string, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = waiter();
    if (this.#waiting.size === 0) this.#follow();
    const waiting = this.#waiting.get(runId) ?? new Set();
    this.#waiting.set(runId, waiting.add(resolve));
    signal?.addEventListener('abort', resolve, { once: true });
    try {
      if (!signal?.aborted && (await this.#isOpen(runId))) await promise;
    } finally {
      signal?.removeEventListener('abort', resolve);
      waiting.delete(resolve);
      if (waiting.size === 0 && this.#waiting.get(runId) === waiting) this.#waiting.delete(runId);
      if (this.#waiting.size === 0) this.#leave();
    }
  }

  async #isOpen(runId: string): Promise<boolean> {
    const { store, closed } = this.#parts;
    const run = await store.flowRuns.get(runId);
    return run !== undefined && !closed.aborted && !hasEnded(run);
  }

  /** Commits are followed only while somebody waits. */
  #follow(): void {
    const { store } = this.#parts;
    this.#forgetListener = store.onCommit((commit) => this.#committed(commit), ['flowRuns']);
    if (store.jobs.worker === undefined) return;
    this.#timer = setInterval(() => this.#look().catch(this.#parts.onFailure), LOOK_EVERY_MS);
  }

  #leave(): void {
    this.#forgetListener();
    clearInterval(this.#timer);
  }

  #committed({ changes }: Commit): void {
    for (const { kind, collection, record } of changes) {
      if (collection === 'flowRuns' && (kind === 'deleted' || hasEnded(record))) this.#ended(record.id);
    }
  }

  async #look(): Promise<void> {
    const id = [...this.#waiting.keys()];
    const open = await this.#parts.store.flowRuns.find({ where: { id, status: OPEN }, limit: id.length });
    const stillOpen = new Set(open.records.map((run) => run.id));
    for (const runId of id) if (!stillOpen.has(runId)) this.#ended(runId);
  }

  #ended(runId: string): void {
    for (const resolve of this.#waiting.get(runId) ?? []) resolve();
  }

  #close(): void {
    this.#leave();
    for (const runId of this.#waiting.keys()) this.#ended(runId);
  }
}

function waiter() {
  let resolve = () => {};
  const promise = new Promise<void>((end) => {
    resolve = end;
  });
  return { promise, resolve };
}
