import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openWorlds, type World } from './worlds.ts';

const desk = await openWorlds('2026-06-10T10:00:00Z', {});

const COUNTRIES = 'DE FR US GB IT ES NL PL SE NO'.split(' ');
const range = { from: '2026-06-01', to: '2026-06-04', timezone: 'Asia/Kathmandu' };

/** Each country has one visitor more than the one after it, half of them on each of two days, and a session that goes on past midnight. */
function world(): World {
  const visit = (id: string, at: string, country: string | undefined): World[number] => ({
    type: 'visits',
    row: { id, visitorId: id.replace(/-.*/, ''), at, page: '/', ...(country && { country }), device: 'mobile' },
  });
  const rows = COUNTRIES.flatMap((country, place) =>
    Array.from({ length: 2 * (COUNTRIES.length - place) }, (_, at) =>
      visit(`${country}${at}`, `2026-06-0${1 + (at % 2)}T10:00:00Z`, country),
    ),
  );
  // Midnight in Kathmandu is 18:15 in UTC.
  return [...rows, visit('late-1', '2026-06-01T18:10:00Z', undefined), visit('late-2', '2026-06-01T18:20:00Z', 'DE')];
}

interface Point extends Record<string, unknown> {
  readonly value: string;
  readonly from: string;
  readonly to: string;
  readonly pageViews: number;
}

describe('splits of traffic with an interval', () => {
  it('have the periods of the eight largest values, each as it is answered for its period alone', async () => {
    desk.enter(world());
    const { series, rows, range: shown } = await desk.ask('get_traffic_geography', { ...range, interval: 'day' });
    assert.deepEqual(shown, { ...range, interval: 'day' });
    assert.equal(rows.length, COUNTRIES.length + 1);
    const values = [...new Set((series as Point[]).map(({ value }) => value))];
    assert.deepEqual(values, COUNTRIES.slice(0, 8));
    assert.equal(series.length, 8 * 3);
    for (const { dimension, value, from, to, complete, ...own } of series as Point[]) {
      const { rows: alone } = await desk.ask('get_traffic_geography', { ...range, from, to });
      const { shareOfSessions: _, ...there } = alone.find((row: Point) => row.value === value) ?? {};
      if (own.pageViews > 0) assert.deepEqual({ dimension, value, ...own }, { ...there });
      else assert.deepEqual([there, complete], [{}, true], `${value} ${from}`);
    }
  });

  it('count a visit past midnight under the label of its session, on its own day', async () => {
    desk.enter(world().filter(({ row }) => String(row.id).startsWith('late')));
    const { series } = await desk.ask('get_traffic_geography', { ...range, interval: 'day' });
    const days = (series as Point[]).map((point) => [point.value, point.visitors, point.sessions, point.pageViews]);
    assert.deepEqual(days, [
      ['unknown', 1, 1, 1],
      ['unknown', 1, 0, 1],
      ['unknown', 0, 0, 0],
    ]);
  });

  it('are as before without an interval, and have a series for each dimension of technology', async () => {
    desk.enter(world());
    const { series, ...without } = await desk.ask('get_traffic_technology', { ...range, interval: 'week' });
    const plain = await desk.ask('get_traffic_technology', range);
    assert.deepEqual({ ...without, range }, plain);
    const places = (series as Point[]).map(({ dimension, value, from }) => `${dimension} ${value} ${from}`);
    assert.deepEqual(places, ['device mobile 2026-06-01', 'browser unknown 2026-06-01', 'os unknown 2026-06-01']);
  });
});
