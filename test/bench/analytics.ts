import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { RowType } from '../../resources/imported-rows.ts';
import { Engine } from '../../store/duckdb/engine.ts';
import { rowsFile, temporaryFolder } from '../../store/duckdb/files.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { type ImportedRow, recordOf } from '../../store/rows/records.ts';
import { createTable, rawTables } from '../../store/sql/raw-tables.ts';
import { insertRows } from '../../store/sql/writing/batch.ts';
import { analyticsTools } from '../../tools/analytics/tools.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { startBenchPostgres } from './analytics-postgres.ts';
import { events, FUNNEL, NOW, subscriptions, users, visits, websites } from './analytics-rows.ts';
import { callerOn, timed as timedAlone } from './timing.ts';

/**
 * What each metric costs over a year by day in another time zone, over 10,000 and 1,000,000 visits (BENCH_VISITS=10000000 for more, which
 * takes five minutes to fill; BENCH_KEPT names a folder that keeps what was filled for the next run) with 100,000 users and subscriptions:
 * first and second answer, after an import of 1,000 rows, and beside it plain SQL of the same engine for one pass over the visits of the
 * year. Processor time says what a busy machine cannot; it includes that of the server where BENCH_STORE=postgres asks one of its own. Run with
 * `npx tsx test/bench/analytics.ts`.
 */
const SIZES = (process.env.BENCH_VISITS ?? '10000,1000000').split(',').map(Number);
const USERS = Number(process.env.BENCH_USERS ?? 100_000);
const BATCH = 10_000;
const YEAR = { from: '2025-06-01', to: '2026-06-01', interval: 'day', timezone: 'America/New_York' };

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

/** For how long processors worked for the server of the store, where it has one. */
let serverMs = () => 0;

/** The same, with the longest stretch for which the work held the event loop. */
async function timed<Result>(work: () => Promise<Result>) {
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.reset();
  const took = await timedAlone(work, () => serverMs());
  await new Promise((resolve) => setTimeout(resolve, 5));
  return { ...took, stall: delay.max / 1e6 };
}

/** The middle one of several times: work this short differs more from one time to the next than between metrics. */
async function usual(work: () => Promise<void>) {
  const times = [];
  for (let at = 0; at < 9; at += 1) times.push(await timed(work));
  const [middle = assert.fail()] = times.sort((one, other) => one.ms - other.ms).slice(4);
  return middle;
}

const megabytes = () => Math.round(process.memoryUsage().rss / 1e6);
const round = (value: number) => Math.round(value * 10) / 10;

async function importRows(store: Store, type: RowType, rows: Iterable<ImportedRow>): Promise<void> {
  for (const batch of batches(rows)) {
    const staged = await store.rows.stage({ type, rows: batch, at: new Date(NOW).toISOString() });
    await store.transaction(async (tx) => tx.rows.commit(staged));
  }
}

function* batches(rows: Iterable<ImportedRow>): Generator<ImportedRow[], void> {
  let batch: ImportedRow[] = [];
  for (const row of rows) {
    if (batch.push(row) < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Fills the folder. The many rows go straight into their tables, as no import replaces one of them. */
async function fill(folder: string, count: number): Promise<void> {
  const engine = await Engine.open({ path: rowsFile(folder, 1), temporary: temporaryFolder(folder, 1), memoryMb: 512 });
  const writer = await engine.connect();
  for (const [type, rows] of [
    ['events', events(count * 0.3, USERS)],
    ['visits', visits(count, USERS)],
  ] as const) {
    await writer.run(createTable(type, rawTables[type]));
    let seq = 0;
    for (const batch of batches(rows)) {
      const records = batch.map((row) => ({ ...recordOf(type, row), seq: seq++ }));
      await insertRows(writer, type, rawTables[type], records);
    }
  }
  writer.close();
  engine.close();
  await prepare(await openLowdbStore({ folder }));
}

async function prepare(store: Store): Promise<void> {
  await prepareSettings(store);
  await importRows(store, 'users', users(USERS));
  await importRows(store, 'subscriptions', subscriptions(USERS));
  await importRows(store, 'websites', websites(USERS / 5));
  await store.close();
}

/** The same, from what an earlier run kept where BENCH_KEPT names a folder for it. */
async function filled(folder: string, count: number): Promise<void> {
  const { BENCH_KEPT } = process.env;
  if (!BENCH_KEPT) return fillElsewhere(folder, count);
  const kept = join(BENCH_KEPT, `${count}-${USERS}`);
  if (!existsSync(kept)) {
    await mkdir(`${kept}.part`, { recursive: true });
    await fillElsewhere(`${kept}.part`, count);
    await rename(`${kept}.part`, kept);
  }
  await cp(kept, folder, { recursive: true });
}

async function fillElsewhere(folder: string, count: number): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['fill', folder, String(count)]);
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
}

const PASS = {
  name: 'one pass',
  sql: 'select count(distinct visitor) as visitors, count(*) as visits from visits where at_ms >= $1 and at_ms < $2',
};

interface Bench {
  open(): Promise<Store>;
  clear(): Promise<void>;
}

async function inFolder(count: number): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-admin-bench-'));
  await filled(folder, count);
  return { open: () => openLowdbStore({ folder }), clear: () => rm(folder, { recursive: true, force: true }) };
}

async function inPostgres(count: number): Promise<Bench> {
  const server = await startBenchPostgres();
  serverMs = server.processorMs;
  const store = await server.open();
  await server.fill('events', batches(events(count * 0.3, USERS)));
  await server.fill('visits', batches(visits(count, USERS)));
  await store.rows.rebuild();
  await prepare(store);
  await server.settle();
  return { open: server.open, clear: server.stop };
}

async function measure(count: number): Promise<void> {
  const filling = await timed(() => (process.env.BENCH_STORE === 'postgres' ? inPostgres(count) : inFolder(count)));
  console.log(`\n${count} visits, ${USERS} users and subscriptions. Filled in ${round(filling.ms / 1000)} s.`);
  const opening = await timed(() => filling.result.open());
  const store = opening.result;
  const first = await timed(() => store.rows.ready());
  console.log(`Start ${round(opening.ms)} ms, rows open in the background after ${round(first.ms)} ms.`);
  let now = NOW;
  const ask = callerOn(store, () => new Date(now));
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
    const kept = await usual(() => ask(name, question));
    now += 60_000; // no kept answer is given again
    const again = await timed(() => ask(name, question));
    const imported = await timed(() => importRows(store, 'visits', visits(1000, USERS, 1000 + place)));
    const after = await timed(() => ask(name, question));
    const stall = Math.max(...[asked, kept, again, after].map((one) => one.stall));
    table.push({
      metric: name,
      'first ms': round(asked.ms),
      'of processors': round(asked.cpuMs),
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
  await filling.result.clear();
}

const [, , wish, folder = '', count] = process.argv;
if (wish === 'fill') await fill(folder, Number(count));
else for (const size of SIZES) await measure(size);
