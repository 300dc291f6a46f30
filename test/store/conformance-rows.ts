import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import type { NewLoggedRow } from '../../store/port.ts';
import type { Stage } from './conformance-stage.ts';

const at = '2026-03-01T00:00:00.000Z';
const rowsOf = (from: number, count: number, size = 10): NewLoggedRow[] =>
  Array.from({ length: count }, (_, index) => ({
    type: 'visits',
    at,
    row: { id: `v${from + index}`, text: 'ä'.repeat(size) },
  }));

export function rowsConformance(stage: Stage): void {
  const append = (rows: readonly NewLoggedRow[]) => stage.store.transaction(async (tx) => tx.rows.append(rows));

  async function all(step = 1000): Promise<string[]> {
    const ids: string[] = [];
    let from = 0;
    for (;;) {
      const rows = await stage.store.rows.read(from, step);
      const last = rows.at(-1);
      if (!last) return ids;
      ids.push(...rows.map(({ row }) => String(row.id)));
      from = last.next;
    }
  }

  describe('imported rows', () => {
    beforeEach(() => stage.fresh());

    it('are read in the order in which they came, in steps, also after the store was opened again', async () => {
      assert.deepEqual(await stage.store.rows.read(0, 10), []);
      await append(rowsOf(0, 3));
      await append(rowsOf(3, 4));
      const expected = ['v0', 'v1', 'v2', 'v3', 'v4', 'v5', 'v6'];
      assert.deepEqual(await all(2), expected);
      await stage.reopen();
      assert.deepEqual(await all(3), expected);
      await append(rowsOf(7, 1));
      assert.deepEqual(await all(), [...expected, 'v7']);
    });

    it('are found by position', async () => {
      await append(rowsOf(0, 50));
      const rows = await stage.store.rows.read(0, 50);
      const asked = [rows[40], rows[3], rows[49]].map((row) => row?.position ?? -1);
      assert.deepEqual(await stage.store.rows.get(asked), [rows[40], rows[3], rows[49]]);
    });

    it('of any length are whole', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(3_000_000), { maxLength: 3 }), async (sizes) => {
          await stage.fresh();
          for (const [index, size] of sizes.entries()) await append(rowsOf(index, 1, size));
          const rows = await stage.store.rows.read(0, 10);
          assert.deepEqual(
            rows.map(({ row }) => String(row.text).length),
            sizes,
          );
          assert.deepEqual(await stage.store.rows.get(rows.map(({ position }) => position)), rows);
        }),
        { numRuns: 10 },
      );
    });

    it('of a transaction that fails are not there', async () => {
      await append(rowsOf(0, 1));
      const failing = stage.store.transaction(async (tx) => {
        tx.rows.append(rowsOf(1, 1));
        throw new Error('no');
      });
      await assert.rejects(failing, /no/);
      assert.deepEqual(await all(), ['v0']);
    });

    it('of many transactions at once are all there, each once, with the records of their transaction', async () => {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          stage.store.transaction(async (tx) => {
            tx.rows.append(rowsOf(index * 10, 10));
            await tx.skills.insert({ name: `s${index}` });
          }),
        ),
      );
      const ids = await all();
      assert.deepEqual([...new Set(ids)].length, 200);
      assert.equal(ids.length, 200);
      await stage.reopen();
      assert.equal((await all()).length, 200);
      assert.equal(await stage.store.skills.count({}), 20);
    });
  });
}
