import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Table } from '../../../tools/analytics/model/tables.ts';

describe('a table that grows', () => {
  it('keeps what was written to any row, also while larger arrays are filled', () => {
    const table = new Table({ big: 'float', small: 'int' });
    const model: { big: number; small: number }[] = [];
    let state = 5;
    const random = (below: number) => {
      state = (state * 48271) % 2147483647;
      return state % below;
    };
    for (let step = 0; step < 150_000; step += 1) {
      const values = { big: random(1e9) / 7, small: random(1e9) };
      model[table.push(values)] = values;
      const row = random(model.length);
      const big = random(1e9) / 3;
      table.set('big', row, big);
      model[row] = { small: model[row]?.small ?? 0, big };
      if (step % 10 === 0) table.free(row);
    }
    assert.equal(table.size, model.length);
    for (const [row, { big, small }] of model.entries()) {
      assert.deepEqual([table.at('big', row), table.at('small', row)], [big, small]);
    }
  });
});
