import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pluck } from '../../support/pluck.ts';
import { openWorlds, type World } from './worlds.ts';

const desk = await openWorlds('2026-06-10T10:00:00Z', {});

const HALF_HOUR_MS = 1_800_000;
const at = (time: string, afterMs = 0) => new Date(Date.parse(time) + afterMs).toISOString();
const visit = (id: string, time: string, rest: object = {}): World[number] => ({
  type: 'visits',
  row: { id, visitorId: 'v', page: '/', at: time, ...rest },
});
const range = { from: '2026-03-01', to: '2026-03-03', interval: 'day', timezone: 'Europe/Berlin' };
const traffic = () => desk.ask('get_traffic_visitors', range);

describe('exactly 30 minutes', () => {
  const noon = '2026-03-01T12:00:00.000Z';

  for (const [apart, sessions] of [
    [HALF_HOUR_MS, 1],
    [HALF_HOUR_MS + 1, 2],
  ] as const)
    it(`${apart} ms between two visits make ${sessions} of ${sessions === 1 ? 'them one session' : 'them'}`, async () => {
      desk.enter([visit('a', noon), visit('b', at(noon, apart))]);
      assert.equal((await traffic()).totals.sessions, sessions);
    });

  for (const [later, bounceRate] of [
    [HALF_HOUR_MS, 0],
    [HALF_HOUR_MS + 1, 1],
  ] as const)
    it(`an event ${later} ms after the only page view ${bounceRate === 0 ? 'makes it no bounce' : 'leaves it one'}`, async () => {
      const event: World[number] = { type: 'events', row: { id: 'e', uid: 'u', name: 'n', at: at(noon, later) } };
      desk.enter([visit('a', noon, { uid: 'u' })]);
      assert.equal((await traffic()).totals.bounceRate, 1);
      desk.add([event]);
      assert.equal((await traffic()).totals.bounceRate, bounceRate, 'the session is made anew for the event');
      desk.enter([event, visit('a', noon, { uid: 'u' })]);
      assert.equal((await traffic()).totals.bounceRate, bounceRate);
    });
});

describe('local midnight', () => {
  it('begins a day, and the moment before ends the one before, at both ends of a range', async () => {
    const midnight = '2026-03-01T23:00:00.000Z';
    const moments = [at(midnight, -1), midnight, midnight, at(midnight, -86_400_001), at(midnight, -86_400_000)];
    const last = [at(midnight, 86_400_000 - 1), at(midnight, 86_400_000)];
    desk.enter([...moments, ...last].map((time, index) => visit(`${index}`, time, { visitorId: `v${index}` })));
    const { series } = await traffic();
    assert.deepEqual(pluck(series, 'visitors'), [2, 3]);
  });
});

describe('revenue at a moment', () => {
  it('counts a change of exactly then', async () => {
    const subscription = (id: string, startedAt: string): World[number] => ({
      type: 'subscriptions',
      row: {
        ...{ id, uid: id, amount: 1000, currency: 'EUR', plan: 'p', interval: 'month', status: 'active' },
        startedAt,
      },
    });
    desk.enter([subscription('s', '2026-06-10T10:00:00.000Z'), subscription('later', '2026-06-10T10:00:00.001Z')]);
    const { totals } = await desk.ask('get_mrr', { ...range, from: '2026-06-01', to: '2026-07-01' });
    assert.equal(totals.mrr, 10, 'now is the moment of the first change');
  });
});
