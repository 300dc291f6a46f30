// alone: three servers and a database of its own, which it kills
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { FULL } from '../support/full.ts';
import { withoutPostgres } from '../support/postgres.ts';
import { ThreeProcesses } from './three-processes.ts';

const MINUTE_MS = 60_000;

describe('three processes on one database', { skip: withoutPostgres }, () => {
  if (!FULL) return;
  const world = new ThreeProcesses();
  before(() => world.open());
  after(() => world.close());

  it('lose and repeat nothing in a minute in which one is killed and the database is cut off and restarted', async (test) => {
    const { ledger } = world;
    const started = performance.now();
    world.load();
    const disturbances: [string, () => Promise<unknown>][] = [
      ['a process is killed', () => world.kill(1)],
      ['it is back', () => world.start(1)],
      ['all connections are cut', () => world.cutConnections()],
      ['the database is restarted', () => world.restartDatabase()],
    ];
    for (const [what, disturb] of disturbances) {
      await world.progress(60);
      ledger.takeGap();
      await disturb();
      await world.progress(60);
      test.diagnostic(`${what}: no answer for ${ledger.takeGap()} ms`);
    }
    await delay(Math.max(0, MINUTE_MS - (performance.now() - started)));
    await world.unload();
    await world.check();
    const { documents, runs, failures } = ledger;
    test.diagnostic(
      `${documents.size} documents, ${runs.size} runs, ${failures} attempts without an answer or refused`,
    );
  });
});
