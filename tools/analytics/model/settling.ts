import { setImmediate as nextTurn } from 'node:timers/promises';

/** Something kept up to date with the rows in steps, so that others get their turn in between. */
export interface Settling {
  /** Works until the time of `performance.now()`; true when nothing is left to do. */
  settle(until: number): boolean;
}

const SLICE_MS = 5;

/** Work on one turn of the event loop, which is over after a few milliseconds. */
export class Turn {
  until = performance.now() + SLICE_MS;

  /** Lets others have theirs where this one is over. */
  async goOn(): Promise<void> {
    if (performance.now() < this.until) return;
    await nextTurn();
    this.until = performance.now() + SLICE_MS;
  }
}

/** Brings everything up to date, one after the other. */
export async function settleAll(parts: Iterable<Settling>, turn = new Turn()): Promise<void> {
  for (const part of parts) while (!part.settle(turn.until)) await turn.goOn();
}
