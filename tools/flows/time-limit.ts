import { createContext, Script } from 'node:vm';

export const MOST_MS = 500;
const box: { work?: (() => unknown) | undefined } = {};
const context = createContext(box);
const script = new Script('work()');

export class TimeLimitExceeded extends Error {
  constructor(mostMs: number) {
    super(`it takes more than ${mostMs} ms`);
  }
}

/**
 * Runs work that somebody else wrote and that might never end. It is stopped after `mostMs`, and nothing else runs meanwhile. This is not
 * a sandbox.
 * @throws TimeLimitExceeded, and whatever the work throws
 */
export function withTimeLimit<Result>(work: () => Result, mostMs = MOST_MS): Result {
  box.work = work;
  try {
    return script.runInContext(context, { timeout: mostMs }) as Result; // the work's own result
  } catch (thrown) {
    throw isTimeout(thrown) ? new TimeLimitExceeded(mostMs) : thrown;
  } finally {
    box.work = undefined;
  }
}

/** The error comes from the other context, so `instanceof` does not work. */
function isTimeout(thrown: unknown): boolean {
  return (
    typeof thrown === 'object' && thrown !== null && 'code' in thrown && thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
