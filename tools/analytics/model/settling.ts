import { setImmediate as nextTurn } from 'node:timers/promises';

/** Something that follows the rows in small steps, so that other work runs in between. */
export interface Settling {
  /** Works until this time (as `performance.now()`). Returns true when nothing is left to do. */
  settle(until: number): boolean;
}

const SLICE_MS = 5;

/** Work in one turn of the event loop. It is over after a few milliseconds. */
export class Turn {
  until = performance.now() + SLICE_MS;

  /** Lets other work run when this turn is over. */
  async goOn(): Promise<void> {
    if (performance.now() < this.until) return;
    await nextTurn();
    this.until = performance.now() + SLICE_MS;
  }
}

/** Brings all parts up to date, one after the other. */
export async function settleAll(parts: Iterable<Settling>, turn = new Turn()): Promise<void> {
  for (const part of parts) while (!part.settle(turn.until)) await turn.goOn();
}
