import { createContext, Script } from 'node:vm';

const MOST_MS = 500;
const box: { work?: (() => unknown) | undefined } = {};
const context = createContext(box);
const script = new Script('work()');

export class TooLong extends Error {
  constructor() {
    super(`it takes more than ${MOST_MS} ms`);
  }
}

/**
 * Does work of somebody's making that could go on for ever, within half a second: nothing else is done meanwhile. It is no sandbox.
 * @throws TooLong, and whatever the work throws
 */
export function bounded<Result>(work: () => Result): Result {
  box.work = work;
  try {
    return script.runInContext(context, { timeout: MOST_MS }) as Result; // what the work returns
  } catch (thrown) {
    throw isTimeout(thrown) ? new TooLong() : thrown;
  } finally {
    box.work = undefined;
  }
}

/** The error is one of the other context, so no instance of the classes here. */
function isTimeout(thrown: unknown): boolean {
  return (
    typeof thrown === 'object' && thrown !== null && 'code' in thrown && thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
