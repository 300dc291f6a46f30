import { fc } from '../../support/property.ts';
import { USER_PURGE, type World } from './worlds.ts';

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
export const settings = {
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
export const anyRow = fc.oneof(visits, events, users, subscriptions, websites);
/** The imports that come together, and the questions after them. */
const kinds: readonly { readonly rows: fc.Arbitrary<World[number]>; readonly tools: readonly string[] }[] = [
  { rows: fc.oneof(visits, visits, events), tools: traffic },
  { rows: events, tools: product },
  { rows: fc.oneof(subscriptions, users), tools: revenue },
  { rows: anyRow, tools: [...traffic, ...product, ...revenue] },
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

/** Rows in several imports, with a question after each. */
export const growingWorlds = fc.oneof(
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
