import assert from 'node:assert/strict';
import type { ErrorBody } from '../../../resources/error.ts';
import type { RowType } from '../../../resources/imported-rows.ts';
import type { ImportedRow } from '../../../store/rows/records.ts';
import type { LoadedPart } from '../../../store/sql/writing/load.ts';
import { checkRow } from '../../../tools/analytics/import-records.ts';
import { catalog } from '../../../tools/catalog.ts';
import { createModels } from '../../../tools/core/models/models.ts';
import { createRegistry } from '../../../tools/core/registry/registry.ts';
import { Telemetry } from '../../../tools/core/telemetry/telemetry.ts';
import { kinds } from '../../../tools/kinds.ts';
import { closedAtEnd } from '../../support/at-end.ts';
import { fc } from '../../support/property.ts';
import { openTestRegistry, principalOf } from '../../support/registry.ts';
import { onPostgres } from '../../support/store.ts';
import { memoryTables, postgresTables, type WorldTables } from './world-tables.ts';

const IMPORTED = '2026-07-01T00:00:00.000Z';

/** The type of a row that removes a user. */
export const USER_PURGE = 'purge';
export type Raw = Readonly<Record<string, unknown>>;
export type World = readonly { readonly type: RowType | typeof USER_PURGE; readonly row: Raw }[];

/** Rows of the store that the run is on: in PostgreSQL, or in the memory of this process. */
async function ownTables(): Promise<WorldTables> {
  return onPostgres ? postgresTables() : memoryTables();
}

/** Asks the tools about rows that are in no store: a new world costs nothing. */
export async function openWorlds(now: string, settings: object, given?: WorldTables) {
  const tables = given ?? (await ownTables());
  const under = await openTestRegistry(() => new Date(now));
  const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
  const updated = await under.call(admin, 'update_settings', { currency: 'EUR', ...settings });
  assert.ok('output' in updated, JSON.stringify(updated));
  /** Settles when the tables hold the world. */
  let entered: Promise<unknown> = Promise.resolve();
  const registry = createRegistry({
    store: under.store,
    server: {
      name: 'test',
      version: '0.0.0',
      protocolVersions: [],
      startedAt: new Date(now),
      catalog,
      kinds,
      audit: under.store.audit,
      storeKind: 'none',
      storeStatus: () => under.store.status(),
      models: createModels(),
      telemetry: new Telemetry(),
      now: () => new Date(now),
      rows: tables.rows,
      files: under.store.files,
    },
    onFailure: (cause) => console.error(cause),
  });
  return {
    enter(world: World) {
      entered = entered.then(() => tables.load(partsOf(world)));
    },
    /** More rows for the data that may have been asked already. */
    add(world: World) {
      entered = entered.then(() => tables.write(partsOf(world)));
    },
    // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
    async ask(tool: string, input: object): Promise<any> {
      await entered;
      const asked = { principal: admin, tool, input: askable(tool, input), door: 'mcp', requestId: 'test' } as const;
      const answer = await registry.call(asked);
      assert.ok(answer.ok, JSON.stringify(answer));
      return answer.output;
    },
    async refused(tool: string, input: object): Promise<ErrorBody> {
      await entered;
      const answer = await registry.call({ principal: admin, tool, input, door: 'mcp', requestId: 'test' });
      assert.ok(!answer.ok, JSON.stringify(answer));
      return answer.error;
    },
    /** What making the derived tables anew finds. */
    async rebuild() {
      await entered;
      return tables.rows.rebuild();
    },
    close: closedAtEnd(async () => {
      await entered;
      await tables.close();
      await under.close();
    }),
  };
}

/** The world as its rows came, those of a type together where no user was removed in between. */
function partsOf(world: World): LoadedPart[] {
  const parts: LoadedPart[] = [];
  let open = new Map<RowType, ImportedRow[]>();
  const flush = () => {
    for (const [type, rows] of open) parts.push({ type, rows, at: IMPORTED });
    open = new Map();
  };
  for (const { type, row } of world) {
    if (type === USER_PURGE) {
      flush();
      parts.push({ erased: [String(row.uid)] });
      continue;
    }
    const checked = checkRow(type, row);
    assert.ok('row' in checked, JSON.stringify([type, row, checked]));
    const rows = open.get(type) ?? [];
    rows.push(checked.row);
    open.set(type, rows);
  }
  flush();
  return parts;
}

/** The question without the interval where the tool answers for the whole range. */
export function askable(tool: string, input: object): object {
  const takesInterval = 'interval' in (catalog.get(tool)?.tool.input.shape ?? {});
  const { interval: _, ...rest } = input as { interval?: unknown }; // whatever else it asks stays
  return takesInterval ? input : rest;
}

export const zones = fc.constantFrom(
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'America/Santiago',
  'Pacific/Auckland',
);

const dates = new Map<string, string>();

/** Written apart from the tools: what a clock in the zone shows, asked of the runtime in another way. */
export function localDate(zone: string, time: number): string {
  const key = `${zone} ${time}`;
  let found = dates.get(key);
  if (found === undefined) {
    found = new Date(time).toLocaleDateString('sv-SE', { timeZone: zone });
    dates.set(key, found);
  }
  return found;
}

/** The dates from `from` to before `to`. */
export function datesBetween(from: string, to: string): string[] {
  const found: string[] = [];
  for (let time = Date.parse(from); time < Date.parse(to); time += 86_400_000)
    found.push(new Date(time).toISOString().slice(0, 10));
  return found;
}

/** Dates by the calendar interval they are in, oldest first. */
export function naivePeriods(from: string, to: string, interval: string): string[][] {
  const groups = new Map<string, string[]>();
  for (const date of datesBetween(from, to)) {
    const weekday = (new Date(date).getUTCDay() + 6) % 7;
    const monday = new Date(Date.parse(date) - weekday * 86_400_000).toISOString().slice(0, 10);
    const key = interval === 'day' ? date : interval === 'week' ? monday : date.slice(0, 7);
    groups.set(key, [...(groups.get(key) ?? []), date]);
  }
  return [...groups.values()];
}

export function close(actual: number | null, expected: number | null, within = 1e-9, what = ''): void {
  if (actual === null || expected === null) assert.equal(actual, expected, what);
  else
    assert.ok(
      Math.abs(actual - expected) <= within * Math.max(1, Math.abs(expected) / 100),
      `${what}: ${actual} instead of ${expected}`,
    );
}

/** The same rows in another order. */
export const shuffled = (world: World, order: readonly number[]): World =>
  world
    .map((row, at) => ({ row, place: order[at % order.length] ?? 0 }))
    .sort((a, b) => a.place - b.place)
    .map(({ row }) => row);
