import type { Jobs } from './jobs-port.ts';

export interface PeriodicTask {
  close(): Promise<void>;
}

/** Does the work at once and then at regular intervals, never twice at the same time. */
export function startPeriodicTask(
  work: () => Promise<void>,
  onFailure: (cause: unknown) => void,
  everyMs: number,
): PeriodicTask {
  let running = Promise.resolve();
  const run = () => {
    running = running.then(work).catch(onFailure);
  };
  run();
  const timer = setInterval(run, everyMs);
  timer.unref();
  return {
    close() {
      clearInterval(timer);
      return running;
    },
  };
}

const LEADER_CHECK_MS = 60_000;

/** The same for work that one process does for all that share the store: now, and in regular intervals. */
export function startLeaderTask(
  jobs: Pick<Jobs, 'isLeader'>,
  work: () => Promise<void>,
  { onFailure, everyMs }: { readonly everyMs: number; onFailure(cause: unknown): void },
): PeriodicTask {
  let next = 0;
  const workIfDue = async () => {
    const now = performance.now();
    if (!jobs.isLeader) next = now;
    if (!jobs.isLeader || now < next) return;
    next = now + everyMs;
    await work();
  };
  return startPeriodicTask(workIfDue, onFailure, Math.min(everyMs, LEADER_CHECK_MS));
}

/** Does work some time after it was asked for, once for all who asked until then, and again after a failure. */
export class DelayedTask {
  readonly #work: () => Promise<void>;
  readonly #delayMs: number;
  readonly #retryMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** Why the latest work failed. */
  error: Error | undefined;

  constructor(
    work: () => Promise<void>,
    { delayMs, retryMs }: { readonly delayMs: number; readonly retryMs?: number },
  ) {
    this.#work = work;
    this.#delayMs = delayMs;
    this.#retryMs = retryMs;
  }

  soon(delayMs = this.#delayMs): void {
    const at = performance.now() + delayMs;
    if (this.#isClosed || at >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => {
      this.#dueAt = Number.POSITIVE_INFINITY;
      this.#running = this.#running.then(() => this.#run());
    }, delayMs).unref();
  }

  /** Resolves when the work under way has ended. */
  close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    return this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#work();
      this.error = undefined;
    } catch (cause) {
      if (this.#isClosed) return;
      this.error = cause instanceof Error ? cause : new Error(String(cause));
      if (this.#retryMs !== undefined) this.soon(this.#retryMs);
    }
  }
}
