import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rounds } from '../../support/full.ts';
import { localDate, naivePeriods, openWorlds, type World } from './worlds.ts';

const GAP = 1_800_000;
const COUNT = rounds(2500, 6000);
const STEPS = 3;
const zones = ['America/St_Johns', 'Asia/Kathmandu', 'Pacific/Apia'];

let state = 20260301;
function random(below: number): number {
  state = (state * 48271) % 2147483647;
  return state % below;
}

interface Visit {
  readonly id: string;
  readonly visitorId: string;
  readonly uid: string;
  readonly country: string;
  readonly at: string;
}
interface Event {
  readonly id: string;
  readonly uid: string;
  readonly name: string;
  readonly at: string;
}

const START = Date.parse('2026-03-05T00:00:00Z');
const when = () => new Date(START + random(7 * 86_400) * 1000).toISOString();
/** A row in ten takes the place of an earlier one. */
const idAt = (at: number) => `${random(10) === 0 ? random(at + 1) : at}`;
const visits = Array.from({ length: COUNT }, (_, at): Visit => {
  // One visitor in ten is the same.
  const visitorId = random(10) === 0 ? 'busy' : `x${random(300)}`;
  const country = ['DE', 'FR', 'NP'][random(3)] ?? '';
  return { id: idAt(at), visitorId, uid: `u${random(50)}`, country, at: when() };
});
const events = Array.from({ length: COUNT }, (_, at): Event => {
  const name = ['signed_up', 'login', 'export'][random(3)] ?? '';
  return { id: idAt(at), uid: `u${random(400)}`, name, at: when() };
});
const world: World = visits.flatMap((visit, at) => [
  { type: 'visits', row: { ...visit, page: '/' } },
  { type: 'events', row: { ...events[at] } },
]);

const time = ({ at }: { readonly at: string }) => Date.parse(at);
const distinct = (values: readonly string[]) => new Set(values).size;

/** The last row of each id, in order of time. */
function lasting<Row extends Visit | Event>(rows: readonly Row[]): Row[] {
  const last = new Map(rows.map((row) => [row.id, row]));
  return rows.filter((row) => last.get(row.id) === row).sort((a, b) => time(a) - time(b));
}

function groups<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) found.set(keyOf(row), [...(found.get(keyOf(row)) ?? []), row]);
  return found;
}

interface Session {
  readonly first: Visit;
  readonly rows: Visit[];
}

function sessionsOf(seen: readonly Visit[]): Session[] {
  return [...groups(seen, ({ visitorId }) => visitorId).values()].flatMap((own) => {
    const sessions: Session[] = [];
    let before = Number.NEGATIVE_INFINITY;
    for (const row of own) {
      if (time(row) - before > GAP) sessions.push({ first: row, rows: [] });
      sessions.at(-1)?.rows.push(row);
      before = time(row);
    }
    return sessions;
  });
}

function middle(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

function measured(sessions: readonly Session[], ofUser: Map<string, Event[]>, isIn: (row: Visit) => boolean) {
  const begun = sessions.filter(({ first }) => isIn(first));
  const rows = sessions.flatMap((session) => session.rows).filter(isIn);
  const bounced = begun.filter(({ first, rows: all }) => {
    const meanwhile = (event: Event) => time(event) >= time(first) && time(event) <= time(first) + GAP;
    return all.length === 1 && !(ofUser.get(first.uid) ?? []).some(meanwhile);
  });
  const durations = begun.map(({ first, rows: all }) => (time(all.at(-1) ?? first) - time(first)) / 1000);
  return {
    visitors: distinct(rows.map(({ visitorId }) => visitorId)),
    sessions: begun.length,
    pageViews: rows.length,
    bounceRate: begun.length === 0 ? null : bounced.length / begun.length,
    medianDurationSeconds: middle(durations),
  };
}

const desk = await openWorlds('2026-04-01T00:00:00Z', {
  analytics: { features: { out: ['export'] }, funnel: ['signed_up', 'login', 'export'], activityEvents: 'all' },
});

describe('thousands of rows in three parts, a tenth of which replaces earlier rows', () => {
  for (const [step, timezone] of zones.entries()) {
    const part = (2 * COUNT * (step + 1)) / STEPS;
    it(`are counted as one by one after part ${step + 1}, in ${timezone}`, async () => {
      if (step === 0) desk.enter([]);
      desk.add(world.slice((2 * COUNT * step) / STEPS, part));
      const seen = lasting(visits.slice(0, part / 2));
      const happened = lasting(events.slice(0, part / 2));
      const asked = { from: '2026-03-06', to: '2026-03-11', interval: 'day', timezone };
      await assertTraffic(seen, happened, asked);
      await assertProduct(happened, asked);
    });
  }
});

interface Asked {
  readonly from: string;
  readonly to: string;
  readonly interval: string;
  readonly timezone: string;
}

async function assertTraffic(seen: readonly Visit[], happened: readonly Event[], asked: Asked): Promise<void> {
  const sessions = sessionsOf(seen);
  const ofUser = groups(happened, ({ uid }) => uid);
  const between = (from: string, to: string) => (row: Visit) => {
    const date = localDate(asked.timezone, time(row));
    return date >= from && date < to;
  };
  const all = between(asked.from, asked.to);
  const { series, totals } = await desk.ask('get_traffic_visitors', asked);
  assert.deepEqual(totals, measured(sessions, ofUser, all));
  for (const { from, to, complete: _, ...shown } of series)
    assert.deepEqual(shown, measured(sessions, ofUser, between(from, to)), from);
  const { rows } = await desk.ask('get_traffic_geography', asked);
  assert.equal(rows.length, 3);
  for (const { dimension: _, value, shareOfSessions: __, ...shown } of rows) {
    const own = sessions.filter(({ first }) => first.country === value);
    assert.deepEqual(shown, measured(own, ofUser, all), value);
  }
}

async function assertProduct(happened: readonly Event[], asked: Asked): Promise<void> {
  const dated = happened.map((event) => ({ ...event, date: localDate(asked.timezone, time(event)) }));
  const days = naivePeriods(asked.from, asked.to, 'day').map(([date = '']) => date);
  const users = (rows: readonly Event[]) => distinct(rows.map(({ uid }) => uid));
  const inRange = dated.filter(({ date }) => days.includes(date));

  const { series, totals } = await desk.ask('get_active_users', asked);
  assert.equal(totals.activeUsers, users(inRange));
  for (const [at, date] of days.entries()) {
    assert.equal(series[at].dau, users(dated.filter((event) => event.date === date)));
    assert.equal(series[at].mau, users(dated.filter((event) => event.date <= date)));
  }

  const { rows: cohorts } = await desk.ask('get_cohort_retention', asked);
  const ofUser = groups(dated, ({ uid }) => uid);
  for (const [at, date] of days.entries()) {
    const cohort = [...ofUser.values()].filter(([first]) => first?.date === date);
    assert.equal(cohorts[at].size, cohort.length);
    const kept = (day: string) => cohort.filter((own) => own.some((event) => event.date === day)).length;
    const values = days.slice(at).map((day) => (cohort.length === 0 ? null : kept(day) / cohort.length));
    assert.deepEqual(cohorts[at].values, values);
  }

  const { rows: steps } = await desk.ask('get_onboarding_funnel', asked);
  const walks = [...groups(inRange, ({ uid }) => uid).values()].map((own) => {
    const times: number[] = [];
    for (const name of ['signed_up', 'login', 'export']) {
      const next = own.find((event) => event.name === name && time(event) > (times.at(-1) ?? 0));
      if (!next) break;
      times.push(time(next));
    }
    return times;
  });
  for (const [at, step] of steps.entries()) {
    const passed = walks.filter((times) => times.length > at);
    assert.equal(step.users, passed.length);
    const waits = passed.map((times) => ((times[at] ?? 0) - (times[at - 1] ?? 0)) / 1000);
    assert.equal(step.medianSecondsFromPrevious, at === 0 ? null : middle(waits));
  }

  const { rows: features } = await desk.ask('get_feature_adoption', asked);
  const exports = inRange.filter(({ name }) => name === 'export');
  const earlier = new Set(
    dated.filter(({ name, date }) => name === 'export' && date < asked.from).map(({ uid }) => uid),
  );
  const fresh = users(exports.filter(({ uid }) => !earlier.has(uid)));
  assert.deepEqual(
    [features[0].users, features[0].firstTimeUsers, features[0].uses],
    [users(exports), fresh, exports.length],
  );
}
