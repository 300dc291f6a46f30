import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RowType } from '../../resources/imported-rows.ts';
import type { Store } from '../../store/port.ts';
import type { ImportedRow, TableRow } from '../../store/rows/records.ts';
import { selectPage, storedColumns } from '../../store/rows/table-rows.ts';
import { derivedTables } from '../../store/sql/derived-tables.ts';
import { type RawTable, rawTables } from '../../store/sql/raw-tables.ts';
import { events, subscriptions, users, visits, websites } from '../bench/analytics-rows.ts';
import type { Stage } from './conformance-stage.ts';

const tables = Object.keys(rawTables) as RawTable[]; // its own members

/** Of the statements, those that replace others, come late, or come again. */
const said: readonly (readonly [RowType, string, readonly ImportedRow[]])[] = [
  ['users', '2026-05-01T00:00:00.000Z', [...users(40)]],
  ['subscriptions', '2026-05-02T00:00:00.000Z', [...subscriptions(40)]],
  ['subscriptions', '2026-05-03T00:00:00.000Z', [...subscriptions(5)].map((row) => ({ ...row, amount: 3100 }))],
  ['subscriptions', '2026-05-04T00:00:00.000Z', statedAt('2026-01-01T00:00:00.000Z', 2100)],
  ['subscriptions', '2026-05-05T00:00:00.000Z', statedAt('2026-01-01T00:00:00.000Z', 2200)],
  ['websites', '2026-05-02T00:00:00.000Z', [...websites(20)]],
  ['events', '2026-05-02T00:00:00.000Z', [...events(120, 40)].map((row) => ({ ...row, properties: { a: 1 } }))],
  ['events', '2026-05-03T00:00:00.000Z', [...events(5, 40)].map((row) => ({ ...row, name: 'renamed' }))],
  ['visits', '2026-05-02T00:00:00.000Z', [...visits(120, 20)]],
  ['visits', '2026-05-02T00:00:00.000Z', [{ ...[...visits(1, 1, 17)][0], channel: 'Poster' }]],
];

function statedAt(effectiveAt: string, amount: number): ImportedRow[] {
  return [...subscriptions(7)].map((row) => ({ ...row, effectiveAt, amount }));
}

async function importAll(store: Store): Promise<void> {
  for (const [type, at, rows] of said) {
    const staged = await store.rows.stage({ type, rows, at });
    await store.transaction(async (tx) => tx.rows.commit(staged));
  }
}

async function restore(store: Store, table: RawTable, rows: readonly TableRow[]): Promise<void> {
  const staged = await store.rows.restore({ table, rows });
  await store.transaction(async (tx) => tx.rows.commit(staged));
}

const kept = (store: Store, table: RawTable) =>
  store.rows.query<TableRow>({ name: 'kept rows', sql: selectPage(table, true) }, [10_000]);

async function consequences(store: Store): Promise<unknown> {
  const sums = `select cast(sum(visitor % 1000003) as bigint) as visitors, cast(sum(person % 1000003) as bigint) as people from visits`;
  const searched = 'select min(searched) as first, max(searched) as last from users';
  const sizes = derivedTables.map(({ name }) => `select '${name}' as name, count(*) as size from ${name}`);
  const all = [sums, searched, ...sizes].map((sql) => store.rows.query({ name: 'consequences', sql }));
  return Promise.all(all);
}

export function restoreConformance(stage: Stage): void {
  describe('rows as another store holds them', () => {
    it('are read part by part, and are the same here, with what follows from them; a repeat changes nothing', async () => {
      await stage.fresh();
      await importAll(stage.store);
      const before = new Map<RawTable, readonly TableRow[]>();
      for (const table of tables) before.set(table, await kept(stage.store, table));
      const followed = await consequences(stage.store);
      for (const table of tables) assert.ok((before.get(table)?.length ?? 0) > 0 || table === 'invoices', table);
      await areReadInParts(stage.store, before.get('subscription_terms') ?? []);

      await stage.fresh();
      for (let round = 0; round < 2; round += 1)
        for (const [table, rows] of before) if (rows.length > 0) await restore(stage.store, table, rows);
      await stage.store.rows.rebuild();
      for (const [table, rows] of before) assert.deepEqual(await kept(stage.store, table), rows, table);
      assert.deepEqual(await consequences(stage.store), followed);
      await laterRowsComeAfter(stage.store);
    });
  });
}

async function areReadInParts(store: Store, all: readonly TableRow[]): Promise<void> {
  const parts: TableRow[] = [];
  for (let last: TableRow | undefined; parts.length < all.length; last = parts.at(-1)) {
    const sql = selectPage('subscription_terms', last === undefined);
    const after = last ? [String(last.id), Number(last.place)] : [];
    const part = await store.rows.query<TableRow>({ name: 'part', sql }, [...after, 7]);
    assert.ok(part.length > 0);
    parts.push(...part);
  }
  assert.deepEqual(parts, all);
  assert.deepEqual(Object.keys(all[0] ?? {}), storedColumns('subscription_terms'));
}

/** Rows that are imported now are the last in the order of arrival. */
async function laterRowsComeAfter(store: Store): Promise<void> {
  const rows = [{ ...[...visits(1, 1, 19)][0], id: 'later' }];
  const staged = await store.rows.stage({ type: 'visits', rows, at: '2026-06-01T00:00:00.000Z' });
  await store.transaction(async (tx) => tx.rows.commit(staged));
  assert.equal((await kept(store, 'visits')).at(-1)?.id, 'later');
}
