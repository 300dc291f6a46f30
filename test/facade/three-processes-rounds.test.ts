// alone: three servers and a database of its own, which it kills
import { after, before, describe, it } from 'node:test';
import { FULL, rounds } from '../support/full.ts';
import { withoutPostgres } from '../support/postgres.ts';
import { ThreeProcesses } from './three-processes.ts';

const ROUNDS = rounds(5, 20);

describe('three processes on one database', { skip: withoutPostgres }, () => {
  if (!FULL) return;
  const world = new ThreeProcesses();
  before(() => world.open());
  after(() => world.close());

  it(`lose and repeat nothing in ${ROUNDS} rounds of a kill, cut connections, a start and a restart of the database`, async (test) => {
    const { ledger } = world;
    const started = performance.now();
    let longest = 0;
    world.load();
    for (let round = 0; round < ROUNDS; round += 1) {
      const disturbances = [
        () => world.kill(round % 3),
        () => world.cutConnections(),
        () => world.start(round % 3),
        () => world.restartDatabase(),
      ];
      for (const disturb of disturbances) {
        ledger.takeGap();
        await disturb();
        await world.progress(10);
        longest = Math.max(longest, ledger.takeGap());
      }
    }
    await world.unload();
    const loaded = performance.now();
    await world.check();
    const [under, after] = [loaded - started, performance.now() - loaded].map((ms) => Math.round(ms / 1000));
    const { documents, runs } = ledger;
    test.diagnostic(
      `${documents.size} documents and ${runs.size} runs in ${under} s; no answer for ${longest} ms at most`,
    );
    test.diagnostic(`the last run ended at most ${after} s later`);
  });
});
