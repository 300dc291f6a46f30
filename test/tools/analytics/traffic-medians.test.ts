import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openWorlds, type World } from './worlds.ts';

const desk = await openWorlds('2026-06-10T10:00:00Z', {});

const NOON = Date.parse('2026-06-01T12:00:00Z');
const DAY = 86_400_000;
const range = { from: '2026-06-01', to: '2026-06-03', timezone: 'UTC' };

const visit = (visitorId: string, ms: number, more: object = {}): World[number] => ({
  type: 'visits',
  row: { id: `${visitorId} ${ms}`, visitorId, at: new Date(ms).toISOString(), page: '/', ...more },
});

/** A session of each duration in seconds, each of a visitor of its own. */
function sessions(
  seconds: readonly number[],
  { day = 0, ...labels }: { day?: number; device?: string; os?: string },
): World {
  return seconds.flatMap((duration, at) => {
    const who = `${day} ${labels.device} ${labels.os} ${at}`;
    const start = NOON + day * DAY;
    return [visit(who, start, labels), ...(duration > 0 ? [visit(who, start + duration * 1000, labels)] : [])];
  });
}

type Row = Record<'value' | 'from', string> & { readonly medianDurationSeconds: number | null };

describe('the median duration of sessions', () => {
  const cases: readonly (readonly [number | null, readonly number[]])[] = [
    [0, [0]],
    [0, [0, 0, 600]],
    [300, [0, 600]],
    [30, [0, 0, 60, 600]],
    [60, [0, 60, 600]],
    [90, [60, 120]],
    [0.5, [0, 1, 0, 600]],
    [0, [0, 0, 0, 1, 600]],
  ];
  for (const [median, seconds] of cases) {
    it(`of ${seconds.join(', ')} seconds is ${median}: in all, of a label and of a day`, async () => {
      const named = { device: 'mobile', os: 'iOS' };
      desk.enter([...sessions(seconds, named), ...sessions([900, 901], { day: 7, ...named })]);
      const asked = { ...range, interval: 'day' };
      const visitors = await desk.ask('get_traffic_visitors', asked);
      const technology = await desk.ask('get_traffic_technology', asked);
      const medians = (rows: readonly Row[]) => rows.map((row) => row.medianDurationSeconds);
      assert.deepEqual(medians([visitors.totals, ...visitors.series]), [median, median, null]);
      assert.deepEqual(medians([technology.totals, ...technology.rows]), [median, median, median, median]);
      assert.deepEqual(
        medians(technology.series),
        [1, 2, 3].flatMap(() => [median, null]),
      );
    });
  }

  it('is that of each label and day, whatever the others have', async () => {
    desk.enter([
      ...sessions([0, 0, 0], { device: 'mobile', os: 'iOS' }),
      ...sessions([100, 200], { device: 'tablet', os: 'iOS' }),
      ...sessions([0, 300, 500], { device: 'mobile', os: 'Android', day: 1 }),
    ]);
    const { rows, series } = await desk.ask('get_traffic_technology', { ...range, interval: 'day' });
    assert.deepEqual(Object.fromEntries(rows.map((row: Row) => [row.value, row.medianDurationSeconds])), {
      mobile: 0,
      tablet: 150,
      iOS: 0,
      Android: 300,
      unknown: 50,
    });
    const daily = (series as Row[]).map((row) => [row.value, row.medianDurationSeconds]);
    assert.deepEqual(daily.slice(0, 4), [
      ['mobile', 0],
      ['mobile', 300],
      ['tablet', 150],
      ['tablet', null],
    ]);
    assert.deepEqual(daily.slice(6), [
      ['iOS', 0],
      ['iOS', null],
      ['Android', null],
      ['Android', 300],
    ]);
  });
});

describe('a session that began before the range', () => {
  it('is a visitor of all of it once, and of each day that it reaches', async () => {
    const steps = Array.from({ length: 80 }, (_, at) =>
      visit('x', NOON - DAY / 2 - 600_000 + at * 1_200_000, { os: 'iOS' }),
    );
    desk.enter(steps);
    const { totals, rows, series } = await desk.ask('get_traffic_technology', { ...range, interval: 'day' });
    const seen = ({ visitors, sessions: begun, pageViews, medianDurationSeconds }: Record<string, number>) => [
      visitors,
      begun,
      pageViews,
      medianDurationSeconds,
    ];
    assert.deepEqual(seen(totals), [1, 0, 79, null]);
    for (const row of rows) assert.deepEqual(seen(row), [1, 0, 79, null]);
    assert.deepEqual(series.slice(0, 2).map(seen), [
      [1, 0, 72, null],
      [1, 0, 7, null],
    ]);
  });
});
