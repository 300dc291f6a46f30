import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { usageIn } from '../../tools/usage/figures.ts';
import { Histogram } from '../../tools/usage/histogram.ts';
import { rollUp, startRollUps } from '../../tools/usage/roll-ups.ts';
import { firstHour, sourcesOf } from '../../tools/usage/sources.ts';
import { UsageBuckets } from '../../tools/usage/usage-buckets.ts';
import { rounds } from '../support/full.ts';
import { pluck } from '../support/pluck.ts';
import { fc } from '../support/property.ts';
import { openTestRegistry, principalOf, type TestRegistry } from '../support/registry.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';
import { enter, entryOf, figuresOf, type Happened, HOUR_MS, happened, START, tally, tokensOf } from './usage-events.ts';

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

/** Whether a person read it in the dashboard. */
function isOwnRead({ who, tool }: Happened): boolean {
  return who.length === 1 && who[0]?.[0] === 'session' && !tool.includes('__');
}

/** Calls, errors, latency and tokens of what has the label, counted one by one. */
function recount(events: readonly Happened[], by: string, key: string, withReads = true) {
  const isCounted = (event: Happened) => withReads || !isOwnRead(event);
  const calls = events.filter((event) => isCounted(event) && labelOf(event, by, false) === key);
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
        for (const [by, dashboardReads] of GROUPINGS.flatMap((by) => [[by, true] as const, [by, false] as const])) {
          const question = { by, interval: 'hour', from, to, limit: 100, dashboardReads };
          const { rows, totals, series } = await usageOf(world, question);
          const keys = [false, true].flatMap((isRun) =>
            moved.flatMap((event) => (isRun && !event.model ? [] : (labelOf(event, by, isRun) ?? []))),
          );
          const wanted = [...new Set(keys)].map((key) => recount(moved, by, key, dashboardReads)).filter(isSomething);
          const shown = rows
            .filter(isSomething)
            .map(({ cost: _, name: __, ...row }: { cost: unknown; name: unknown }) => row);
          assert.deepEqual(byKey(shown), byKey(wanted), by);
          const sum = (member: string) =>
            series.reduce((all: number, each: Record<string, number>) => all + (each[member] ?? 0), 0);
          for (const member of ['calls', 'errors', 'inputTokens', 'outputTokens'])
            assert.equal(sum(member), totals[member]);
          if (by === 'tool' && dashboardReads) assert.equal(totals.calls, moved.length);
        }
      }),
      { numRuns: rounds(5, 60), seed: 20261122 },
    );
  });

  it('counts hours anew that a clock which was ahead kept before they were over', async () => {
    const { store } = await openTestRegistry(() => new Date('2026-03-10T00:00:00Z'));
    const events = fc.sample(happened, { numRuns: 100, seed: 7 });
    await enter(store, events);
    await rollUp(store, new Date(START + 33 * HOUR_MS));
    await enter(store, [{ ...(events[0] as Happened), at: START + 9.5 * HOUR_MS }]);
    await rollUp(store, new Date(START + 10 * HOUR_MS));
    const span = { from: START, to: START + 31 * HOUR_MS };
    const counted = await tally(usageIn(figuresOf(store), span));
    assert.deepEqual(await tally(usageIn(figuresOf(store), span, {}, 0)), counted);
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
      { by, ...range, dashboardReads: false },
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

  it('leaves out own reads and calls alike, whether it counts all, parts or kept hours', async () => {
    const { store } = await openTestRegistry(() => new Date('2026-03-10T00:00:00Z'));
    await enter(store, fc.sample(happened, { numRuns: 300, seed: 9 }));
    const span = { from: START, to: START + 31 * HOUR_MS };
    const ownReads = new Set(['get_skill', 'list_agents']);
    const questions = [{}, { ownReads }, { onlyRuns: true }];
    const found = (most?: number) =>
      Promise.all(questions.map((question) => tally(usageIn(figuresOf(store), span, question, most))));
    const exact = await found();
    assert.equal(new Set(exact.map((each) => JSON.stringify(each))).size, questions.length);
    assert.deepEqual(await found(0), exact);
    await rollUp(store, new Date(START + 15.5 * HOUR_MS));
    assert.deepEqual(await found(0), exact);
  });

  it('sees what a run does that it counted before while the run was under way', async () => {
    const { store } = await openTestRegistry(() => new Date('2026-03-10T00:00:00Z'));
    const [some = assert.fail()] = fc
      .sample(happened, { numRuns: 50, seed: 7 })
      .filter(({ turns }) => turns.length > 1);
    await enter(store, [{ ...some, model: 'one/small', at: START + 10.2 * HOUR_MS }]);
    const [run = assert.fail()] = (await store.agentRuns.find({ limit: 1 })).records;
    const span = { from: START, to: START + 12 * HOUR_MS };
    const found = () => tally(usageIn(figuresOf(store), span, { onlyRuns: true }, 0));
    const whole = await tally(usageIn(figuresOf(store), span, { onlyRuns: true }));
    await writing(store).agentRuns.update(run.id, { status: 'running', turns: run.turns?.slice(0, 1) ?? [] });
    assert.notDeepEqual(await found(), whole);
    await writing(store).agentRuns.update(run.id, { status: run.status, turns: run.turns ?? [] });
    assert.deepEqual(await found(), whole);
  });

  it('goes on saying the same when runs in the middle of kept hours are deleted', async () => {
    const { store } = await openTestRegistry(() => new Date('2026-03-10T00:00:00Z'));
    await enter(store, fc.sample(happened, { numRuns: 200, seed: 7 }));
    const span = { from: START, to: START + 31 * HOUR_MS };
    await rollUp(store, new Date(START + 33 * HOUR_MS));
    const before = await tally(usageIn(figuresOf(store), span));
    const middle = {
      from: new Date(START + 12 * HOUR_MS).toISOString(),
      to: new Date(START + 13 * HOUR_MS).toISOString(),
    };
    const { records } = await store.agentRuns.find({ limit: 1000, ...middle });
    assert.ok(records.length > 0);
    await store.transaction(async (tx) => {
      for (const { id } of records) await tx.agentRuns.delete(id);
    });
    assert.deepEqual(await tally(usageIn(figuresOf(store), span)), before);
    await rollUp(store, new Date(START + 33 * HOUR_MS));
    assert.deepEqual(await tally(usageIn(figuresOf(store), span)), before);
  });

  it('finds the first hour that has anything, however far from the beginning', async () => {
    const { store } = await openTestRegistry(() => new Date('2026-03-10T00:00:00Z'));
    const [some = assert.fail()] = fc.sample(happened, { numRuns: 50, seed: 7 }).filter(({ model }) => model);
    await enter(store, [{ ...some, at: START + 100.3 * HOUR_MS }]);
    for (const source of sourcesOf(figuresOf(store))) {
      assert.equal(await firstHour(source, { from: START, to: START + 200 * HOUR_MS }), START + 100 * HOUR_MS);
      assert.equal(await firstHour(source, { from: START, to: START + 90 * HOUR_MS }), undefined);
      for (const hours of [1, 2, 37, 99.5]) {
        const span = { from: START + hours * HOUR_MS, to: START + 101 * HOUR_MS };
        assert.equal(await firstHour(source, span), START + 100 * HOUR_MS);
        assert.equal(await firstHour(source, { ...span, to: START + 100 * HOUR_MS }), undefined);
      }
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
      { ...base, at: at('2026-03-03'), model: 'offline/rehearsal', turns },
      { ...base, at: at('2026-03-03'), model: 'one/refusing', turns: [[0, 0]] },
    ]);
    const ask = { by: 'model', ...range, to: '2026-03-09T00:00:00Z' };
    const costs = async () => {
      const { rows, totals, unpriced } = await usageOf(world, ask);
      const {
        'offline/rehearsal': builtIn,
        'one/refusing': refusing,
        ...others
      } = Object.fromEntries(pluck(rows, 'key', 'cost'));
      assert.equal(builtIn, 0);
      assert.equal(refusing, 0, 'no tokens cost nothing, whatever their price');
      return [others, totals.cost, unpriced];
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
    assert.match(first.definition, /entries of the audit log.* Cost is tokens/);
    const second = await usageOf(world, { ...asked, cursor: first.nextCursor });
    assert.deepEqual([second.rows[0].key, second.rows[0].name, second.nextCursor], ['key_gone', undefined, null]);
    assert.equal(
      await world.codeOf(admin, 'get_usage', { ...asked, by: 'tool', cursor: first.nextCursor }),
      'invalid_input',
    );
  });

  it('has the names of all that it counts by', async () => {
    const world = await openTestRegistry(() => new Date('2026-03-02T12:20:00Z'));
    const write = writing(world.store);
    const person = { email: 'ann@example.com', role: 'owner', isActive: true } as const;
    await write.adminUsers.insert({ id: 'usr_named', name: 'Ann', ...person });
    await write.adminUsers.insert({ id: 'usr_other', ...person, email: 'bea@example.com' });
    const made = async (tool: string, input: object) => String((await world.must(admin, tool, input)).id);
    const agent = await made('create_agent', { name: 'ada', displayName: 'Ada' });
    const capsule = await made('create_capsule', { name: 'box', allowedTools: ['list_skills'] });
    const key = await made('create_api_key', { name: 'robot', scopes: ['read'] });
    const flow = await made('create_flow', { name: 'nightly', steps: [{ id: 'list', tool: 'list_skills' }] });
    const call = (...who: Happened['who'][number][]): Happened => {
      return { at: START, who, tool: 'get_skill', ms: 5, outcome: 'ok', model: undefined, turns: [] };
    };
    await enter(world.store, [
      call(['agent', agent], ['capsule', capsule], ['api-key', key]),
      call(['flow', flow], ['session', 'usr_named']),
      call(['session', 'usr_other']),
      call(['agent', 'agt_gone'], ['app', 'app_gone']),
    ]);
    const named = async (by: string) =>
      Object.fromEntries(pluck((await usageOf(world, { by, ...range })).rows, 'key', 'name'));
    assert.deepEqual(await named('agent'), { [agent]: 'ada', agt_gone: undefined });
    assert.deepEqual(await named('capsule'), { [capsule]: 'box' });
    assert.deepEqual(await named('key'), { [key]: 'robot' });
    assert.deepEqual(await named('flow'), { [flow]: 'nightly' });
    assert.deepEqual(await named('user'), { usr_ann: undefined, usr_named: 'Ann', usr_other: 'bea@example.com' });
    assert.deepEqual(await named('app'), { app_gone: undefined });
    assert.equal((await named('tool')).get_skill, undefined);
    const { totals, rows } = await usageOf(world, { by: 'user', ...range, filter: { user: 'usr_never' } });
    assert.deepEqual([totals.calls, rows], [0, []]);
  });

  it('shows, where no range is given, what suits the interval, the hour that just began included', async () => {
    const world = await openTestRegistry(() => new Date('2026-03-11T12:00:00Z'));
    for (const [interval, from, periods] of [
      ['hour', '2026-03-09T13', 48],
      ['day', '2026-02-10T00', 30],
      ['week', '2025-12-22T00', 12],
      ['month', '2025-04-01T00', 12],
    ]) {
      const { range: shown, series } = await usageOf(world, { by: 'tool', interval });
      const last = series.at(-1);
      assert.deepEqual(
        [shown.from, shown.to, series.length, series[0].from, last.to],
        [`${from}:00:00.000Z`, '2026-03-11T13:00:00.000Z', periods, `${from}:00:00.000Z`, shown.to],
      );
    }
  });

  it('takes a thousand periods and no more, and refuses a range without an hour', async () => {
    const world = await openTestRegistry(() => new Date('2026-03-11T12:00:00Z'));
    for (const [interval, size] of [
      ['hour', HOUR_MS],
      ['day', 24 * HOUR_MS],
    ] as const) {
      const ask = (periods: number) =>
        world.call(admin, 'get_usage', {
          ...{ by: 'tool', interval, from: range.from, to: new Date(START + periods * size).toISOString() },
        });
      const most = await ask(1000);
      assert.equal('output' in most && (most.output.series as object[]).length, 1000);
      for (const [periods, path, words] of [
        [1001, 'interval', /more than 1000 periods/],
        [0, 'from', /`from` must be before `to`/],
      ] as const) {
        const refused = await ask(periods);
        const { error, issues } = 'error' in refused ? refused.error : assert.fail();
        assert.match(error, words);
        assert.deepEqual(issues, [{ path, message: error }]);
      }
    }
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

describe('hours whose figures are kept', () => {
  const [some = assert.fail()] = fc.sample(happened, { numRuns: 50, seed: 7 }).filter(({ model }) => model);
  const at = (hours: number) => new Date(START + hours * HOUR_MS);
  const callsAt = (...hours: number[]) =>
    hours.map((hour): Happened => ({ ...some, model: undefined, at: START + hour * HOUR_MS }));
  const keptIn = async ({ store }: TestRegistry) => {
    const { records } = await store.usageHours.find({ limit: 1000, order: 'oldest' });
    return records.map(({ createdAt }) => (Date.parse(createdAt) - START) / HOUR_MS);
  };

  it('are kept by a server as it starts, and each is written once where several ask for it at the same time', async () => {
    const world = await openTestRegistry(() => at(48));
    await enter(world.store, callsAt(1.5, 2, 30.99));
    const task = startRollUps(
      world.store,
      () => at(20),
      (cause) => assert.fail(String(cause)),
    );
    await until(async () => (await keptIn(world)).length === 2);
    await task.close();
    const other = await openTestRegistry(() => at(48));
    await enter(other.store, callsAt(1.5, 2, 30.99));
    const written: string[] = [];
    other.store.onCommit(({ changes }) => written.push(...changes.map(({ record }) => record.id)), ['usageHours']);
    assert.deepEqual(await Promise.all([1, 2, 3].map(() => rollUp(other.store, at(48)))), [true, true, true]);
    await until(() => written.length >= 3);
    assert.deepEqual([await keptIn(other), written.length], [[1, 2, 30], 3]);
  });

  it('are no more once the server closes, which is said, so that nothing is deleted that is kept nowhere', async () => {
    const world = await openTestRegistry(() => at(48));
    await startRollUps(
      world.store,
      () => at(48),
      (cause) => assert.fail(String(cause)),
    ).close();
    await enter(world.store, callsAt(1));
    assert.equal(await rollUp(world.store, at(48)), false);
    assert.deepEqual(await keptIn(world), []);
  });

  it('have what came late, as long as it is no more than twelve hours', async () => {
    const world = await openTestRegistry(() => at(100));
    await enter(world.store, callsAt(5, 16.5, 40));
    await rollUp(world.store, at(41.5));
    assert.deepEqual(await keptIn(world), [5, 16]);
    await enter(world.store, callsAt(28, 39.5, 40.2));
    await rollUp(world.store, at(42));
    assert.deepEqual(await keptIn(world), [5, 16, 28, 39, 40]);
    const { records } = await world.store.usageHours.find({ limit: 1 });
    assert.equal(records[0]?.counted, 2);
  });

  it('go after two years, or the days of the settings, or never, however many they are', async () => {
    const world = await openTestRegistry(() => at(48));
    const one = new UsageBuckets();
    one.addCall(entryOf(some));
    const HOURS = 1100;
    await world.store.transaction(async ({ usageHours }) => {
      for (let hour = 0; hour < HOURS; hour += 1) {
        const figures = { source: 'calls' as const, counted: 1, cells: one.pack() };
        await usageHours.insert({ id: `hour-${hour}`, createdAt: at(hour).toISOString(), ...figures });
      }
    });
    const span = { from: START, to: START + HOURS * HOUR_MS };
    let hours = 0;
    for await (const _ of usageIn(figuresOf(world.store), span)) hours += 1;
    assert.equal(hours, HOURS);
    const left = async (now: Date, usage?: number | null) => {
      if (usage !== undefined) await world.must(admin, 'update_settings', { retentionDays: { audit: null, usage } });
      await rollUp(world.store, now);
      return world.store.usageHours.count({});
    };
    assert.equal(await left(at(730 * 24 + 50)), HOURS - 50);
    assert.equal(await left(at(730 * 24 + 60), null), HOURS - 50);
    assert.equal(await left(at(30 * 24 + 51), 30), HOURS - 51);
    assert.equal(await left(at(30 * 24 + HOURS), 30), 0);
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
