import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { analyticsTools } from '../../../tools/analytics/tools.ts';
import { events, FUNNEL, NOW as NOW_MS, subscriptions, users, visits, websites } from '../../bench/analytics-rows.ts';
import { rounds } from '../../support/full.ts';
import { withoutPostgres } from '../../support/postgres.ts';
import { fc } from '../../support/property.ts';
import { growingWorlds } from './growing-worlds.ts';
import { RUNS } from './rounds.ts';
import { memoryTables, postgresTables } from './world-tables.ts';
import { openWorlds, type Raw, type World } from './worlds.ts';

const NOW = '2026-06-10T12:00:00Z';
const settings = {
  exchangeRates: [{ month: '2026-01', currency: 'USD', rate: 0.83 }],
  analytics: { features: { export: ['export'], sites: FUNNEL.slice(1, 3) }, funnel: FUNNEL, activityEvents: 'all' },
};
const ranges = [
  { from: '2026-01-01', to: '2026-06-20', interval: 'day', timezone: 'America/St_Johns', compare: 'previous' },
  { from: '2026-01-01', to: '2026-06-20', interval: 'month', timezone: 'UTC', compare: 'previous' },
];
const aboutUsers = [
  ...['get_user', 'get_user_billing', 'get_user_timeline', 'list_user_websites'].map((tool) => [
    tool,
    { userId: 'u1' },
  ]),
  ['list_users', {}],
  ['list_users', { search: 'U1', includeTotal: true, limit: 5 }],
  ['list_users', { status: 'PRO', includeDeleted: true }],
] as [string, object][]; // a name and an input each

function* manyRows(): Generator<World[number], void> {
  const people = 300;
  const size = rounds(1500, 6000);
  const of = function* (type: World[number]['type'], rows: Iterable<Raw>) {
    for (const row of rows) yield { type, row };
  };
  yield* of('users', users(people));
  let at = 0;
  for (const row of subscriptions(people))
    yield { type: 'subscriptions', row: at++ % 5 === 0 ? { ...row, currency: 'USD' } : row };
  yield* of('websites', websites(100));
  yield* of('events', events(size, people));
  yield* of('visits', visits(size, people));
}

describe('questions on PostgreSQL', { skip: withoutPostgres }, () => {
  type Desk = Awaited<ReturnType<typeof openWorlds>>;
  let [embedded, postgres] = [{}, {}] as Desk[] as [Desk, Desk]; // opened before any test
  before(async () => {
    assert.equal(Date.parse(NOW), NOW_MS);
    embedded = await openWorlds(NOW, settings, memoryTables());
    postgres = await openWorlds(NOW, settings, await postgresTables());
  });
  const areAlike = async (tool: string, input: object) => {
    const [own, other] = await Promise.all([embedded.ask(tool, input), postgres.ask(tool, input)]);
    assert.deepEqual(other, own, `${tool} ${JSON.stringify(input)}`);
  };

  it('are answered as by the embedded engine, whatever is imported, replaced and purged', async () => {
    await fc.assert(
      fc.asyncProperty(growingWorlds, async ({ steps, asked }) => {
        for (const desk of [embedded, postgres]) desk.enter([]);
        for (const { more, question } of steps) {
          for (const desk of [embedded, postgres]) desk.add(more);
          for (const tool of asked) await areAlike(tool, question);
        }
        for (const { table, equal } of await postgres.rebuild()) assert.ok(equal, `${table} made anew is another`);
      }),
      { ...RUNS, numRuns: rounds(3, 80) },
    );
  });

  it('of every kind about many rows are answered alike, by day and by month, also about single users', async () => {
    const world = [...manyRows()];
    for (const desk of [embedded, postgres]) desk.enter(world);
    for (const range of ranges) for (const { name } of analyticsTools) await areAlike(name, range);
    for (const [tool, input] of aboutUsers) await areAlike(tool, input);
  });
});
