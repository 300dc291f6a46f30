import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { rounds } from '../support/full.ts';
import { withoutPostgres } from '../support/postgres.ts';
import { randomFrom } from '../support/random.ts';
import type { StoreKind } from '../support/store.ts';
import { StartsAndStops } from './start-and-stop.ts';

/** Another one makes other moments. */
const SEED = Number(process.env.START_SEED ?? 1);
/** At how many moments a process is stopped; a long run makes 50 in all, over the stores and numbers of processes. */
const MOMENTS = rounds(1, 16);

/** Declares the test of so many processes on the store: rounds of starts with SIGTERM at random moments, between two whole starts. */
export function testStartsAndStops(kind: StoreKind, processes: number): void {
  const skip = kind === 'postgres' && withoutPostgres;
  describe(`${processes} on ${kind}, probed at every door`, { skip }, () => {
    it('answer 503 until they can judge a caller, then what is right, and end with 0 whenever SIGTERM comes', async (test) => {
      test.diagnostic(`START_SEED=${SEED}`);
      const random = randomFrom(SEED);
      const roundsWanted = Number(process.env.START_ROUNDS ?? Math.ceil(MOMENTS / processes));
      const world = await StartsAndStops.open(kind, processes);
      const begun = performance.now();
      const first = await world.start();
      await world.ready(first);
      const longestMs = LONGER * (performance.now() - begun);
      await world.openAllDoors();
      await stopAll(world, first);
      for (let round = 0; round < roundsWanted; round += 1) {
        const started = await world.start();
        await stopAll(world, started, () => random() * longestMs);
      }
      const last = await world.start();
      await world.ready(last);
      await stopAll(world, last);
      await world.close();
    });
  });
}

/** A moment can be so much later than a start takes: one of three falls on a process that is ready. */
const LONGER = 1.5;

type Started = Awaited<ReturnType<StartsAndStops['start']>>;

async function stopAll(world: StartsAndStops, started: Started, afterMs = () => 0): Promise<void> {
  await Promise.all(
    started.map(async ({ server }) => {
      await delay(afterMs());
      server.process.kill('SIGTERM');
    }),
  );
  await world.gone(started);
}
