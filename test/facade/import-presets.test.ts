import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { columnsFor } from '../../facade/commands/import/columns.ts';
import type { RowType } from '../../resources/imported-rows.ts';
import { checkRow } from '../../tools/analytics/import-records.ts';

/** The row that is stored for one of the other system, or why there is none. */
function stored(type: RowType, preset: string, cells: object): object | string {
  const mapped = columnsFor(type, preset)({ ...cells });
  if ('leftOut' in mapped) return mapped.leftOut;
  assert.ok('row' in mapped, JSON.stringify(mapped));
  const checked = checkRow(type, mapped.row);
  assert.ok('row' in checked, JSON.stringify(checked));
  return checked.row;
}

const SUBSCRIPTION = {
  id: 'sub_1',
  'Customer ID': 'cus_1',
  'Customer Email': 'a@example.com',
  Plan: 'price_pro',
  Quantity: '2',
  Currency: 'usd',
  Interval: 'month',
  Amount: '1,029.90',
  Status: 'trialing',
  'Created (UTC)': '2026-01-01 09:30',
  'Start Date (UTC)': '2026-01-02 09:30:15',
  'Trial Start (UTC)': '2026-01-02 09:30',
  'Trial End (UTC)': '2026-01-16 09:30',
  'Canceled At (UTC)': '',
  'Ended At (UTC)': '',
};

const PADDLE = {
  id: 'sub_01h',
  status: 'active',
  customer_id: 'ctm_01h',
  currency_code: 'EUR',
  created_at: '2026-01-01T10:00:00.123456Z',
  started_at: '2026-01-01T10:00:00.123456Z',
  canceled_at: null,
  paused_at: null,
  billing_cycle: { interval: 'year', frequency: 1 },
  items: [
    {
      quantity: 3,
      price: { id: 'pri_1', name: 'Pro', description: 'x', unit_price: { amount: '12000', currency_code: 'EUR' } },
      trial_dates: null,
    },
  ],
};

describe('the presets of imports', () => {
  it('take the exports of Stripe: amounts in minor units, times in UTC, states as ours', () => {
    const { id, plan, amount, currency, quantity, status, startedAt, trialEnd } = stored(
      'subscriptions',
      'stripe-subscriptions',
      SUBSCRIPTION,
    ) as Record<string, unknown>; // a row
    assert.deepEqual(
      [id, plan, amount, currency, quantity, status, startedAt, trialEnd],
      ['sub_1', 'price_pro', 102990, 'USD', 2, 'trialing', '2026-01-02T09:30:15.000Z', '2026-01-16T09:30:00.000Z'],
    );
    const ended = {
      ...SUBSCRIPTION,
      Status: 'canceled',
      Currency: 'jpy',
      Amount: '1000',
      'Canceled At (UTC)': '2026-02-01 00:00',
    };
    const row = stored('subscriptions', 'stripe-subscriptions', ended) as Record<string, unknown>; // a row
    assert.deepEqual([row.amount, row.endedAt], [1000, '2026-02-01T00:00:00.000Z']);
    assert.equal(
      stored('subscriptions', 'stripe-subscriptions', { ...SUBSCRIPTION, Status: 'incomplete' }),
      'is incomplete',
    );
    assert.deepEqual(
      stored('users', 'stripe-customers', {
        ...{ id: 'cus_1', Email: 'a@example.com', Name: '', 'Created (UTC)': '2026-01-01 09:30' },
        ...{ Status: 'active', Plan: 'Team' },
      }),
      { uid: 'cus_1', email: 'a@example.com', status: 'PRO', plan: 'Team', createdAt: '2026-01-01T09:30:00.000Z' },
    );
    assert.deepEqual(
      stored('invoices', 'stripe-invoices', {
        ...{ id: 'in_1', Customer: 'cus_1', Subscription: '', Total: '11.90', Tax: '1.90', Currency: 'eur' },
        ...{ Status: 'paid', 'Date (UTC)': '2026-01-01 00:00', 'Paid At (UTC)': '2026-01-01 00:05' },
      }),
      {
        ...{ id: 'in_1', uid: 'cus_1', total: 1190, tax: 190, currency: 'EUR', status: 'paid' },
        ...{ issuedAt: '2026-01-01T00:00:00.000Z', paidAt: '2026-01-01T00:05:00.000Z' },
      },
    );
  });

  it('take the subscriptions of Paddle', () => {
    const row = stored('subscriptions', 'paddle-subscriptions', PADDLE) as Record<string, unknown>; // a row
    assert.deepEqual(
      [row.uid, row.plan, row.amount, row.interval, row.quantity, row.status, row.startedAt],
      ['ctm_01h', 'Pro', 12000, 'year', 3, 'active', '2026-01-01T10:00:00.123Z'],
    );
    const paused = { ...PADDLE, status: 'paused', paused_at: '2026-03-01T00:00:00Z' };
    const ended = stored('subscriptions', 'paddle-subscriptions', paused) as Record<string, unknown>; // a row
    assert.deepEqual([ended.status, ended.endedAt], ['canceled', '2026-03-01T00:00:00.000Z']);
  });

  it('take page views of Plausible, each under a key of its own that stays the same', () => {
    const view = {
      ...{ name: 'pageview', user_id: '123', session_id: '9', timestamp: '2026-01-01 10:00:00', pathname: '/a' },
      ...{ referrer: '', country_code: 'DE', screen_size: 'Mobile', browser: 'Firefox', operating_system: 'Linux' },
    };
    const row = stored('visits', 'plausible-events', view) as Record<string, unknown>; // a row
    assert.deepEqual(
      [row.visitorId, row.at, row.page, row.country, row.device, row.os],
      ['123', '2026-01-01T10:00:00.000Z', '/a', 'DE', 'Mobile', 'Linux'],
    );
    const id = (cells: object) => (stored('visits', 'plausible-events', { ...view, ...cells }) as { id: string }).id; // a row
    assert.equal(id({}), row.id);
    assert.notEqual(id({ pathname: '/b' }), row.id);
    const goal = { ...view, name: 'Signup', 'meta.key': ['plan'], 'meta.value': ['team'] };
    assert.equal(stored('visits', 'plausible-events', goal), 'goal Signup: plausible-goals imports it');
    const { id: key, ...event } = stored('events', 'plausible-goals', goal) as Record<string, unknown>; // a row
    assert.deepEqual(event, {
      ...{ uid: '123', name: 'Signup', at: '2026-01-01T10:00:00.000Z', properties: { page: '/a', plan: 'team' } },
    });
    const csv = { ...goal, 'meta.key': "['plan']", 'meta.value': "['it\\'s, team']" };
    const fromCsv = stored('events', 'plausible-goals', csv) as Record<string, unknown>; // a row
    assert.deepEqual(fromCsv.properties, { page: '/a', plan: "it's, team" });
    assert.notEqual(fromCsv.id, key);
    assert.equal(stored('events', 'plausible-goals', view), 'page view: plausible-events imports it');
  });
});
