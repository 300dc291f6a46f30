import { rm } from 'node:fs/promises';
import pg from 'pg';
import { agentRecord } from '../store/records.ts';
import { dataFolder, onPostgres, openStoreIn, storeOfRun } from '../support/store.ts';
import { startBenchPostgres } from './analytics-postgres.ts';
import { quantile, timed } from './timing.ts';

/**
 * What a page of a sorted list costs beside one in the default order. Run with `npx tsx test/bench/sorted-lists.ts`, for PostgreSQL with
 * `TEST_STORE=postgres`; `BENCH_RECORDS` is the number of agents.
 */
const COUNT = Number(process.env.BENCH_RECORDS ?? 100_000);
const BATCH = 10_000;
const LIMIT = 50;
const ROUNDS = 50;

const server = onPostgres ? await startBenchPostgres() : undefined;
const folder = await dataFolder();
const store = server ? await server.open() : await openStoreIn(folder);
const { agents } = store;
for (let from = 0; from < COUNT; from += BATCH) {
  await store.transaction(async (tx) => {
    await tx.agents.insertAll(
      Array.from({ length: Math.min(BATCH, COUNT - from) }, (_, at) => {
        const n = ((from + at) * 7919) % COUNT;
        const of = { status: n % 10 ? 'active' : 'paused', skillIds: n % 100 ? [] : ['skl_rare'] } as const;
        return agentRecord(`agent-${n}`, { ...of, displayName: `${n % 3 ? 'É' : 'e'}milie ${n}` });
      }),
    );
  });
}

if (server) {
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query('vacuum analyze agents');
  await client.end();
}

const orders = [undefined, 'name', 'displayName', 'updatedAt'] as const;
const filters = { all: {}, active: { status: 'active' }, 'one in a hundred': { skillIds: 'skl_rare' } } as const;
const rows = [];
for (const by of orders) {
  const sort = by && { by, isDescending: false };
  for (const [name, where] of Object.entries(filters)) {
    const query = { where, limit: LIMIT, ...(sort && { sort }) };
    const longestWait = watchWaits();
    const { ms: first } = await timed(() => agents.find(query));
    const wait = longestWait();
    const times = { first: [] as number[], later: [] as number[] };
    let { next } = await agents.find(query);
    for (let round = 0; round < ROUNDS; round += 1) {
      times.first.push((await timed(() => agents.find(query))).ms);
      const { result, ms } = await timed(() => agents.find({ ...query, after: next ?? undefined }));
      times.later.push(ms);
      next = result.next;
    }
    const shown = (list: readonly number[]) => Number(quantile(list).toFixed(2));
    rows.push({
      store: storeOfRun,
      by: by ?? 'newest',
      filter: name,
      'very first ms': Number(first.toFixed(1)),
      'others wait ms': Number(wait.toFixed(1)),
      'first page ms': shown(times.first),
      'later pages ms': shown(times.later),
    });
  }
}
console.table(rows);
await store.close();
await rm(folder, { recursive: true });
await server?.stop();
process.exit();

/** Measures how long others wait at most from now on, until it is asked. */
function watchWaits(): () => number {
  let [longest, last] = [0, performance.now()];
  const look = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  };
  let turning = setImmediate(function turn() {
    look();
    turning = setImmediate(turn);
  });
  return () => {
    look();
    clearImmediate(turning);
    return longest;
  };
}
