import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { usageIn } from '../../tools/usage/figures.ts';
import { Histogram } from '../../tools/usage/histogram.ts';
import { rollUp } from '../../tools/usage/roll-ups.ts';
import { firstHour, sourcesOf } from '../../tools/usage/sources.ts';
import { rounds } from '../support/full.ts';
import { pluck } from '../support/pluck.ts';
import { fc } from '../support/property.ts';
import { openTestRegistry, principalOf, type TestRegistry } from '../support/registry.ts';
import { writing } from '../support/writing.ts';
import { enter, figuresOf, type Happened, HOUR_MS, happened, START, tally, tokensOf } from './usage-events.ts';

const admin = principalOf({ type: 'session', id: 'usr_ann', scopes: ['*'] });

const LABELS: Readonly<Record<string, string>> = {
  agent: 'agent',
  key: 'api-key',
  capsule: 'capsule',
  app: 'app',
  user: 'session',
  flow: 'flow',
};

/** The label of an event, found in the plainest way. */
function labelOf(event: Happened, by: string, isRun: boolean): string | undefined {
  if (by === 'tool') return isRun ? 'invoke_agent' : event.tool;
  if (by === 'model') return isRun ? event.model : undefined;
  if (by === 'integration') return isRun || !event.tool.includes('__') ? undefined : event.tool.split('__')[0];
  return event.who.find(([type]) => type === LABELS[by])?.[1];
}

/** Calls, errors, latency and tokens of what has the label, counted one by one. */
function recount(events: readonly Happened[], by: string, key: string) {
  const calls = events.filter((event) => labelOf(event, by, false) === key);
  const runs = events.filter((event) => event.model && labelOf(event, by, true) === key);
  const isModel = by === 'model';
  const times = (isModel ? runs.flatMap(({ turns, ms }) => turns.map(() => Math.round(ms))) : calls.map(({ ms }) => ms))
    .slice()
    .sort((one, other) => one - other);
  const at = (part: number) => times[Math.max(0, Math.ceil(times.length * part) - 1)] ?? null;
  const failed = (list: readonly Happened[]) => list.filter(({ outcome }) => outcome !== 'ok').length;
  return {
    key,
    calls: times.length,
    errors: failed(isModel ? runs : calls),
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    ...tokensOf(runs.flatMap(({ turns }) => turns)),
  };
}

const GROUPINGS = ['agent', 'model', 'key', 'capsule', 'app', 'user', 'flow', 'tool', 'integration'];
const range = { from: new Date(START).toISOString(), to: new Date(START + 48 * HOUR_MS).toISOString() };
const usageOf = async (world: TestRegistry, input: object) => {
  const answer = await world.call(admin, 'get_usage', input);
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into outputs freely
  return 'output' in answer ? (answer.output as any) : assert.fail(JSON.stringify(answer.error));
};
describe('get_usage', () => {
  it('equals a recount of the audit log and the runs, by every grouping, period and in all', async () => {
    const world = await openTestRegistry(() => new Date('2026-03-10T00:00:00Z'));
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(happened, { minLength: 1, maxLength: 40 }), async (events) => {
        round += 1;
        const start = START + round * 1000 * HOUR_MS; // each round has days of its own
        const moved = events.map((event) => ({ ...event, at: event.at - START + start }));
        await enter(world.store, moved);
        const from = new Date(start).toISOString();
        const to = new Date(start + 48 * HOUR_MS).toISOString();
        for (const by of GROUPINGS) {
          const { rows, totals, series } = await usageOf(world, { by, interval: 'hour', from, to, limit: 100 });
          const keys = [false, true].flatMap((isRun) =>
            moved.flatMap((event) => (isRun && !event.model ? [] : (labelOf(event, by, isRun) ?? []))),
          );
          const wanted = [...new Set(keys)].map((key) => recount(moved, by, key)).filter(isSomething);
          const shown = rows
            .filter(isSomething)
            .map(({ cost: _, name: __, ...row }: { cost: unknown; name: unknown }) => row);
          assert.deepEqual(byKey(shown), byKey(wanted), by);
          const sum = (member: string) =>
            series.reduce((all: number, each: Record<string, number>) => all + (each[member] ?? 0), 0);
          for (const member of ['calls', 'errors', 'inputTokens', 'outputTokens'])
            assert.equal(sum(member), totals[member]);
          if (by === 'tool') assert.equal(totals.calls, moved.length);
        }
      }),
      { numRuns: rounds(5, 60), seed: 20261122 },
    );
  });

  it('says the same from kept figures, counts what is not kept, and goes on when calls and runs are deleted', async () => {
    const world = await openTestRegistry(() => new Date('2026-03-10T00:00:00Z')); // its own calls lie outside the range
    const { store } = world;
    const events = fc.sample(happened, { numRuns: 400, seed: 7 });
    await enter(store, events);
    const span = { from: START, to: START + 31 * HOUR_MS };
    const exact = await tally(usageIn(figuresOf(store), span));
    assert.deepEqual(await tally(usageIn(figuresOf(store), span, {}, 0)), exact);
    await rollUp(store, new Date(START + 22.5 * HOUR_MS));
    await rollUp(store, new Date(START + 22.5 * HOUR_MS));
    assert.equal(await store.usageHours.count({ where: { source: 'calls' } }), 21);
    assert.deepEqual(await tally(usageIn(figuresOf(store), span, {}, 0)), exact);
    assert.deepEqual(await tally(usageIn(figuresOf(store), span)), exact);

    const late = { ...(events[0] as Happened), at: START + 20 * HOUR_MS };
    await enter(store, [late]);
    await rollUp(store, new Date(START + 22.5 * HOUR_MS));
    const more = await tally(usageIn(figuresOf(store), span));
    assert.notDeepEqual(more, exact);
    assert.deepEqual(await tally(usageIn(figuresOf(store), span, {}, 0)), more);

    await rollUp(store, new Date(START + 26 * HOUR_MS));
    const questions = GROUPINGS.flatMap((by) => [
      { by, ...range },
      { by, ...range, filter: { agent: 'agt_one', tool: 'get_skill' } },
      { by, ...range, filter: { integration: 'git', key: 'key_one' } },
    ]);
    const before = await Promise.all(questions.map((question) => usageOf(world, question)));
    await store.audit.prune(new Date(START + 24 * HOUR_MS).toISOString());
    const runs = await store.agentRuns.find({ limit: 1000, to: new Date(START + 10 * HOUR_MS).toISOString() });
    await store.transaction(async (tx) => {
      for (const { id } of runs.records) await tx.agentRuns.delete(id);
    });
    assert.deepEqual(await tally(usageIn(figuresOf(store), span)), more);
    for (const [place, question] of questions.entries()) {
      const after = await usageOf(world, question);
      for (const rows of ['rows', 'series']) {
        for (const [at, row] of after[rows].entries()) {
          const was = before[place][rows][at];
          for (const member of ['p50Ms', 'p95Ms']) assertNear(row[member], was[member]);
          assert.deepEqual({ ...row, p50Ms: 0, p95Ms: 0 }, { ...was, p50Ms: 0, p95Ms: 0 }, JSON.stringify(question));
        }
      }
    }
  });

  it('keeps no hour before all that began in it can be counted', async () => {
    const world = await openTestRegistry(() => new Date('2026-03-02T00:00:00Z'));
    const { store } = world;
    const [some = assert.fail()] = fc.sample(happened, { numRuns: 50, seed: 7 }).filter(({ model }) => model);
    const keptAt = async (hours: number) => {
      await rollUp(store, new Date(START + hours * HOUR_MS));
      const { records } = await store.usageHours.find({ limit: 10 });
      return records.map(({ source, createdAt, counted }) => `${source} ${createdAt.slice(11, 13)} ${counted}`).sort();
    };
    await enter(store, [{ ...some, at: START + 10.2 * HOUR_MS }]);
    assert.deepEqual(await keptAt(10.5), [], 'the hour goes on');
    assert.deepEqual(await keptAt(11.9), [], 'a call that began in it can still end');
    await enter(store, [{ ...some, at: START + 10.9 * HOUR_MS }]);
    const [run = assert.fail()] = (await store.agentRuns.find({ limit: 1 })).records;
    await writing(store).agentRuns.update(run.id, { status: 'running' });
    assert.deepEqual(await keptAt(12.1), ['calls 10 2'], 'a run of it goes on');
    await writing(store).agentRuns.update(run.id, { status: 'succeeded' });
    assert.deepEqual(await keptAt(12.1), ['calls 10 2', 'runs 10 2']);
  });

  it('finds the first hour that has anything, however far from the beginning', async () => {
    const { store } = await openTestRegistry(() => new Date('2026-03-10T00:00:00Z'));
    const [some = assert.fail()] = fc.sample(happened, { numRuns: 50, seed: 7 }).filter(({ model }) => model);
    await enter(store, [{ ...some, at: START + 100.3 * HOUR_MS }]);
    for (const source of sourcesOf(figuresOf(store))) {
      assert.equal(await firstHour(source, { from: START, to: START + 200 * HOUR_MS }), START + 100 * HOUR_MS);
      assert.equal(await firstHour(source, { from: START, to: START + 90 * HOUR_MS }), undefined);
    }
  });

  it('knows percentiles within 2 % from histograms', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 600_000_000 }), { minLength: 1, maxLength: 300 }), (micros) => {
        const [exact, kept] = [new Histogram(), new Histogram()];
        for (const each of micros) exact.add(each / 1000);
        kept.addBuckets(exact.buckets);
        const parts = [0, 0.5, 0.9, 0.95, 1];
        const found = kept.percentiles(parts);
        for (const [at, value] of exact.percentiles(parts).entries()) assertNear(found[at], value);
      }),
    );
  });

  it('prices tokens by the day, in the currency of the workspace, and never takes an unknown price for 0', async () => {
    const world = await openTestRegistry(() => new Date('2026-03-10T00:00:00Z'));
    const at = (date: string) => Date.parse(`${date}T10:00:00Z`);
    const base = { who: [['api-key', 'key_one']], tool: 'get_skill', ms: 1, outcome: 'ok' } as const;
    const turns = [[1_000_000, 500_000]] as const;
    await enter(world.store, [
      { ...base, at: at('2026-03-01'), model: 'one/small', turns },
      { ...base, at: at('2026-03-03'), model: 'one/small', turns },
      { ...base, at: at('2026-03-03'), model: 'one/yen', turns },
    ]);
    const ask = { by: 'model', ...range, to: '2026-03-09T00:00:00Z' };
    const costs = async () => {
      const { rows, totals, unpriced } = await usageOf(world, ask);
      return [Object.fromEntries(pluck(rows, 'key', 'cost')), totals.cost, unpriced];
    };
    const settle = async (input: object) => assert.ok('output' in (await world.call(admin, 'update_settings', input)));
    assert.deepEqual(await costs(), [{ 'one/small': null, 'one/yen': null }, null, ['one/small', 'one/yen']]);
    const small = { model: 'one/small', currency: 'USD' };
    const yen = { model: 'one/yen', from: '2026-01-01', currency: 'JPY', input: 150, output: 300 };
    await settle({
      prices: [
        { ...small, from: '2026-03-02', input: 0.15, output: 0.6 },
        { ...small, from: '2026-01-01', input: 0.1, output: 0.4 },
        yen,
      ],
    });
    assert.deepEqual(await costs(), [{ 'one/small': 0.75, 'one/yen': null }, null, ['one/yen']]);
    await settle({ exchangeRates: [{ month: '2026-03', currency: 'JPY', rate: 0.01 }] });
    assert.deepEqual(await costs(), [{ 'one/small': 0.75, 'one/yen': 3 }, 3.75, []]);
    await settle({ prices: [{ ...small, from: '2026-01-01', input: 0, output: 0 }, yen] });
    assert.deepEqual(await costs(), [{ 'one/small': 0, 'one/yen': 3 }, 3, []]);
    assert.match(
      (await world.refused(admin, 'update_settings', { prices: [yen, yen] })).error,
      /one\/yen has a price from 2026-01-01 on already/,
    );
  });

  it('shows periods of the workspace, names, and one page of rows after the other', async () => {
    const world = await openTestRegistry(() => new Date('2026-03-02T12:20:00Z'));
    await world.call(admin, 'update_settings', { timezone: 'America/New_York' });
    const made = await world.call(admin, 'create_api_key', { name: 'robot', scopes: ['read'] });
    const id = 'output' in made ? String(made.output.id) : '';
    const call = (at: string, key: string): Happened => {
      return {
        at: Date.parse(at),
        who: [['api-key', key]],
        tool: 'get_skill',
        ms: 5,
        outcome: 'ok',
        model: undefined,
        turns: [],
      };
    };
    await enter(world.store, [
      call('2026-03-01T04:30:00Z', id),
      call('2026-03-01T05:30:00Z', id),
      call('2026-03-01T05:31:00Z', 'key_gone'),
    ]);
    const asked = { by: 'key', from: '2026-02-28T00:20:00Z', to: '2026-03-02T04:40:00Z', limit: 1 };
    const first = await usageOf(world, asked);
    assert.deepEqual(first.range, {
      from: '2026-02-28T00:00:00.000Z',
      to: '2026-03-02T05:00:00.000Z',
      timezone: 'America/New_York',
    });
    assert.deepEqual(pluck(first.series, 'from', 'calls'), [
      ['2026-02-28T00:00:00.000Z', 0],
      ['2026-02-28T05:00:00.000Z', 1],
      ['2026-03-01T05:00:00.000Z', 2],
    ]);
    assert.deepEqual([first.rows[0].key, first.rows[0].name, first.rows[0].calls], [id, 'robot', 2]);
    const second = await usageOf(world, { ...asked, cursor: first.nextCursor });
    assert.deepEqual([second.rows[0].key, second.rows[0].name, second.nextCursor], ['key_gone', undefined, null]);
    assert.equal(
      await world.codeOf(admin, 'get_usage', { ...asked, by: 'tool', cursor: first.nextCursor }),
      'invalid_input',
    );
  });

  it('refuses ranges of more periods than it shows before it makes them, and those far from any data', async () => {
    const world = await openTestRegistry(() => new Date('2026-03-02T12:20:00Z'));
    const ask = (interval: string, from: string, to?: string) =>
      world.call(admin, 'get_usage', { by: 'key', interval, from, ...(to && { to }) });
    for (const interval of ['hour', 'day', 'week', 'month']) {
      const long = await ask(interval, '1900-01-01T00:00:00Z', '2199-12-30T00:00:00Z');
      assert.match('error' in long ? long.error.error : '', /give a later `from` or a longer interval/);
      for (const year of ['1900', '2199']) {
        const short = await ask(interval, `${year}-03-01T00:00:00Z`, `${year}-03-09T00:00:00Z`);
        assert.ok('output' in short, JSON.stringify(short));
      }
      for (const to of ['1900-01-01T00:30:00Z', '2199-12-31T23:59:59.999Z']) {
        await world.must(admin, 'get_usage', { by: 'key', interval, to });
      }
      for (const to of ['0001-01-01T00:30:00Z', '1899-12-31T00:00:00Z', '9999-12-30T23:59:59.975Z']) {
        assert.match(
          (await world.refused(admin, 'get_usage', { by: 'key', interval, to })).error,
          /Give a time from 1900/,
        );
      }
    }
    const hours = await ask('hour', '2020-01-01T00:00:00Z');
    assert.equal('error' in hours && hours.error.code, 'invalid_input');
  });
});

function isSomething({ calls, errors, inputTokens, outputTokens }: ReturnType<typeof recount>): boolean {
  return calls + errors + inputTokens + outputTokens > 0;
}

function byKey<Row extends { readonly key: string }>(rows: readonly Row[]): Row[] {
  return [...rows].sort((one, other) => (one.key < other.key ? -1 : 1));
}

function assertNear(found: number | null | undefined, exact: number | null): void {
  if (exact === null) assert.equal(found, null);
  else assert.ok(Math.abs((found ?? Number.NaN) - exact) <= exact * 0.02 + 0.0005, `${found} is not ${exact}`);
}
