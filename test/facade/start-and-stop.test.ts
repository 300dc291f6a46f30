import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { FULL, rounds } from '../support/full.ts';
import { withoutPostgres } from '../support/postgres.ts';
import type { StoreKind } from '../support/store.ts';
import { StartsAndStops } from './start-and-stop.ts';

/** Another one makes other moments. */
const SEED = Number(process.env.START_SEED ?? 1);
/** How many rounds, whatever kind of run it is. */
const ROUNDS = process.env.START_ROUNDS === undefined ? undefined : Number(process.env.START_ROUNDS);

interface Setting {
  readonly kind: StoreKind;
  readonly processes: number;
}

const SETTINGS: readonly Setting[] = [
  { kind: 'lowdb', processes: 1 },
  ...(FULL || ROUNDS !== undefined ? [{ kind: 'postgres', processes: 1 } as const] : []),
  { kind: 'postgres', processes: 3 },
];

for (const { kind, processes } of SETTINGS) {
  const skip = kind === 'postgres' && withoutPostgres;
  describe(`${processes} on ${kind}, probed at every door`, { skip }, () => {
    it('answer 503 until they can judge a caller, then what is right, and end with 0 whenever SIGTERM comes', async (test) => {
      test.diagnostic(`START_SEED=${SEED}`);
      const random = randomFrom(SEED);
      const world = await StartsAndStops.open(kind, processes);
      const begun = performance.now();
      const first = await world.start();
      await world.ready(first);
      await world.openAllDoors();
      /** A little longer than a start takes, and so a third of them are ready for some time. */
      const longestMs = 1.5 * (performance.now() - begun);
      await stopAll(first);
      await world.gone(first);
      for (let round = 0; round < (ROUNDS ?? rounds(1, 50)); round += 1) {
        const started = await world.start();
        await Promise.all(
          started.map(async ({ server }) => {
            await delay(random() * longestMs);
            server.process.kill('SIGTERM');
          }),
        );
        await world.gone(started);
      }
      const last = await world.start();
      await world.ready(last);
      await stopAll(last);
      await world.gone(last);
      await world.close();
    });
  });
}

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

type Started = Awaited<ReturnType<StartsAndStops['start']>>;

async function stopAll(started: Started): Promise<void> {
  for (const { server } of started) server.process.kill('SIGTERM');
}

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
