import { describe, it } from 'node:test';
import { withoutPostgres } from '../support/postgres.ts';
import { StartsAndStops } from './start-and-stop.ts';
import { testStartsAndStops } from './start-and-stop-rounds.ts';

testStartsAndStops('lowdb', 1);

/** What a start says while somebody else is in the way. */
const WAITING = {
  lowdb: /^Starting for \d+ s: waiting whether process 1 on elsewhere still holds the lock of the folder\.$/m,
  postgres: /^Starting for \d+ s: waiting for another process that changes the tables\.$/m,
};

describe('a start that waits for another process', () => {
  for (const kind of ['lowdb', 'postgres'] as const) {
    const skip = kind === 'postgres' && withoutPostgres;
    it(`on ${kind} says so on the console, and ends with 0 at SIGTERM`, { skip }, async () => {
      const world = await StartsAndStops.open(kind, 1);
      await world.heldUp(() => world.endWaiting(WAITING[kind]));
      await world.close();
    });
  }
});
