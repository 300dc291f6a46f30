import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { RowType } from '../../resources/imported-rows.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import type { ImportedRow } from '../../store/rows/records.ts';
import { analyticsTools } from '../../tools/analytics/tools.ts';
import { catalog } from '../../tools/catalog.ts';
import { createRegistry } from '../../tools/registry/registry.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { principalOf, testFacts } from '../support/registry.ts';
import { events, FUNNEL, NOW, subscriptions, users, visits, websites } from './analytics-rows.ts';

/**
 * What each metric costs over a year by day in another time zone, over 10,000 and 1,000,000 visits (BENCH_VISITS=10000000 for more) with
 * 100,000 users and subscriptions: first and second answer, after an import of 1,000 rows, and beside it plain SQL of the same engine for
 * one pass over the visits of the year. Run with `npx tsx test/bench/analytics.ts`.
 */
const SIZES = (process.env.BENCH_VISITS ?? '10000,1000000').split(',').map(Number);
const USERS = Number(process.env.BENCH_USERS ?? 100_000);
const BATCH = 10_000;
const YEAR = { from: '2025-06-01', to: '2026-06-01', interval: 'day', timezone: 'America/New_York' };

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

/** How long the work took, and the longest stretch for which it held the event loop. */
async function timed<Result>(work: () => Promise<Result>) {
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.reset();
  const started = performance.now();
  const result = await work();
  const ms = performance.now() - started;
  await new Promise((resolve) => setTimeout(resolve, 5));
  return { result, ms, stall: delay.max / 1e6 };
}

const megabytes = () => Math.round(process.memoryUsage().rss / 1e6);
const round = (value: number) => Math.round(value * 10) / 10;

async function importRows(store: Store, type: RowType, rows: Iterable<ImportedRow>): Promise<void> {
  let batch: ImportedRow[] = [];
  const write = async () => {
    const staged = await store.rows.stage({ type, rows: batch, at: new Date(NOW).toISOString() });
    await store.transaction(async (tx) => tx.rows.commit(staged));
    batch = [];
  };
  for (const row of rows) if (batch.push(row) === BATCH) await write();
  if (batch.length > 0) await write();
}

/** A folder with all rows in it. */
async function fill(count: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-admin-bench-'));
  const store = await openLowdbStore({ folder });
  await prepareSettings(store);
  await importRows(store, 'users', users(USERS));
  await importRows(store, 'subscriptions', subscriptions(USERS));
  await importRows(store, 'websites', websites(USERS / 5));
  await importRows(store, 'events', events(count * 0.3, USERS));
  await importRows(store, 'visits', visits(count, USERS));
  await store.close();
  return folder;
}

function deskOn(store: Store) {
  let now = NOW;
  const server = testFacts(store, { catalog, now: () => new Date(now) });
  const registry = createRegistry({ store, server, onFailure: (cause) => console.error(cause) });
  const principal = principalOf({ type: 'api-key', id: 'key_bench', scopes: ['admin'] });
  return {
    /** From now on no kept answer is given again. */
    later() {
      now += 60_000;
    },
    async ask(tool: string, input: object) {
      const answer = await registry.call({ principal, tool, input, door: 'mcp', requestId: 'bench' });
      assert.ok(answer.ok, JSON.stringify(answer));
    },
  };
}

const PASS = {
  name: 'one pass',
  sql: 'select count(distinct visitor) as visitors, count(*) as visits from visits where at_ms >= $1 and at_ms < $2',
};

for (const count of SIZES) {
  const filling = await timed(() => fill(count));
  const folder = filling.result;
  console.log(`\n${count} visits, ${USERS} users and subscriptions. Imported in ${round(filling.ms / 1000)} s.`);
  const opening = await timed(() => openLowdbStore({ folder }));
  const store = opening.result;
  const first = await timed(() => store.rows.ready());
  console.log(`Start ${round(opening.ms)} ms, rows open in the background after ${round(first.ms)} ms.`);
  const { ask, later } = deskOn(store);
  const analytics = {
    features: { export: ['export'], sites: FUNNEL.slice(1, 3) },
    funnel: FUNNEL,
    activityEvents: 'all',
  };
  await ask('update_settings', { currency: 'EUR', timezone: 'Europe/Berlin', analytics });
  const year = [Date.parse(YEAR.from), Date.parse(YEAR.to)];
  await store.rows.query(PASS, year);
  const pass = await timed(() => store.rows.query(PASS, year));
  console.log(`One pass in plain SQL: ${round(pass.ms)} ms.`);
  const table = [];
  for (const [place, { name, input }] of analyticsTools.entries()) {
    const { interval, ...range } = YEAR;
    const question = 'interval' in input.shape ? { ...range, interval } : range;
    const asked = await timed(() => ask(name, question));
    const kept = await timed(() => ask(name, question));
    later();
    const again = await timed(() => ask(name, question));
    const imported = await timed(() => importRows(store, 'visits', visits(1000, USERS, 1000 + place)));
    const after = await timed(() => ask(name, question));
    const stall = Math.max(...[asked, kept, again, after].map((one) => one.stall));
    table.push({
      metric: name,
      'first ms': round(asked.ms),
      'kept ms': round(kept.ms),
      'again ms': round(again.ms),
      'import of 1000 ms': round(imported.ms),
      'after it ms': round(after.ms),
      'longest stall ms': round(stall),
    });
  }
  console.table(table);
  console.log(`${megabytes()} MB resident.`);
  await store.close();
  await rm(folder, { recursive: true, force: true });
}
