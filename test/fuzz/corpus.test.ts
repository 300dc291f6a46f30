import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readCorpus } from './corpus.ts';
import type { World } from './target.ts';
import { targets } from './targets.ts';

for (const [name, target] of Object.entries(targets)) {
  describe(`inputs that fuzzing kept: ${target.about}`, () => {
    let world: World;
    before(async () => {
      world = await target.open();
    });
    after(() => world.close());

    it('are answered as they must be', async () => {
      const kept = readCorpus(name);
      assert.ok(kept.length > 0);
      for (const input of [...target.seeds, ...kept.map((one) => one.input)]) {
        try {
          await world.run(Buffer.from(input, 'latin1'));
        } catch (error) {
          throw new Error(`${name}: ${JSON.stringify(input.slice(0, 500))}: ${error}`, { cause: error });
        }
      }
      await world.settled?.();
    });
  });
}
