import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fc } from '../../support/property.ts';
import { RUNS } from './rounds.ts';
import { close, localDate, naivePeriods, openWorlds, type Raw, shuffled, type World, zones } from './worlds.ts';

const DAY = 86_400_000;
const first = Date.parse('2025-12-20T00:00:00Z');
/** Days and hours around month ends, so that zones matter. */
const time = fc
  .record({ day: fc.nat(190), hour: fc.constantFrom(0, 0, 1, 5, 12, 18, 22, 23) })
  .map(({ day, hour }) => new Date(first + day * DAY + hour * 3_600_000).toISOString());
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 1 });

const statement = fc.record({
  amount: fc.constantFrom(0, 999, 1000, 1500, 3333, 12000),
  quantity: fc.constantFrom(1, 1, 2, 7),
  interval: fc.constantFrom('day', 'week', 'month', 'month', 'year'),
  intervalCount: fc.constantFrom(1, 1, 3, 6),
  plan: fc.constantFrom('basic', 'pro'),
  discount: fc.option(
    fc.record({ percent: fc.constantFrom(10, 50, 33.3, 100), amount: fc.constantFrom(500, 99999), ends: maybe(time) }),
    { nil: undefined, freq: 1 },
  ),
  trialEnd: maybe(time),
  endedAt: maybe(time),
  status: fc.constantFrom('active', 'active', 'past_due', 'trialing'),
  startedAt: time,
  effectiveAt: time,
  usePercent: fc.boolean(),
});

/** Subscriptions of a few customers, each with its successive states. */
const worlds: fc.Arbitrary<World> = fc
  .array(
    fc.record({ uid: fc.constantFrom('A', 'B', 'C'), statements: fc.array(statement, { minLength: 1, maxLength: 3 }) }),
    {
      maxLength: 6,
    },
  )
  .map((subscriptions) =>
    subscriptions.flatMap(({ uid, statements }, at) => {
      const distinct = new Map(statements.map((one) => [one.effectiveAt, one]));
      return [...distinct.values()].map(({ discount, usePercent, ...one }) => ({
        type: 'subscriptions' as const,
        row: {
          id: `s${at}`,
          uid,
          currency: 'EUR',
          ...one,
          ...(discount && (usePercent ? { discountPercent: discount.percent } : { discountAmount: discount.amount })),
          ...(discount && { discountEndsAt: discount.ends }),
        } as Raw,
      }));
    }),
  );

const ms = (value: unknown) => (value === undefined ? Number.POSITIVE_INFINITY : Date.parse(String(value)));

/** The rule once more, without any index: what the customer's subscriptions bring a month at an instant, in minor units. */
function naiveMrr(world: World, uid: string, at: number): number {
  const ids = [...new Set(world.filter(({ row }) => row.uid === uid).map(({ row }) => row.id))];
  return ids.reduce((sum: number, id) => {
    const states = world
      .map(({ row }) => row)
      .filter((row) => row.id === id)
      .sort((a, b) => ms(a.effectiveAt) - ms(b.effectiveAt));
    const index = Math.max(
      0,
      states.findLastIndex((state) => ms(state.effectiveAt) <= at),
    );
    const state = states[index];
    if (!state) return sum;
    const ended = states.slice(index).some((later) => ms(later.endedAt) <= at);
    const inTrial = state.trialEnd === undefined ? state.status === 'trialing' : at < ms(state.trialEnd);
    if (ended || at < ms(state.startedAt) || inTrial) return sum;
    const full = Number(state.amount) * Number(state.quantity);
    const off =
      state.discountPercent === undefined
        ? Number(state.discountAmount ?? 0)
        : (full * Number(state.discountPercent)) / 100;
    const price = at < ms(state.discountEndsAt) ? Math.max(0, full - off) : full;
    const months = { day: 12 / 365, week: 12 / 52, month: 1, year: 12 }[String(state.interval)] ?? 1;
    return sum + price / (months * Number(state.intervalCount));
  }, 0);
}

const customers = ['A', 'B', 'C'];

/** Every instant at which anything could change. */
function instants(world: World): number[] {
  return world.flatMap(({ row }) => Object.values(row).map(ms)).filter(Number.isFinite);
}

function hasPaidBefore(world: World, uid: string, at: number): boolean {
  return instants(world).some((instant) => instant < at && naiveMrr(world, uid, instant) > 1e-6);
}

function naiveMovement(world: World, from: number, to: number) {
  const sums = {
    start: 0,
    new: 0,
    reactivation: 0,
    expansion: 0,
    contraction: 0,
    churn: 0,
    end: 0,
    customers: 0,
    lost: 0,
  };
  for (const uid of customers) {
    // A change at a limit belongs to what comes after it.
    const [was, is] = [naiveMrr(world, uid, from - 1), naiveMrr(world, uid, to - 1)];
    sums.start += was;
    sums.end += is;
    if (was > 0) sums.customers += 1;
    if (was === 0 && is > 0) sums[hasPaidBefore(world, uid, from) ? 'reactivation' : 'new'] += is;
    else if (was > 0 && is === 0) {
      sums.churn += was;
      sums.lost += 1;
    } else if (is > was) sums.expansion += is - was;
    else sums.contraction += was - is;
  }
  return sums;
}

const starts = new Map<string, number>();

/** The first quarter of an hour at which clocks in the zone show the date. */
function naiveStart(zone: string, date: string): number {
  const key = `${zone} ${date}`;
  let at = starts.get(key);
  if (at === undefined) {
    at = Date.parse(date) - 15 * 3_600_000;
    while (localDate(zone, at) < date) at += 900_000;
    starts.set(key, at);
  }
  return at;
}

const question = fc.record({
  timezone: zones,
  interval: fc.constantFrom('week', 'month', 'month'),
  from: fc.constantFrom('2026-01-01', '2026-01-10', '2026-02-01'),
  to: fc.constantFrom('2026-03-30', '2026-04-01', '2026-06-15'),
});

const desk = await openWorlds('2026-07-01T10:00:00Z', {});

const parts = ['start', 'new', 'reactivation', 'expansion', 'contraction', 'churn', 'end'] as const;

describe('revenue in generated worlds', () => {
  it('moves as the naive rule says, and the bridge closes to the cent', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, question, async (world, asked) => {
        desk.enter(world);
        const mrr = await desk.ask('get_mrr', asked);
        const churn = await desk.ask('get_churn', asked);
        const periods = naivePeriods(asked.from, asked.to, asked.interval);
        assert.equal(mrr.series.length, periods.length);
        for (const [at, dates] of periods.entries()) {
          const [from = '', next = ''] = [dates[0], periods[at + 1]?.[0] ?? asked.to];
          const expected = naiveMovement(world, naiveStart(asked.timezone, from), naiveStart(asked.timezone, next));
          const point = mrr.series[at];
          assert.deepEqual([point.from, point.to], [from, next]);
          for (const part of parts) close(point[part], expected[part] / 100, 0.01 + 1e-6, `${from} ${part}`);
          for (const limit of ['start', 'end'] as const)
            close(point[limit], expected[limit] / 100, 0.005 + 1e-6, limit);
          assertCloses(point);
          const lost = churn.series[at];
          assert.deepEqual([lost.customersAtStart, lost.churnedCustomers], [expected.customers, expected.lost]);
          close(lost.customerChurn, expected.customers === 0 ? null : expected.lost / expected.customers);
          const gross = expected.start === 0 ? null : (expected.churn + expected.contraction) / expected.start;
          close(lost.grossMrrChurn, gross, 1e-6, 'gross');
          const back = expected.expansion + expected.reactivation;
          close(lost.netMrrChurn, gross === null ? null : gross - back / expected.start, 1e-6, 'net');
          assert.deepEqual(
            [lost.startMrr, lost.churnedMrr, lost.contractionMrr],
            [point.start, point.churn, point.contraction],
          );
        }
        assertCloses(mrr.totals);
        const { start, churn: churned, contraction } = mrr.totals;
        const { startMrr, churnedMrr, contractionMrr } = churn.totals;
        assert.deepEqual([startMrr, churnedMrr, contractionMrr], [start, churned, contraction]);
      }),
      RUNS,
    );
  });

  it('is the same in whatever order the rows come, and when they come twice', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, fc.array(fc.nat(), { minLength: 20, maxLength: 20 }), async (world, order) => {
        const asked = { from: '2026-01-01', to: '2026-06-01', interval: 'month' };
        const answers = [];
        for (const rows of [world, shuffled(world, order), [...world, ...world]]) {
          desk.enter(rows);
          answers.push(await desk.ask('get_mrr', asked), await desk.ask('get_subscriptions', asked));
        }
        assert.deepEqual(answers.slice(2, 4), answers.slice(0, 2));
        assert.deepEqual(answers.slice(4, 6), answers.slice(0, 2));
      }),
      RUNS,
    );
  });

  it('gives a lifetime value by ARPA and the mean churn of six months', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, zones, async (world, timezone) => {
        desk.enter(world);
        const { series } = await desk.ask('get_ltv', {
          from: '2026-06-01',
          to: '2026-07-01',
          interval: 'month',
          timezone,
        });
        const months = ['2025-12', '2026-01', '2026-02', '2026-03', '2026-04', '2026-05', '2026-06', '2026-07'];
        const limits = months.map((month) => naiveStart(timezone, `${month}-01`));
        const last = limits.at(-1) ?? 0;
        const complete = last <= Date.parse('2026-07-01T10:00:00Z') ? limits.slice(1) : limits.slice(0, -1);
        const rates = complete.slice(1).flatMap((to, at) => {
          const { customers: had, lost } = naiveMovement(world, complete[at] ?? 0, to);
          return had === 0 ? [] : [lost / had];
        });
        const mean = rates.length === 0 ? null : rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
        const values = customers.map((uid) => naiveMrr(world, uid, last - 1));
        const paying = values.filter((value) => value > 0).length;
        const arpa = paying === 0 ? null : values.reduce((sum, value) => sum + value, 0) / paying / 100;
        close(series[0].meanMonthlyChurn, mean, 1e-9, 'churn');
        close(series[0].arpa, arpa, 0.005 + 1e-6, 'arpa');
        close(series[0].ltv, arpa === null || !mean ? null : arpa / mean, 0.005 + 1e-4, 'ltv');
      }),
      RUNS,
    );
  });
});

/** The sum in whole cents, as a reader adds up the shown amounts. */
function assertCloses(point: Record<(typeof parts)[number], number>): void {
  const cents = (part: (typeof parts)[number]) => Math.round(point[part] * 100);
  const sum =
    cents('start') + cents('new') + cents('reactivation') + cents('expansion') - cents('contraction') - cents('churn');
  assert.equal(sum, cents('end'), JSON.stringify(point));
  for (const part of parts) assert.ok(point[part] >= 0, `${part} of ${JSON.stringify(point)}`);
}
