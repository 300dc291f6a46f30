import type { Jobs } from './jobs-port.ts';

export interface PeriodicTask {
  /** Stops once the work under way has ended. */
  close(): Promise<void>;
}

/** Does the work now and then in regular intervals, never twice at the same time. */
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

/** How soon another process notices that the work is its own now. */
const LEAD_MS = 60_000;

/** The same for work that one process does for all that share the store: now, and in regular intervals. */
export function startLeaderTask(
  jobs: Pick<Jobs, 'leads'>,
  work: () => Promise<void>,
  { onFailure, everyMs }: { readonly everyMs: number; onFailure(cause: unknown): void },
): PeriodicTask {
  let next = 0;
  const workIfDue = async () => {
    const now = performance.now();
    if (!jobs.leads) next = now;
    if (!jobs.leads || now < next) return;
    next = now + everyMs;
    await work();
  };
  return startPeriodicTask(workIfDue, onFailure, Math.min(everyMs, LEAD_MS));
}
