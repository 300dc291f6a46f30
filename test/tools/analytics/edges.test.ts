import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { channelOf } from '../../../store/rows/channel.ts';
import { pluck } from '../../support/pluck.ts';
import { openWorlds, type World } from './worlds.ts';

const desk = await openWorlds('2026-06-10T10:00:00Z', {
  exchangeRates: [
    { month: '2026-01', currency: 'USD', rate: 0.5 },
    { month: '2026-03', currency: 'USD', rate: 0.8 },
    { month: '2026-01', currency: 'JPY', rate: 0.01 },
  ],
  analytics: { features: {}, funnel: ['signed_up', 'site.created'], activityEvents: 'all' },
});

const terms = { plan: 'p', interval: 'month', status: 'active', startedAt: '2026-01-10' };
const subscription = (id: string, rest: object): World[number] => ({
  type: 'subscriptions',
  row: { id, uid: id, currency: 'EUR', ...terms, ...rest },
});
const year = { from: '2026-01-01', to: '2026-06-01', interval: 'month', timezone: 'UTC' };

describe('foreign currencies', () => {
  it('are converted by the month in which the terms began; without a rate a row is left out and counted', async () => {
    desk.enter([
      subscription('usd', { amount: 1000, currency: 'USD' }),
      subscription('usd', { amount: 2000, currency: 'USD', effectiveAt: '2026-03-05' }),
      subscription('yen', { amount: 1000, currency: 'JPY' }),
      subscription('chf', { amount: 9000, currency: 'CHF' }),
      subscription('late', { amount: 9000, currency: 'USD', startedAt: '2026-02-01' }),
    ]);
    const { series, warnings } = await desk.ask('get_mrr', year);
    assert.deepEqual(pluck(series, 'mrr'), [15, 15, 26, 26, 26]);
    assert.deepEqual(pluck(warnings, 'type', 'currency', 'rows'), [
      ['subscriptions', 'CHF', 1],
      ['subscriptions', 'USD', 1],
    ]);
  });
});

describe('other exchange rates', () => {
  const rates = (rate: number) => [{ month: '2026-01', currency: 'USD', rate }];
  const mrrAt = async (answer: Promise<{ totals: { mrr: number } }>) => (await answer).totals.mrr;

  it('count from the next question on, and for it alone', async () => {
    desk.enter([subscription('usd', { amount: 1000, currency: 'USD' })]);
    const { exchangeRates: before } = await desk.ask('get_settings', {});
    assert.equal(await mrrAt(desk.ask('get_mrr', year)), 5);
    for (const rate of [0.7, 0.9, 0.7]) {
      const asked = mrrAt(desk.ask('get_churn', year).then(() => desk.ask('get_mrr', year)));
      await desk.ask('update_settings', { exchangeRates: rates(rate) });
      const [, now, again] = await Promise.all([asked, ...[1, 2].map(() => mrrAt(desk.ask('get_mrr', year)))]);
      assert.deepEqual([now, again], [10 * rate, 10 * rate]);
    }
    await desk.ask('update_settings', { exchangeRates: before });
    assert.equal(await mrrAt(desk.ask('get_mrr', year)), 5);
    assert.ok((await desk.rebuild()).every(({ equal }) => equal));
  });
});

describe('an end that is learnt late', () => {
  it('counts from when it was, and a subscription that comes back is a reactivation', async () => {
    desk.enter([
      subscription('a', { amount: 1000 }),
      subscription('a', { amount: 1000, status: 'canceled', endedAt: '2026-02-15', effectiveAt: '2026-03-20' }),
      subscription('a', { amount: 1500, effectiveAt: '2026-05-02' }),
    ]);
    const { series } = await desk.ask('get_mrr', year);
    assert.deepEqual(pluck(series, 'mrr'), [10, 0, 0, 0, 15]);
    assert.deepEqual([series[1].churn, series[4].reactivation, series[4].new], [10, 15, 0]);
  });
});

describe('get_website_states', () => {
  it('counts states at the end and the transitions within, each site from its own times', async () => {
    const site = (id: string, rest: object): World[number] => ({
      type: 'websites',
      row: { id, uid: 'u', url: 'https://x.example', name: id, createdAt: '2026-01-05', ...rest },
    });
    desk.enter([
      site('draft', { state: 'draft' }),
      site('live', { state: 'published', publishedAt: '2026-02-05' }),
      site('gone', { state: 'published', publishedAt: '2026-01-06' }),
      site('gone', { state: 'suspended', publishedAt: '2026-01-06', effectiveAt: '2026-02-10' }),
      site('gone', { state: 'deleted', publishedAt: '2026-01-06', effectiveAt: '2026-03-10' }),
    ]);
    const { series, totals, rows } = await desk.ask('get_website_states', year);
    const states = series.map((point: Record<string, number>) => [
      point.draft,
      point.published,
      point.suspended,
      point.deleted,
    ]);
    assert.deepEqual(states.slice(0, 3), [
      [2, 1, 0, 0],
      [1, 1, 1, 0],
      [1, 1, 0, 1],
    ]);
    assert.deepEqual([totals.created, totals.transitions], [3, 4]);
    assert.deepEqual(rows, [
      { from: 'draft', to: 'published', count: 2 },
      { from: 'published', to: 'suspended', count: 1 },
      { from: 'suspended', to: 'deleted', count: 1 },
    ]);
  });
});

describe('a day on which clocks change', () => {
  it('has 23 or 25 hours, and no visit is lost or counted twice', async () => {
    for (const [date, next, hours] of [
      ['2026-03-29', '2026-03-30', 23],
      ['2025-10-26', '2025-10-27', 25],
    ] as const) {
      const midnight = Date.parse(date) - 36 * 3_600_000;
      desk.enter(
        Array.from({ length: 96 }, (_, hour) => ({
          type: 'visits' as const,
          row: {
            id: `v${hour}`,
            visitorId: `x${hour}`,
            page: '/',
            at: new Date(midnight + hour * 3_600_000).toISOString(),
          },
        })),
      );
      const { totals } = await desk.ask('get_traffic_visitors', { from: date, to: next, timezone: 'Europe/Berlin' });
      assert.equal(totals.pageViews, hours);
    }
  });
});

describe('get_overview', () => {
  it('counts users who are there, and gives the churn of the last complete month', async () => {
    const user = (uid: string, rest: object): World[number] => ({
      type: 'users',
      row: { uid, email: `${uid}@example.com`, status: 'FREE', createdAt: '2026-02-01', ...rest },
    });
    desk.enter([
      user('here', {}),
      user('gone', { deletedAt: '2026-03-01' }),
      user('later', { createdAt: '2026-07-01' }),
      subscription('a', { amount: 1000 }),
      subscription('b', { amount: 1000, status: 'canceled', endedAt: '2026-05-20' }),
    ]);
    const { totalUsers, mrr, churnRate } = await desk.ask('get_overview', {});
    assert.deepEqual({ totalUsers, mrr, churnRate }, { totalUsers: 1, mrr: 10, churnRate: 0.5 });
  });
});

describe('get_insights', () => {
  it('finds churn, falling traffic and a broken step, and every value is what the named tool gives', async () => {
    const world: World[number][] = [
      subscription('a', { amount: 1000 }),
      subscription('b', { amount: 1000, status: 'canceled', endedAt: '2026-05-20' }),
    ];
    const day = (date: string, at: number) => new Date(Date.parse(date) + at * 60_000).toISOString();
    for (let at = 0; at < 60; at += 1) {
      const when = day(at < 50 ? '2026-05-27' : '2026-06-03', at);
      world.push({ type: 'visits', row: { id: `v${at}`, visitorId: `x${at}`, page: '/', at: when } });
      world.push({ type: 'events', row: { id: `e${at}`, uid: `u${at}`, name: 'signed_up', at: when } });
    }
    desk.enter(world);
    const { rows, totals } = await desk.ask('get_insights', {});
    const kinds = pluck(rows, 'kind').sort();
    assert.deepEqual(kinds, ['broken_funnel', 'change', 'change', 'change', 'churn']);
    assert.equal(totals.insights, 5);
    for (const { evidence } of rows) {
      assert.ok(evidence.length > 0);
      for (const { tool, arguments: asked, member, value } of evidence) {
        const answer = await desk.ask(tool, asked);
        const found = member
          .split(/[.[\]]+/)
          .filter(Boolean)
          .reduce((at: Record<string, unknown>, name: string) => at[name] as never, answer);
        assert.equal(found, value, `${tool} ${JSON.stringify(asked)} ${member}`);
      }
    }
  });
});

describe('the largest amounts there can be', () => {
  it('are added up, though cents of them do not count any more', async () => {
    const exchangeRates = ['2026-01', '2026-02', '2026-03'].map((month) => ({ month, currency: 'USD', rate: 1e9 }));
    const huge = await openWorlds('2026-06-10T10:00:00Z', { exchangeRates });
    try {
      const most = { amount: 1e12, quantity: 1e6, interval: 'day', currency: 'USD' };
      huge.enter([
        subscription('a', { ...most, startedAt: '2026-01-03' }),
        subscription('a', { ...most, amount: 1e12 - 1, effectiveAt: '2026-02-03' }),
        subscription('b', { ...most, amount: 3, startedAt: '2026-03-03', discountPercent: 33.3 }),
        subscription('c', { ...most, startedAt: '2026-02-03', status: 'canceled', endedAt: '2026-05-05' }),
      ]);
      for (const tool of ['get_mrr', 'get_churn', 'get_ltv', 'get_overview', 'get_insights']) {
        assert.ok(await huge.ask(tool, year), tool);
      }
      const refused = { exchangeRates: [{ month: '2026-01', currency: 'USD', rate: 1e308 }] };
      assert.equal((await huge.refused('update_settings', refused)).code, 'invalid_input');
    } finally {
      await huge.close();
    }
  });
});

describe('a range far from any data', () => {
  it('is refused at the ends of the calendar, where dates are written in another way, and else empty', async () => {
    const refused = [
      { from: '9999-01-01', to: '9999-12-31' },
      { from: '9999-12-31' },
      { to: '0000-01-05' },
      { from: '0099-01-01', to: '0099-02-01' },
    ];
    for (const range of refused) {
      for (const interval of ['day', 'week', 'month']) {
        const { code, issues } = await desk.refused('get_overview', { ...range, interval });
        assert.equal(code, 'invalid_input');
        const [issue] = issues ?? [];
        assert.match(`${issue?.path} ${issue?.message}`, /^(from|to) Give a date from 1900-01-01 to 2199-12-31\.$/);
      }
    }
    const { series } = await desk.ask('get_overview', { from: '2199-01-01', to: '2199-12-31', interval: 'month' });
    assert.equal(series.length, 12);
  });
});

describe('the channel of a visit', () => {
  it('follows from its referrer', () => {
    const cases = {
      '': 'Direct',
      'https://www.google.co.uk/': 'Search',
      'm.youtube.com': 'Video',
      'https://notx.com/': 'Referral',
      'android-app://com.slack/': 'Referral',
      'https://outlook.live.com/mail': 'Mail',
      'https://l.facebook.com/l.php': 'Social',
      nonsense: 'Referral',
    };
    for (const [referrer, channel] of Object.entries(cases)) assert.equal(channelOf(referrer), channel, referrer);
    assert.equal(channelOf(undefined), 'Direct');
  });
});

describe('events of one user', () => {
  const event = (id: string, uid: string, name: string, at: string): World[number] => ({
    type: 'events',
    row: { id, uid, name, at },
  });

  it('make the user active once a day, however many there are, and once in all', async () => {
    desk.enter([
      event('1', 'a', 'signed_up', '2026-06-01T01:00:00Z'),
      event('2', 'a', 'signed_up', '2026-06-01T02:00:00Z'),
      event('3', 'a', 'signed_up', '2026-06-03T02:00:00Z'),
      event('4', 'b', 'signed_up', '2026-05-20T02:00:00Z'),
      event('5', 'c', 'signed_up', '2026-06-02T02:00:00Z'),
    ]);
    const asked = { from: '2026-06-01', to: '2026-06-04', interval: 'day', timezone: 'UTC' };
    const { totals, series } = await desk.ask('get_active_users', asked);
    assert.equal(totals.activeUsers, 2);
    const points = series.map(({ dau, wau, mau }: Record<string, number>) => [dau, wau, mau]);
    assert.deepEqual(points, [
      [1, 1, 2],
      [1, 2, 3],
      [1, 2, 3],
    ]);
  });

  it('at the same moment as the one that passed a step do not pass the next', async () => {
    const at = '2026-06-01T01:00:00Z';
    desk.enter([event('1', 'a', 'signed_up', at), event('2', 'a', 'site.created', at)]);
    const { totals } = await desk.ask('get_onboarding_funnel', { from: '2026-06-01', to: '2026-06-04' });
    assert.deepEqual([totals.entered, totals.completed], [1, 0]);
  });
});

describe('a range', () => {
  it('that is wholly in the future, or that some numbers of the overview do not follow, is told', async () => {
    const reasons = async (name: string, input: object) => {
      const { warnings = [] } = await desk.ask(name, input);
      return pluck(warnings, 'reason').join(' ');
    };
    const ahead = { from: '2027-01-01', to: '2027-02-01', timezone: 'UTC' };
    assert.match(await reasons('get_mrr', ahead), /2027-01-01 is wholly in the future/);
    assert.match(
      await reasons('get_overview', ahead),
      /wholly in the future.*totalUsers, mrr, churnRate are as of now/,
    );
    assert.match(await reasons('get_overview', year), /^totalUsers, mrr, churnRate are as of now/);
    assert.doesNotMatch(await reasons('get_overview', {}), /as of now/);
    assert.doesNotMatch(await reasons('get_mrr', year), /future/);
  });
});
