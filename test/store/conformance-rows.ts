import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { LoggedRow, NewLoggedRow } from '../../store/port.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
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

    it('that were dropped are gone, and the others keep their positions and their order', async () => {
      await append(rowsOf(0, 50, 3000));
      const before = await stage.store.rows.read(0, 50);
      const position = (at: number) => before[at]?.position ?? -1;
      await stage.store.rows.drop([position(0), position(7), position(49), 1e15]);
      const left = before.filter((_, at) => at !== 0 && at !== 7 && at !== 49);
      const plain = (rows: readonly LoggedRow[]) => rows.map(({ next: _, ...row }) => row);
      assert.deepEqual(plain(await stage.store.rows.read(0, 100)), plain(left));
      assert.deepEqual(await stage.store.rows.read(before[49]?.next ?? 0, 10), []);
      await append(rowsOf(50, 3));
      const ids = left.map(({ row }) => String(row.id));
      assert.deepEqual(await all(10), [...ids, 'v50', 'v51', 'v52']);
      // Who had read up to the dropped ones goes on with the new ones.
      assert.deepEqual(
        (await stage.store.rows.read(before[49]?.next ?? 0, 10)).map(({ row }) => row.id),
        ['v50', 'v51', 'v52'],
      );
      assert.deepEqual((await stage.store.rows.read(before[6]?.next ?? 0, 1))[0]?.row.id, 'v8');
      for (let start = 0; start < 2; start += 1) {
        const asked = [48, 7, 1, 30].map(position);
        assert.deepEqual(
          plain(await stage.store.rows.get(asked)),
          plain([before[48], before[1], before[30]].flatMap((row) => row ?? [])),
        );
        await stage.reopen();
      }
      const newest = await stage.store.rows.read(before[49]?.next ?? 0, 10);
      await stage.store.rows.drop([...left.slice(5), ...newest.slice(1)].map((row) => row.position));
      await stage.store.rows.drop([]);
      assert.deepEqual(await all(), [...ids.slice(0, 5), 'v50']);
      assert.deepEqual((await stage.store.rows.get([newest[0]?.position ?? 0]))[0]?.row.id, 'v50');
    });

    it('are dropped, added and read at once like one after the other', async () => {
      const choice = fc.record({ kind: fc.constantFrom('append', 'drop', 'read', 'reopen'), n: fc.nat(30) });
      await fc.assert(
        fc.asyncProperty(fc.array(choice, { maxLength: 25 }), async (choices) => {
          await stage.fresh();
          const model = new Map<number, string>();
          let from = 0;
          const running: Promise<unknown>[] = [];
          for (const [step, { kind, n }] of choices.entries()) {
            if (kind === 'append') running.push(append(rowsOf(step * 100, n + 1, n * n * 100)));
            if (kind === 'drop') {
              const gone = [...model.keys()].filter((_, at) => at % 3 === n % 3);
              for (const position of gone) model.delete(position);
              running.push(stage.store.rows.drop(gone));
            }
            if (kind === 'reopen') {
              await Promise.all(running.splice(0));
              await stage.reopen();
            }
            if (kind === 'reopen' || kind === 'append') continue;
            for (const { position, next, row } of await stage.store.rows.read(from, 50)) {
              model.set(position, String(row.id));
              from = next;
            }
            const places = [...model.keys()].reverse();
            const found = (await stage.store.rows.get(places)).map(({ row }) => row.id);
            assert.deepEqual(
              found,
              places.map((place) => model.get(place)),
            );
          }
          await Promise.all(running);
          const read = await stage.store.rows.read(0, 5000);
          assert.deepEqual(
            read.filter(({ position }) => position < from).map(({ row }) => row.id),
            [...model.values()],
          );
        }),
        { numRuns: rounds(20, 60) },
      );
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
        { numRuns: rounds(4, 10) },
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
