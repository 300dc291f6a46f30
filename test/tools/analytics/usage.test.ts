import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fc } from '../../support/property.ts';
import { RUNS } from './rounds.ts';
import { close, datesBetween, localDate, naivePeriods, openWorlds, shuffled, type World, zones } from './worlds.ts';

const NOW = Date.parse('2026-04-10T15:00:00Z');
const names = ['signed_up', 'site.created', 'export', 'login'];

/** Around the days in spring on which clocks change in Berlin and New York. */
const time = fc
  .record({ day: fc.nat(70), minutes: fc.nat(287).map((step) => step * 5) })
  .map(({ day, minutes }) => Date.parse('2026-02-15') + day * 86_400_000 + minutes * 60_000);
const uid = fc.constantFrom('u1', 'u2', 'u3', 'u4');
const event = fc.record({ uid, name: fc.constantFrom(...names), time });
const visit = fc.record({
  visitor: fc.constantFrom('x', 'y', 'z'),
  uid: fc.option(uid, { nil: undefined }),
  // Few days, so that visits meet in sessions and straddle midnight.
  time: fc
    .record({ day: fc.nat(3), step: fc.nat(287) })
    .map(({ day, step }) => Date.parse('2026-03-28') + day * 86_400_000 + step * 300_000),
  country: fc.constantFrom('DE', 'FR', undefined),
  device: fc.constantFrom('desktop', 'mobile', undefined),
  referrer: fc.constantFrom(
    undefined,
    'https://www.google.de/search',
    'https://t.co/x',
    'https://blog.example/post',
    'https://mail.google.com/',
  ),
});
type Event = { uid: string; name: string; time: number };
type Visit = {
  visitor: string;
  uid: string | undefined;
  time: number;
  country: string | undefined;
  device: string | undefined;
  referrer: string | undefined;
};

const events = fc.array(event, { maxLength: 40 });
const visits = fc.array(visit, { maxLength: 30 });

function worldOf(happened: readonly Event[], seen: readonly Visit[] = []): World {
  return [
    ...happened.map(({ time: at, ...row }, index) => ({
      type: 'events' as const,
      row: { id: `e${index}`, ...row, at: new Date(at).toISOString() },
    })),
    ...seen.map(({ time: at, visitor, ...row }, index) => ({
      type: 'visits' as const,
      row: { id: `v${index}`, visitorId: visitor, page: '/', ...row, at: new Date(at).toISOString() },
    })),
  ];
}

const question = fc.record({
  timezone: zones,
  interval: fc.constantFrom('day', 'week', 'month'),
  from: fc.constantFrom('2026-02-20', '2026-03-01', '2026-03-27'),
  to: fc.constantFrom('2026-03-30', '2026-04-01', '2026-04-20'),
});

const desk = await openWorlds(new Date(NOW).toISOString(), {
  analytics: {
    features: { sites: ['site.created'], reports: ['export', 'login'] },
    funnel: ['signed_up', 'site.created', 'export'],
    activityEvents: ['signed_up', 'site.created', 'login'],
  },
});

const isActivity = ({ name }: Event) => name !== 'export';
const distinct = (values: readonly string[]) => new Set(values).size;
const addDays = (date: string, days: number) =>
  new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
const middle = (values: readonly number[]) => {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  return ((sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) + (sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0)) / 2;
};

describe('activity in generated worlds', () => {
  it('has the active users of the 1, 7 and 30 local days before each point', async () => {
    await fc.assert(
      fc.asyncProperty(events, question, async (happened, asked) => {
        desk.enter(worldOf(happened));
        const { series, totals } = await desk.ask('get_active_users', asked);
        const days = happened
          .filter(isActivity)
          .map((one) => ({ uid: one.uid, date: localDate(asked.timezone, one.time) }));
        const active = (last: string, count: number) =>
          distinct(days.filter(({ date }) => date <= last && date > addDays(last, -count)).map((day) => day.uid));
        const today = localDate(asked.timezone, NOW);
        for (const [at, dates] of naivePeriods(asked.from, asked.to, asked.interval).entries()) {
          const end = dates.at(-1) ?? '';
          const last = end > today && (dates[0] ?? '') <= today ? today : end;
          const { dau, wau, mau } = series[at];
          assert.deepEqual([dau, wau, mau], [active(last, 1), active(last, 7), active(last, 30)], last);
        }
        const past = datesBetween(asked.from, asked.to).filter((date) => date <= today);
        const sticky = past.filter((date) => active(date, 30) > 0).map((date) => active(date, 1) / active(date, 30));
        close(totals.stickiness, sticky.length === 0 ? null : sticky.reduce((a, b) => a + b, 0) / sticky.length);
        const inRange = days.filter(({ date }) => date >= asked.from && date < asked.to);
        assert.equal(totals.activeUsers, distinct(inRange.map((day) => day.uid)));
      }),
      RUNS,
    );
  });

  it('retains the users of each cohort as counted one by one, and cohort sizes add up', async () => {
    await fc.assert(
      fc.asyncProperty(events, question, async (happened, asked) => {
        desk.enter(worldOf(happened));
        const { rows, totals } = await desk.ask('get_cohort_retention', asked);
        const periods = naivePeriods(asked.from, asked.to, asked.interval);
        const today = localDate(asked.timezone, NOW);
        const dates = (user: string) =>
          happened
            .filter((one) => isActivity(one) && one.uid === user)
            .map((one) => localDate(asked.timezone, one.time))
            .sort();
        const users = [...new Set(happened.map((one) => one.uid))];
        for (const [at, period] of periods.entries()) {
          const cohort = users.filter((user) => period.includes(dates(user)[0] ?? ''));
          const values = periods.slice(at).map((later, k) => {
            if (cohort.length === 0) return null;
            if (k === 0) return 1;
            // A period is over once today comes after its last date.
            if ((later.at(-1) ?? '') >= today) return null;
            return cohort.filter((user) => dates(user).some((date) => later.includes(date))).length / cohort.length;
          });
          assert.deepEqual(rows[at], { cohort: period[0], size: cohort.length, values });
        }
        const all = users.filter((user) => (dates(user)[0] ?? '') >= asked.from && (dates(user)[0] ?? '~') < asked.to);
        assert.equal(totals.users, all.length);
        for (const [k, average] of totals.average.entries()) {
          const having = rows.filter(({ values }: { values: (number | null)[] }) => typeof values[k] === 'number');
          const sizes = having.reduce((sum: number, row: { size: number }) => sum + row.size, 0);
          const kept = having.reduce(
            (sum: number, row: { size: number; values: number[] }) => sum + row.size * (row.values[k] ?? 0),
            0,
          );
          close(average, sizes === 0 ? null : kept / sizes);
        }
      }),
      RUNS,
    );
  });

  it('passes the funnel and adopts features as counted one by one', async () => {
    await fc.assert(
      fc.asyncProperty(events, question, async (happened, asked) => {
        desk.enter(worldOf(happened));
        const { rows } = await desk.ask('get_onboarding_funnel', asked);
        const dated = happened.map((one) => ({ ...one, date: localDate(asked.timezone, one.time) }));
        const inRange = dated.filter(({ date }) => date >= asked.from && date < asked.to);
        const users = [...new Set(dated.map((one) => one.uid))];
        const walks = users.map((user) => {
          const times: number[] = [];
          for (const step of ['signed_up', 'site.created', 'export']) {
            const later = inRange.filter(
              (one) => one.uid === user && one.name === step && one.time > (times.at(-1) ?? Number.NEGATIVE_INFINITY),
            );
            if (later.length === 0) break;
            times.push(Math.min(...later.map((one) => one.time)));
          }
          return times;
        });
        const passed = [1, 2, 3].map((step) => walks.filter((times) => times.length >= step).length);
        for (const [at, row] of rows.entries()) {
          assert.equal(row.users, passed[at]);
          close(row.conversionFromFirst, passed[0] ? (passed[at] ?? 0) / passed[0] : null);
          close(
            row.conversionFromPrevious,
            at > 0 && passed[at - 1] ? (passed[at] ?? 0) / (passed[at - 1] ?? 0) : null,
          );
          const waits = walks.flatMap((times) =>
            at > 0 && times.length > at ? [((times[at] ?? 0) - (times[at - 1] ?? 0)) / 1000] : [],
          );
          close(row.medianSecondsFromPrevious, middle(waits));
        }
        const adoption = await desk.ask('get_feature_adoption', asked);
        const active = distinct(inRange.filter(isActivity).map((one) => one.uid));
        const features: [string, string[]][] = [
          ['sites', ['site.created']],
          ['reports', ['export', 'login']],
        ];
        for (const [at, [feature, own]] of features.entries()) {
          const using = [...new Set(inRange.filter(({ name }) => own.includes(name)).map((one) => one.uid))];
          const before = (user: string) =>
            dated.some((one) => one.uid === user && own.includes(one.name) && one.date < asked.from);
          const row = adoption.rows[at];
          assert.deepEqual(
            [row.feature, row.users, row.firstTimeUsers],
            [feature, using.length, using.filter((user) => !before(user)).length],
          );
          close(row.adoption, active === 0 ? null : using.length / active);
        }
      }),
      RUNS,
    );
  });
});

const CHANNELS: Record<string, string> = {
  undefined: 'Direct',
  'https://www.google.de/search': 'Search',
  'https://t.co/x': 'Social',
  'https://blog.example/post': 'Referral',
  'https://mail.google.com/': 'Mail',
};

interface Session {
  readonly visits: Visit[];
}

/** Visit by visit: joins the visitor's last session unless more than 30 minutes have passed. Ties stay in order of import. */
function naiveSessions(seen: readonly Visit[]): Session[] {
  const sessions: Session[] = [];
  for (const one of seen.map((row, at) => ({ row, at })).sort((a, b) => a.row.time - b.row.time || a.at - b.at)) {
    const last = sessions.findLast(({ visits: [head] }) => head?.visitor === one.row.visitor);
    if (last && one.row.time - (last.visits.at(-1)?.time ?? 0) <= 1_800_000) last.visits.push(one.row);
    else sessions.push({ visits: [one.row] });
  }
  return sessions;
}

describe('traffic in generated worlds', () => {
  function naive(sessions: readonly Session[], happened: readonly Event[], within: (time: number) => boolean) {
    const rows = sessions.flatMap((session) => session.visits).filter((row) => within(row.time));
    const begun = sessions.filter(({ visits: [head] }) => head && within(head.time));
    const bounced = begun.filter(({ visits: [head, second] }) => {
      const busy = happened.some(
        (one) => head && one.uid === head.uid && one.time >= head.time && one.time <= head.time + 1_800_000,
      );
      return !second && !busy;
    });
    return {
      visitors: distinct(rows.map(({ visitor }) => visitor)),
      sessions: begun.length,
      pageViews: rows.length,
      bounceRate: begun.length === 0 ? null : bounced.length / begun.length,
      medianDurationSeconds: middle(
        begun.map(({ visits: all }) => ((all.at(-1)?.time ?? 0) - (all[0]?.time ?? 0)) / 1000),
      ),
    };
  }

  it('is what the naive rule makes of it, per period, channel, country and device', async () => {
    await fc.assert(
      fc.asyncProperty(visits, events, question, async (seen, happened, asked) => {
        desk.enter(worldOf(happened, seen));
        const sessions = naiveSessions(seen);
        const between = (from: string, to: string) => (time: number) => {
          const date = localDate(asked.timezone, time);
          return date >= from && date < to;
        };
        const { series, totals } = await desk.ask('get_traffic_visitors', asked);
        assert.deepEqual(totals, naive(sessions, happened, between(asked.from, asked.to)));
        const periods = naivePeriods(asked.from, asked.to, asked.interval);
        for (const [at, dates] of periods.entries()) {
          const { from, to, complete: _, ...shown } = series[at];
          assert.deepEqual([from, to], [dates[0], periods[at + 1]?.[0] ?? asked.to]);
          assert.deepEqual(shown, naive(sessions, happened, between(from, to)));
        }
        const splits = {
          get_traffic_channels: (row: Visit) => CHANNELS[String(row.referrer)] ?? '',
          get_traffic_geography: (row: Visit) => row.country ?? 'unknown',
          get_traffic_technology: (row: Visit) => row.device ?? 'unknown',
        };
        for (const [tool, pick] of Object.entries(splits)) {
          const { rows } = await desk.ask(tool, asked);
          for (const { dimension, value, shareOfSessions: _, ...shown } of rows) {
            if (dimension === 'browser' || dimension === 'os') continue;
            const own = sessions.filter(({ visits: [head] }) => head && pick(head) === value);
            assert.deepEqual(shown, naive(own, happened, between(asked.from, asked.to)), `${tool} ${value}`);
          }
          const counted = rows.filter(
            ({ dimension }: { dimension: string }) => dimension !== 'browser' && dimension !== 'os',
          );
          assert.equal(
            counted.reduce((sum: number, row: { sessions: number }) => sum + row.sessions, 0),
            totals.sessions,
          );
        }
      }),
      RUNS,
    );
  });

  it('is the same in whatever order the rows come, and when they come twice', async () => {
    const apart = fc.uniqueArray(visit, { selector: (row) => `${row.visitor} ${row.time}`, maxLength: 30 });
    const later = fc.uniqueArray(event, { selector: (row) => `${row.uid} ${row.time}`, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        apart,
        later,
        fc.array(fc.nat(), { minLength: 60, maxLength: 60 }),
        async (seen, happened, order) => {
          const world = worldOf(happened, seen);
          const asked = { from: '2026-03-01', to: '2026-04-05', interval: 'week', timezone: 'Europe/Berlin' };
          const answers = [];
          for (const rows of [world, shuffled(world, order), [...world, ...world]]) {
            desk.enter(rows);
            const asks = [
              'get_traffic_visitors',
              'get_traffic_channels',
              'get_active_users',
              'get_onboarding_funnel',
              'get_cohort_retention',
            ];
            answers.push(await Promise.all(asks.map((tool) => desk.ask(tool, asked))));
          }
          assert.deepEqual(answers[1], answers[0]);
          assert.deepEqual(answers[2], answers[0]);
        },
      ),
      RUNS,
    );
  });
});
