import { setTimeout } from 'node:timers/promises';

/** Far longer than anything takes on a busy machine: it only ends what would never come to hold. */
const LIMIT_MS = 60_000;

/** Some questions are calls of a server. What has not come at once is asked for less often. */
const MOST_PAUSE_MS = 50;

/** Waits, in real time, until the question is answered with yes. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + LIMIT_MS;
  for (let pauseMs = 5; !(await holds()); pauseMs = Math.min(1.5 * pauseMs, MOST_PAUSE_MS)) {
    if (Date.now() > deadline) throw new Error(`It did not come to hold within ${LIMIT_MS / 1000} s: ${holds}`);
    await setTimeout(pauseMs);
  }
}
