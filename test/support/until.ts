import { setTimeout } from 'node:timers/promises';

/** Far longer than anything takes on a busy machine: it only ends what would never come to hold. */
const LIMIT_MS = 60_000;

/** Some questions are calls of a server. What has not come at once is asked for less often. */
const MOST_PAUSE_MS = 50;

const IN_VAIN = 'It did not come to hold within';

/** Whether a message is that of a wait that ended without its condition. */
export const isLimit = (message: string): boolean => message.startsWith(IN_VAIN);

/** Waits, in real time, until the question is answered with yes. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + LIMIT_MS;
  for (let pauseMs = 5; !(await holds()); pauseMs = Math.min(1.5 * pauseMs, MOST_PAUSE_MS)) {
    if (Date.now() > deadline) throw new Error(`${IN_VAIN} ${LIMIT_MS / 1000} s: ${holds}`);
    await setTimeout(pauseMs);
  }
}
