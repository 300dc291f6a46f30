import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as round } from 'node:timers/promises';
import { batchedEnd } from '../../facade/http/batched-end.ts';
import { FairQueue } from '../../facade/http/fair-queue.ts';

describe('FairQueue', () => {
  it('gives one turn in a round of the event loop, to each caller after the others', async () => {
    const turns = new FairQueue();
    const taken: string[] = [];
    const waiting = ['a', 'a', 'a', 'a', 'b', 'c', 'b'].map((caller) =>
      turns.next(caller).then(() => taken.push(caller)),
    );
    const seen: number[] = [];
    while (taken.length < waiting.length) {
      seen.push(taken.length);
      await round();
    }
    await Promise.all(waiting);
    assert.equal(taken.join(' '), 'a b c a b a a');
    for (const [at, count] of seen.entries()) assert.ok(count <= at, seen.join(' '));
  });

  it('leaves others far more time than a long turn took, if there are any', async () => {
    const turns = new FairQueue();
    /** Milliseconds between a turn that counts as 50 and the next one, where others get so many answers in each round. */
    async function restBeside(answers: number): Promise<number> {
      await turns.next('a', 50);
      const began = performance.now();
      let isNext = false;
      const next = turns.next('a').then(() => {
        isNext = true;
      });
      while (!isNext) {
        for (let count = 0; count < answers; count += 1) {
          batchedEnd(new ServerResponse(new IncomingMessage(new Socket())), '');
        }
        await round();
      }
      await next;
      return performance.now() - began;
    }
    const alone = Math.min(await restBeside(0), await restBeside(0), await restBeside(0));
    assert.ok((await restBeside(1)) > 3 * alone);
  });

  it('begins again when it had nothing to do', async () => {
    const turns = new FairQueue();
    for (let count = 0; count < 3; count += 1) await turns.next('a');
    await Promise.all([turns.next('a', 2), turns.next('b')]);
  });
});
