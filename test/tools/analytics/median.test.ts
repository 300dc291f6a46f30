import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { median, medianOfSorted } from '../../../tools/analytics/model/median.ts';
import { fc } from '../../support/property.ts';
import { RUNS } from './rounds.ts';

const lists = fc
  .record({
    seed: fc.nat(),
    lengths: fc.array(fc.constantFrom(0, 1, 2, 50, 400), { maxLength: 8 }),
    distinct: fc.constantFrom(1, 3, 100, 1_000_000),
  })
  .map(({ seed, lengths, distinct }) => {
    let state = (seed % 2147483646) + 1;
    const random = () => {
      state = (state * 48271) % 2147483647;
      // Half of them are the same, as durations are.
      return state % 2 === 0 ? 0 : state % distinct;
    };
    return lengths.map((length) => Float64Array.from({ length }, random));
  });

function naive(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

describe('a median', () => {
  it('is the middle of the numbers, or of the two in the middle', () => {
    fc.assert(
      fc.property(lists, (all) => {
        const values = all.flatMap((list) => [...list]);
        assert.equal(median(values), naive(values));
      }),
      RUNS,
    );
  });

  it('of sorted lists is that of all their numbers', () => {
    fc.assert(
      fc.property(lists, (all) => {
        const values = all.flatMap((list) => [...list]);
        assert.equal(medianOfSorted(all.map((list) => list.toSorted())), naive(values));
      }),
      RUNS,
    );
  });
});
