import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fc } from './property.ts';

describe('a property', () => {
  it('that is cut short fails, though no run of it did', async () => {
    const slow = fc.asyncProperty(fc.nat(), () => setTimeout(5));
    const limits = [{ interruptAfterTimeLimit: 20 }, { skipAllAfterTimeLimit: 20, interruptAfterTimeLimit: 20 }];
    for (const limit of limits) await assert.rejects(fc.assert(slow, { numRuns: 1000, ...limit }), /interrupted/i);
    await fc.assert(slow, { numRuns: 3 });
  });
});
