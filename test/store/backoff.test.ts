import assert from 'node:assert/strict';
import { it } from 'node:test';
import { backoffMs } from '../../store/backoff.ts';

it('a pause doubles with each failure up to the longest, and is a number after any count of them', () => {
  const after = (firstMs: number) =>
    [0, 1, 3, 4, 2000].map((failures) => backoffMs(failures, { firstMs, longestMs: 9 }));
  assert.deepEqual(after(1), [1, 2, 8, 9, 9]);
  assert.deepEqual(after(0), [0, 0, 0, 0, 0]);
});
