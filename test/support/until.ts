import { setTimeout } from 'node:timers/promises';

/** Far longer than anything takes on a busy machine: it only ends what would never come to hold. */
const LIMIT_MS = 60_000;

/** Waits, in real time, until the question is answered with yes. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + LIMIT_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`It did not come to hold within ${LIMIT_MS / 1000} s: ${holds}`);
    await setTimeout(10);
  }
}
