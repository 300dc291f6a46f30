import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { NewLoggedRow, Store } from '../../store/port.ts';
import { ImportedData } from '../../tools/analytics/model/imported-data.ts';
import { analyticsTools } from '../../tools/analytics/tools.ts';
import { catalog } from '../../tools/catalog.ts';
import { kinds } from '../../tools/kinds.ts';
import { createModels } from '../../tools/models/models.ts';
import { createRegistry } from '../../tools/registry/registry.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { principalOf } from '../support/registry.ts';
import { events, FUNNEL, NOW, subscriptions, users, visits, websites } from './analytics-rows.ts';

/**
 * What each metric costs over 10,000 and 1,000,000 visits, with 100,000 users and subscriptions, in a store that was opened again. The baseline
 * is one pass over the visits of the year in plain arrays with a set of visitors, in the same run. Run with `npx tsx test/bench/analytics.ts`.
 */
const SIZES = (process.env.BENCH_VISITS ?? '10000,1000000').split(',').map(Number);
const USERS = Number(process.env.BENCH_USERS ?? 100_000);
const RUNS = 9;
const BATCH = 20_000;
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

const middle = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >>> 1] ?? 0;

setFlagsFromString('--expose-gc');
/** Rows of the bench itself that nobody needs any more are not to count for memory, nor their collection for a stall. */
const collect = runInNewContext('gc') as () => void;

function megabytes(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return Math.round((heapUsed + external) / 1e6);
}

async function append(store: Store, rows: Iterable<NewLoggedRow>): Promise<number> {
  let batch: NewLoggedRow[] = [];
  let count = 0;
  const write = async () => {
    const full = batch;
    batch = [];
    count += full.length;
    await store.transaction(async (tx) => tx.rows.append(full));
  };
  for (const row of rows) if (batch.push(row) === BATCH) await write();
  await write();
  return count;
}

/** A folder with all rows in it, and how many they are. */
async function fill(count: number): Promise<{ folder: string; rows: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-admin-bench-'));
  const store = await openLowdbStore({ folder });
  await prepareSettings(store);
  let rows = await append(store, users(USERS));
  rows += await append(store, subscriptions(USERS));
  rows += await append(store, websites(USERS / 5));
  rows += await append(store, events(count * 0.3, USERS));
  rows += await append(store, visits(count, USERS));
  await store.close();
  return { folder, rows };
}

function deskOn(store: Store, imported: ImportedData) {
  let now = NOW;
  const registry = createRegistry({
    store,
    server: {
      name: 'bench',
      version: '0.0.0',
      protocolVersions: [],
      startedAt: new Date(NOW),
      catalog,
      kinds,
      audit: store.audit,
      imported,
      rows: store.tables,
      models: createModels(),
      storeKind: store.kind,
      storeStatus: () => store.status(),
      now: () => new Date(now),
    },
    onFailure: (cause) => console.error(cause),
  });
  const principal = principalOf({ type: 'api-key', id: 'key_bench', scopes: ['admin'] });
  return async (tool: string, input: object) => {
    // A minute later, so that no kept answer is given again.
    now += 60_000;
    const answer = await registry.call({ principal, tool, input, door: 'mcp', requestId: 'bench' });
    assert.ok(answer.ok, JSON.stringify(answer));
  };
}

/** One pass over everything in the year: what a request would cost without any index. */
function baseline(count: number): number {
  const rows = [...visits(count, USERS)].map(({ row }) => ({ at: Date.parse(String(row.at)), who: row.visitorId }));
  const times = Array.from({ length: RUNS }, () => {
    const started = performance.now();
    const [from, to] = [Date.parse(YEAR.from), Date.parse(YEAR.to)];
    const seen = new Set<unknown>();
    for (const { at, who } of rows) if (at >= from && at < to) seen.add(who);
    return performance.now() - started;
  });
  return middle(times);
}

const round = (value: number) => Math.round(value * 10) / 10;

for (const count of SIZES) {
  const scan = baseline(count);
  const { folder, rows } = await fill(count);
  const store = await openLowdbStore({ folder });
  const before = megabytes();
  const imported = new ImportedData(store.rows);
  const load = await timed(() => imported.current());
  console.log(`\n${count} visits, ${USERS} users and subscriptions, ${rows} rows in all.`);
  console.log(
    `Read after a start: ${round(load.ms / 1000)} s, longest stall ${round(load.stall)} ms, ${megabytes() - before} MB.`,
  );
  console.log(`Baseline, one pass over the visits of a year: ${round(scan)} ms.`);
  const ask = deskOn(store, imported);
  const analytics = {
    features: { export: ['export'], sites: FUNNEL.slice(1, 3) },
    funnel: FUNNEL,
    activityEvents: 'all',
  };
  await ask('update_settings', { currency: 'EUR', timezone: 'Europe/Berlin', analytics });
  const table = [];
  for (const { name } of analyticsTools) {
    const first = await timed(() => ask(name, YEAR));
    const usual = [];
    const year = [];
    for (let run = 0; run < RUNS; run += 1) usual.push(await timed(() => ask(name, {})));
    for (let run = 0; run < RUNS; run += 1) year.push(await timed(() => ask(name, YEAR)));
    await append(store, visits(1000, USERS, 1000 + table.length));
    collect();
    const after = await timed(() => ask(name, YEAR));
    const median = middle(year.map(({ ms }) => ms));
    table.push({
      metric: name,
      'first ms': round(first.ms),
      'usual ms': round(middle(usual.map(({ ms }) => ms))),
      'year by day ms': round(median),
      'to baseline': round(median / scan),
      'after 1000 new visits ms': round(after.ms),
      'longest stall ms': round(Math.max(...[first, ...usual, ...year, after].map(({ stall }) => stall))),
    });
  }
  console.table(table);
  console.log(`${megabytes() - before} MB after all answers.`);
  await store.close();
  await rm(folder, { recursive: true, force: true });
}
