import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { NamedQuery } from '../../store/rows-port.ts';
import { itemsOf, listOf } from '../../store/sql/lists.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import type { Stage } from './conformance-stage.ts';

const named = (sql: string): NamedQuery => ({ name: 'test', sql });
const LONG = named(
  'select count(*) as count from generate_series(1, 100000) as a (n), generate_series(1, 100000) as b (m) where a.n * b.m % 7 = 3',
);

export function rowsConformance(stage: Stage): void {
  const ask = <Row>(sql: string, parameters: readonly (string | number | boolean | null)[] = []) =>
    stage.store.rows.query<Row>(named(sql), parameters);

  describe('questions about imported rows', () => {
    beforeEach(() => stage.fresh());

    it('are answered with numbers, texts, booleans and nulls', async () => {
      const sql = `select cast($1 as bigint) * 2 as doubled, cast($2 as double precision) / 4 as part, cast($3 as text) as said, cast($4 as boolean) as yes, cast($5 as text) as nothing, cast(sum(n) as bigint) as total from (select 4000000000000 as n union all select 1) as numbers`;
      const row = { doubled: 14, part: 0.625, said: "it's", yes: true, nothing: null, total: 4000000000001 };
      assert.deepEqual(await ask(sql, [7, 2.5, "it's", true, null]), [row]);
    });

    it('divide integers without rest, and sort absent values last, or first in descending order', async () => {
      assert.deepEqual(await ask('select 7 / 2 as a, -7 / 2 as b'), [{ a: 3, b: -3 }]);
      const from = 'from (select 1 as n union all select null union all select 2) as numbers order by n';
      const order = async (sql: string) => (await ask<{ n: number | null }>(sql)).map(({ n }) => n);
      assert.deepEqual(await order(`select n ${from}`), [1, 2, null]);
      assert.deepEqual(await order(`select n ${from} desc`), [null, 2, 1]);
    });

    it('are refused where no number holds the answer, and name the query that failed', async () => {
      await assert.rejects(ask('select 9007199254740993 as n'), /9007199254740993/);
      await assert.rejects(ask('select nobody from nowhere'), /"test" failed/);
    });

    it('take lists of any texts as one parameter', async () => {
      const text = fc.oneof(fc.string(), fc.constantFrom('', '\x1e', '\x1f', '\x1e1', '\x1ee', "'", 'ä\x1f\x1e0'));
      const sql = `select item from ${itemsOf('$1')} as items`;
      await fc.assert(
        fc.asyncProperty(fc.array(text.filter((text) => !text.includes('\0'))), async (texts) => {
          const items = await ask<{ item: string }>(sql, [listOf(texts)]);
          assert.deepEqual(items.map(({ item }) => item).sort(), texts.toSorted());
        }),
        { numRuns: rounds(15, 300) },
      );
      const numbers = await ask(`select item from ${itemsOf('$1', 'bigint')} as items order by item`, [
        listOf([3, -1]),
      ]);
      assert.deepEqual(numbers, [{ item: -1 }, { item: 3 }]);
    });

    it('of one read see one state, and as many rows as there are', async () => {
      const found = await stage.store.rows.read(async ({ query }) => [
        ...(await query<{ n: number }>(named('select count(*) as n from users'))),
        ...(await query<{ n: number }>(named('select n from generate_series(1, 10000) as numbers (n) order by n'))),
      ]);
      assert.deepEqual([found.length, found[0]?.n, found.at(-1)?.n], [10_001, 0, 10_000]);
    });

    it('end when the caller goes away, also while they wait, and others are answered', async () => {
      const tables = stage.store.rows;
      await tables.ready();
      const callers = Array.from({ length: 4 }, () => new AbortController());
      const asked = callers.map(({ signal }) => assert.rejects(tables.query(LONG, [], { signal }), /went away/));
      const other = ask('select 1 as one');
      for (const caller of callers.toReversed()) caller.abort(new Error('went away'));
      await Promise.all(asked);
      assert.deepEqual(await other, [{ one: 1 }]);
      await assert.rejects(
        tables.query(LONG, [], { signal: AbortSignal.abort(new Error('gone before')) }),
        /gone before/,
      );
    });
  });
}
