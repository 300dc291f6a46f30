import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rounds } from '../../support/full.ts';
import { fc } from '../../support/property.ts';
import { RUNS } from './rounds.ts';
import { openWorlds, USER_PURGE, type World } from './worlds.ts';

const NOW = '2026-04-10T15:00:00Z';
const DAY = 86_400_000;
/** Zones off the hour, beyond the date line, and with clocks that change in these weeks. */
const zones = [
  'Asia/Kathmandu',
  'America/St_Johns',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Australia/Lord_Howe',
  'Europe/Berlin',
  'UTC',
];
const settings = {
  analytics: {
    features: { sites: ['site.created'], reports: ['export', 'login'] },
    funnel: ['signed_up', 'site.created', 'login', 'site.created'],
    activityEvents: ['signed_up', 'site.created', 'login'],
  },
};
const traffic = ['get_traffic_visitors', 'get_traffic_channels', 'get_traffic_geography', 'get_traffic_technology'];
const product = [
  'get_active_users',
  'get_cohort_retention',
  'get_feature_adoption',
  'get_onboarding_funnel',
  'get_website_states',
];
const revenue = ['get_mrr', 'get_churn', 'get_ltv', 'get_subscriptions', 'get_overview', 'get_insights'];

type Desk = Awaited<ReturnType<typeof openWorlds>>;
let [growing, fresh] = [{}, {}] as Desk[] as [Desk, Desk]; // opened before any test
before(async () => {
  growing = await openWorlds(NOW, settings);
  fresh = await openWorlds(NOW, settings);
});
after(() => Promise.all([growing.close(), fresh.close()]));

/** Days; on some of them the clocks change. */
const anyTime = fc
  .record({ day: fc.constantFrom(0, 20, 21, 34, 41, 42, 43, 49), step: fc.nat(287) })
  .map(({ day, step }) => Date.parse('2026-02-15') + day * DAY + step * 300_000);
/** So close together that sessions meet and part, around midnight in some zone. */
const closeTime = fc.nat(20).map((step) => Date.parse('2026-03-29T09:30:00Z') + step * 600_000);
const iso = (time: number) => new Date(time).toISOString();
const time = anyTime.map(iso);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const uid = fc.constantFrom('u1', 'u2');
const id = (letter: string, count: number) => fc.nat(count).map((number) => `${letter}${number}`);

/** Few keys, so that many rows replace an earlier one. */
const visits = fc.record({
  type: fc.constant('visits' as const),
  row: fc.record({
    id: id('v', 15),
    visitorId: fc.constantFrom('x', 'y'),
    uid: maybe(uid),
    at: fc.oneof(closeTime, closeTime, anyTime).map(iso),
    page: fc.constant('/'),
    country: maybe(fc.constantFrom('DE', 'FR')),
    device: maybe(fc.constantFrom('desktop', 'mobile')),
    channel: fc.constantFrom('Direct', 'Search'),
  }),
});
const events = fc.record({
  type: fc.constant('events' as const),
  row: fc.record({
    id: id('e', 15),
    uid,
    name: fc.constantFrom('signed_up', 'site.created', 'export', 'login'),
    at: fc.oneof(closeTime, anyTime).map(iso),
  }),
});
const users = fc.record({
  type: fc.constant('users' as const),
  row: fc.record({
    uid,
    email: fc.constant('a@example.com'),
    status: fc.constant('FREE'),
    createdAt: time,
    deletedAt: maybe(time),
  }),
});
const subscriptions = fc.record({
  type: fc.constant('subscriptions' as const),
  row: fc.record({
    id: id('s', 2),
    uid,
    plan: fc.constantFrom('basic', 'pro'),
    amount: fc.constantFrom(1000, 2500, 0),
    currency: fc.constantFrom('EUR', 'USD', 'CHF'),
    interval: fc.constant('month'),
    status: fc.constant('active'),
    startedAt: time,
    endedAt: maybe(time),
    effectiveAt: maybe(fc.constantFrom('2026-02-20', '2026-03-20')),
  }),
});
const websites = fc.record({
  type: fc.constant('websites' as const),
  row: fc.record({
    id: id('w', 2),
    uid,
    url: fc.constant('https://x.example'),
    name: fc.constant('x'),
    state: fc.constantFrom('draft', 'published', 'suspended', 'deleted'),
    createdAt: time,
    effectiveAt: maybe(time),
  }),
});
/** The imports that come together, and the questions after them. */
const kinds: readonly { readonly rows: fc.Arbitrary<World[number]>; readonly tools: readonly string[] }[] = [
  { rows: fc.oneof(visits, visits, events), tools: traffic },
  { rows: events, tools: product },
  { rows: fc.oneof(subscriptions, users), tools: revenue },
  { rows: fc.oneof(visits, events, users, subscriptions, websites), tools: [...traffic, ...product, ...revenue] },
];

const purges = fc.record({ type: fc.constant(USER_PURGE), row: fc.record({ uid }) });
const withPurges = (rows: fc.Arbitrary<World[number]>) =>
  fc.oneof({ arbitrary: rows, weight: 30 }, { arbitrary: purges, weight: 1 });

const question = fc.record({
  timezone: fc.constantFrom(...zones),
  interval: fc.constantFrom('day', 'week', 'month'),
  from: fc.constantFrom('2026-02-14', '2026-03-08', '2026-03-28'),
  to: fc.constantFrom('2026-03-30', '2026-04-06', '2026-04-20'),
});

const keyOf = ({ type, row }: World[number]) => `${type} ${type === 'users' ? row.uid : row.id}`;

/** The world without replaced rows. Earlier statements about subscriptions and websites still count. */
function lasting(world: World): World {
  const last = new Map(world.map((row, at) => [keyOf(row), at]));
  return world.filter((row, at) => /^(s|w)/.test(keyOf(row)) || row.type === USER_PURGE || last.get(keyOf(row)) === at);
}

async function sameAsFresh(world: World, asked: readonly string[], input: object): Promise<void> {
  fresh.enter(lasting(world));
  for (const tool of asked) {
    assert.deepEqual(await growing.ask(tool, input), await fresh.ask(tool, input), `${tool} ${JSON.stringify(input)}`);
  }
}

describe('answers about data that grows', () => {
  it('are those about the same data read at once, whatever was asked before and whatever was replaced', async () => {
    const worlds = fc.oneof(
      ...kinds.map(({ rows, tools }) =>
        fc.record({
          steps: fc.array(fc.record({ more: fc.array(withPurges(rows), { maxLength: 20 }), question }), {
            minLength: 2,
            maxLength: 4,
          }),
          asked: fc.shuffledSubarray([...tools], { minLength: 2, maxLength: 4 }),
        }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(worlds, async ({ steps, asked }) => {
        growing.enter([]);
        const world: World[number][] = [];
        for (const { more, question: input } of steps) {
          growing.add(more);
          world.push(...more);
          await sameAsFresh(world, asked, input);
        }
        for (const { table, equal } of await growing.rebuild()) assert.ok(equal, `${table} made anew is another`);
      }),
      // Each world is read many times over.
      { ...RUNS, numRuns: rounds(12, 80) },
    );
  });
});

const visit = (number: number, at: string, visitorId = 'x'): World[number] => ({
  type: 'visits',
  row: { id: `v${number}`, visitorId, page: '/', at },
});

describe('a visit that comes late', () => {
  it('makes a session reach over midnight: the visitor is there on both days, once each', async () => {
    const asked = { from: '2026-03-29', to: '2026-04-01', interval: 'day', timezone: 'Pacific/Apia' };
    growing.enter([visit(1, '2026-03-29T10:50:00Z'), visit(2, '2026-03-29T12:00:00Z')]);
    const shown = async () => {
      const { series } = await growing.ask('get_traffic_visitors', asked);
      return series.map((day: Record<string, number>) => [day.visitors, day.sessions, day.pageViews]);
    };
    assert.deepEqual(await shown(), [
      [1, 1, 1],
      [1, 1, 1],
      [0, 0, 0],
    ]);
    growing.add([visit(3, '2026-03-29T11:10:00Z')]);
    assert.deepEqual(await shown(), [
      [1, 1, 1],
      [1, 1, 2],
      [0, 0, 0],
    ]);
  });
});

describe('days that clocks or calendars cut short', () => {
  const hourly = (from: string, hours: number) =>
    Array.from({ length: hours }, (_, hour) =>
      visit(hour, new Date(Date.parse(from) + hour * 3_600_000).toISOString(), `x${hour}`),
    );
  const cases = [
    ['America/St_Johns', '2026-03-08', 23],
    ['America/St_Johns', '2026-11-01', 25],
    ['Asia/Kathmandu', '2026-03-08', 24],
    ['Pacific/Apia', '2011-12-29', 24],
    ['Pacific/Apia', '2011-12-30', 0],
    ['Pacific/Apia', '2011-12-31', 24],
  ] as const;
  for (const [timezone, date, hours] of cases) {
    it(`${date} in ${timezone} has the visits of ${hours} hours`, async () => {
      growing.enter(hourly(new Date(Date.parse(date) - 2 * DAY).toISOString(), 120));
      const to = new Date(Date.parse(date) + DAY).toISOString().slice(0, 10);
      const { totals, series } = await growing.ask('get_traffic_visitors', { from: date, to, timezone });
      assert.deepEqual([totals.pageViews, totals.visitors, series.length], [hours, hours, 1]);
    });
  }
});
