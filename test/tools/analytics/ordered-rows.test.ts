import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NONE, OrderedRows } from '../../../tools/analytics/model/ordered-rows.ts';
import { countBefore } from '../../../tools/analytics/model/previous.ts';
import { SummedRows } from '../../../tools/analytics/model/summed-rows.ts';
import { fc } from '../../support/property.ts';
import { RUNS } from './rounds.ts';

/** Rows with few different numbers, so that many are equal; in order, backwards, or anyhow. */
const tables = fc
  .record({
    seed: fc.nat(),
    size: fc.constantFrom(3, 40, 300, 1500),
    order: fc.constantFrom('up', 'down', 'any'),
    distinct: fc.constantFrom(1, 7, 500),
  })
  .map(({ seed, size, order, distinct }) => {
    let state = (seed % 2147483646) + 1;
    const random = (below: number) => {
      state = (state * 48271) % 2147483647;
      return state % below;
    };
    const major = Array.from({ length: size }, () => random(distinct));
    if (order !== 'any') major.sort((a, b) => (order === 'up' ? a - b : b - a));
    return { major, minor: major.map(() => random(5)), random };
  });

describe('rows in order', () => {
  it('are those put in and not taken out, by both numbers and their own', () => {
    fc.assert(
      fc.property(tables, ({ major, minor, random }) => {
        const rows = new OrderedRows(
          (row) => major[row] ?? 0,
          (row) => minor[row] ?? 0,
        );
        const compare = (a: number, b: number) =>
          (major[a] ?? 0) - (major[b] ?? 0) || (minor[a] ?? 0) - (minor[b] ?? 0) || a - b;
        const there = new Set<number>();
        for (const row of major.keys()) {
          rows.insert(row);
          there.add(row);
          const gone = random(row + 1);
          if (random(3) > 0 || !there.delete(gone)) continue;
          rows.delete(gone);
        }
        const sorted = [...there].sort(compare);
        assert.deepEqual([...rows.ascending(Number.NEGATIVE_INFINITY)], sorted);
        assert.deepEqual([...rows.descending(Number.POSITIVE_INFINITY)], sorted.toReversed());
        for (const [at, row] of sorted.entries()) {
          assert.deepEqual(rows.around(row), { before: sorted[at - 1] ?? NONE, after: sorted[at + 1] ?? NONE });
        }
        for (let time = 0; time < 20; time += 1) {
          const [a, b, c] = [random(510), random(6), random(6)];
          const isFrom = (row: number) => (major[row] ?? 0) > a || (major[row] === a && (minor[row] ?? 0) >= b);
          assert.equal(rows.first(a, b), sorted.find(isFrom) ?? NONE);
          assert.equal(rows.descending(a, b).next().value ?? NONE, sorted.findLast((row) => !isFrom(row)) ?? NONE);
          const within = sorted.filter((row) => isFrom(row) && major[row] === a && (minor[row] ?? 0) < Math.max(b, c));
          assert.equal(rows.count(a, b, Math.max(b, c)), within.length);
        }
      }),
      { ...RUNS, numRuns: 100 },
    );
  });

  it('keep their values, and what is counted by these is what it is row by row', () => {
    fc.assert(
      fc.property(tables, ({ major, random }) => {
        const rows = new SummedRows(
          (row) => major[row] ?? 0,
          (_, values) => ({ sorted: values.toSorted() }),
        );
        const values = new Map<number, number>();
        for (const row of major.keys()) {
          values.set(row, random(500));
          rows.insert(row, values.get(row));
          const other = random(row + 1);
          if (random(4) === 0 && values.delete(other)) rows.delete(other);
          else if (random(4) === 0 && values.has(other))
            rows.setValue(other, values.set(other, random(500)).get(other) ?? 0);
          if (random(200) === 0) rows.settle(Number.POSITIVE_INFINITY);
        }
        for (let time = 0; time < 20; time += 1) {
          const [from, to, limit] = [random(510), random(510), random(510)];
          let count = 0;
          rows.each(from, to, (stretch) => {
            count += countBefore(stretch, limit);
          });
          const expected = [...values].filter(([row, value]) => {
            const place = major[row] ?? 0;
            return place >= from && place < to && value < limit;
          });
          assert.equal(count, expected.length);
        }
      }),
      { ...RUNS, numRuns: 100 },
    );
  });
});
