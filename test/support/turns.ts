import type { TestContext } from 'node:test';

/** Lets the clock go on by 1 ms each time it is read: the time that work takes is its amount, on any machine. */
export function slowClock(test: TestContext): void {
  let now = 0;
  test.mock.method(performance, 'now', () => (now += 1));
}

/** Counts the turns of the event loop from now on. */
export function countTurns(test: TestContext): () => number {
  let turns = 0;
  let turning = setImmediate(function turn() {
    turns += 1;
    turning = setImmediate(turn);
  });
  test.after(() => clearImmediate(turning));
  return () => turns;
}
