import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routes } from '../../../facade/routes.ts';
import { rangeBefore } from '../../../tools/analytics/calendar.ts';
import { callsOf, mustCall, rest } from '../../support/calls.ts';
import { pluck } from '../../support/pluck.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { askable } from './worlds.ts';

const eur = { currency: 'EUR', interval: 'month', status: 'active' } as const;
/** The worked example: what each customer pays, as imports say it. */
const subscriptions = [
  { id: 'a', uid: 'A', plan: 'basic', amount: 1000, ...eur, startedAt: '2026-01-01' },
  { id: 'b', uid: 'B', plan: 'basic', amount: 12000, ...eur, interval: 'year', startedAt: '2026-01-15' },
  {
    id: 'c',
    uid: 'C',
    plan: 'plus',
    amount: 2000,
    ...eur,
    discountPercent: 50,
    discountEndsAt: '2026-04-01',
    startedAt: '2026-02-01',
    status: 'canceled',
    canceledAt: '2026-04-20',
    endedAt: '2026-05-01',
  },
  { id: 'a', uid: 'A', plan: 'basic', amount: 1500, ...eur, startedAt: '2026-01-01', effectiveAt: '2026-03-01' },
  {
    id: 'd',
    uid: 'D',
    plan: 'plus',
    amount: 3000,
    ...eur,
    startedAt: '2026-03-01',
    trialStart: '2026-03-01',
    trialEnd: '2026-03-15',
  },
];
const range = { from: '2026-01-01', to: '2026-06-01', interval: 'month', timezone: 'UTC' };

const ask = (tool: string, input: object = range) => must(tool, askable(tool, input));
const server = await startTestServer();
const { must, call, codeOf } = callsOf(server);
await ask('update_settings', { currency: 'EUR' });
await ask('import_records', { type: 'subscriptions', records: subscriptions });

describe('the worked example', () => {
  const bridges = [
    { start: 0, new: 20, reactivation: 0, expansion: 0, contraction: 0, churn: 0, end: 20 },
    { start: 20, new: 10, reactivation: 0, expansion: 0, contraction: 0, churn: 0, end: 30 },
    { start: 30, new: 30, reactivation: 0, expansion: 5, contraction: 0, churn: 0, end: 65 },
    { start: 65, new: 0, reactivation: 0, expansion: 10, contraction: 0, churn: 0, end: 75 },
    { start: 75, new: 0, reactivation: 0, expansion: 0, contraction: 0, churn: 20, end: 55 },
  ];

  it('has this MRR at the end of each month, and these movements', async () => {
    const { series, totals, currency } = await ask('get_mrr');
    assert.equal(currency, 'EUR');
    const shown = series.map(({ from, to, complete, mrr, ...parts }: Record<string, number>) => {
      assert.ok(from && to && complete);
      assert.equal(mrr, parts.end);
      return parts;
    });
    assert.deepEqual(shown, bridges);
    assert.deepEqual(totals, {
      start: 0,
      new: 60,
      reactivation: 0,
      expansion: 15,
      contraction: 0,
      churn: 20,
      end: 55,
      mrr: 55,
    });
  });

  it('stands at the end of a range that is over, not at today', async () => {
    const { totals } = await ask('get_mrr', { ...range, to: '2026-04-01' });
    assert.deepEqual([totals.end, totals.mrr], [65, 65]);
  });

  it('loses one of four customers in May', async () => {
    const { series } = await ask('get_churn');
    const { customerChurn, grossMrrChurn, netMrrChurn, customersAtStart, churnedCustomers } = series[4];
    assert.deepEqual([customersAtStart, churnedCustomers, customerChurn], [4, 1, 0.25]);
    assert.deepEqual([grossMrrChurn, netMrrChurn], [20 / 75, 20 / 75]);
    assert.equal(series[0].customerChurn, null);
  });

  it('has an LTV from May on, when somebody has churned', async () => {
    const { series } = await ask('get_ltv');
    assert.equal(series[3].ltv, null);
    const { arpa, meanMonthlyChurn, ltv } = series[4];
    assert.equal(arpa, 18.33);
    assert.equal(meanMonthlyChurn, 0.25 / 4);
    assert.equal(ltv, 293.33);
  });

  it('stands with three active subscriptions', async () => {
    const { totals, rows } = await ask('get_subscriptions');
    assert.deepEqual(totals, { trialing: 0, active: 3, pastDue: 0, canceled: 1, started: 4, ended: 1 });
    assert.deepEqual(
      rows.map(({ plan, active, canceled, mrr }: Record<string, unknown>) => ({ plan, active, canceled, mrr })),
      [
        { plan: 'plus', active: 1, canceled: 1, mrr: 30 },
        { plan: 'basic', active: 2, canceled: 0, mrr: 25 },
      ],
    );
  });

  it('is the same when its rows are imported again, or in another order', async () => {
    const expected = await ask('get_mrr');
    const again = await ask('import_records', { type: 'subscriptions', records: subscriptions });
    assert.deepEqual([again.unchanged, again.created, again.updated], [5, 0, 0]);
    const other = await startTestServer();
    await mustCall(other, other.adminKey, 'update_settings', { currency: 'EUR' });
    const records = subscriptions.map((row) => ({ effectiveAt: row.startedAt, ...row })).reverse();
    await mustCall(other, other.adminKey, 'import_records', { type: 'subscriptions', records });
    const { series } = await mustCall(other, other.adminKey, 'get_mrr', range);
    assert.deepEqual(series, expected.series);
  });
});

describe('rebuild_metrics', () => {
  it('makes all tables or some anew, with the rows that imports left in them', async () => {
    const before = await ask('get_mrr');
    const { rebuilt, equal } = await ask('rebuild_metrics', {});
    assert.equal(equal, true);
    const rows = new Map(rebuilt.map(({ table, rows: count }: { table: string; rows: number }) => [table, count]));
    assert.equal(rows.get('customer_changes'), 7);
    assert.deepEqual(await ask('rebuild_metrics', { tables: ['customer_changes'] }), {
      rebuilt: [{ table: 'customer_changes', rows: 7 }],
      equal: true,
    });
    assert.deepEqual((await ask('get_mrr')).series, before.series);
    assert.equal(await codeOf('rebuild_metrics', { tables: ['users'] }), 'invalid_input');
  });
});

/** They answer for the whole range, whatever the interval. */
const WHOLE = new Set(['get_insights', 'get_feature_adoption', 'get_onboarding_funnel']);
/** They answer for the whole range, and with an interval for its periods too. */
const SPLITS = new Set(['get_traffic_channels', 'get_traffic_geography', 'get_traffic_technology']);

describe('metrics of a whole range', () => {
  it('refuse an interval over MCP and REST, and are not bound by the length of one', async () => {
    for (const tool of WHOLE) {
      const answer = await call(tool, { interval: 'week' });
      assert.ok('error' in answer && answer.error.issues?.[0]?.path === 'interval', tool);
      const { path } = routes.find((route) => route.tool === tool) ?? assert.fail(tool);
      const { status, body } = await rest(server, 'GET', `${path}?interval=week`, { key: server.adminKey });
      assert.deepEqual([status, body.issues[0].path], [400, 'interval'], tool);
    }
    for (const tool of [...WHOLE, ...SPLITS]) {
      const long = await ask(tool, { from: '2020-01-01', to: '2026-06-01' });
      assert.deepEqual(long.range, { from: '2020-01-01', to: '2026-06-01', timezone: 'UTC' });
    }
  });
});

describe('an empty store', () => {
  it('gives zeros and nulls, never an error', async () => {
    const empty = await startTestServer();
    const overview = await mustCall(empty, empty.adminKey, 'get_overview');
    assert.deepEqual([overview.totalUsers, overview.mrr, 'churnRate' in overview], [0, 0, false]);
    assert.equal(overview.series.length, 12);
    const churn = await mustCall(empty, empty.adminKey, 'get_churn');
    assert.equal(churn.totals.customerChurn, null);
    const { tools } = { tools: await listAnalytics(empty) };
    assert.equal(tools.length, 15);
    for (const tool of tools) {
      const range = { from: '2026-02-27', to: '2026-03-02', timezone: 'UTC' };
      const asked = askable(tool, { ...range, interval: 'day' });
      const answer = await mustCall(empty, empty.adminKey, tool, asked);
      assert.ok(answer.asOf && answer.definition && answer.totals && (answer.series ?? answer.rows), tool);
      assert.deepEqual(answer.range, asked);
      if (answer.series) assert.equal(answer.series.length, SPLITS.has(tool) ? 0 : 3);
    }
  });
});

async function listAnalytics(from: TestServer): Promise<string[]> {
  const { data } = await mustCall(from, from.adminKey, 'list_tool_categories');
  return pluck(data.find(({ category }: { category: string }) => category === 'Analytics').tools, 'name');
}

describe('compare=previous', () => {
  it('adds the totals of the months before, as they were at their end', async () => {
    const { totals, previous } = await ask('get_mrr', { ...range, from: '2026-03-01', compare: 'previous' });
    assert.equal(totals.start, 30);
    assert.deepEqual(
      { ...previous, totals: { start: previous.totals.start, end: previous.totals.end, mrr: previous.totals.mrr } },
      { from: '2025-12-01', to: '2026-03-01', totals: { start: 0, end: 30, mrr: 30 } },
    );
    const asked = await ask('get_mrr', { ...range, from: previous.from, to: previous.to });
    assert.deepEqual({ ...asked.totals, mrr: 30 }, previous.totals);
    assert.equal(asked.previous, undefined);
  });

  it('is answered by every metric, also over REST', async () => {
    for (const { method, path, tool } of routes) {
      if (method !== 'GET' || !path.startsWith('/api/v1/analytics/')) continue;
      const { status, body } = await rest(server, 'GET', `${path}?compare=previous`, { key: server.adminKey });
      assert.equal(status, 200, tool);
      assert.deepEqual(Object.keys(body.previous.totals), Object.keys(body.totals), tool);
      assert.ok(body.previous.to <= body.range.from, tool);
    }
  });
});

describe('the range before', () => {
  const ranges: readonly [from: string, to: string, interval: 'day' | 'week' | 'month' | undefined, before: string][] =
    [
      ['2026-03-01', '2026-04-01', 'day', '2026-02-01 2026-03-01'],
      ['2026-02-01', '2026-03-01', undefined, '2026-01-01 2026-02-01'],
      ['2025-12-01', '2026-11-23', 'month', '2024-12-01 2025-11-23'],
      ['2026-03-01', '2026-03-31', 'month', '2026-02-01 2026-03-01'],
      ['2024-01-01', '2025-01-01', 'week', '2023-01-01 2024-01-01'],
      ['2026-11-02', '2026-11-18', 'week', '2026-10-12 2026-10-28'],
      ['2026-11-03', '2026-11-18', 'week', '2026-10-19 2026-11-03'],
      ['2026-10-24', '2026-11-23', 'day', '2026-09-24 2026-10-24'],
      ['2026-03-02', '2026-04-01', 'month', '2026-01-31 2026-03-02'],
    ];
  for (const [from, to, interval, before] of ranges) {
    it(`of ${from} to ${to} by ${interval ?? 'the whole'} is ${before.replace(' ', ' to ')}`, () => {
      assert.equal(Object.values(rangeBefore({ from, to }, interval)).join(' '), before);
    });
  }
});
