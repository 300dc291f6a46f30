import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { demoStatements } from '../../facade/demo/fill.ts';
import { type RowType, rowType } from '../../resources/imported-rows.ts';
import { addDays, addIntervals, floorTo } from '../../tools/analytics/calendar.ts';
import { checkRow } from '../../tools/analytics/import-records.ts';
import { mustCall } from '../support/calls.ts';
import { type ServerProcess, startProcess } from '../support/child.ts';
import { pluck } from '../support/pluck.ts';
import { until } from '../support/until.ts';
import { askable } from '../tools/analytics/worlds.ts';

const today = new Date().toISOString().slice(0, 10);
const to = floorTo(today, 'month');
const from = addIntervals(to, 'month', -18);
const statements = demoStatements(today);
const months = { from, to, interval: 'month' };

let server: ServerProcess;
let key = '';
let printed = '';
const FOLDER = /removes (\S+)\.$/m;
const ask = (tool: string, input: object = {}) => mustCall(server, key, tool, askable(tool, input));
const average = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

let seconds = 0;
before(async () => {
  const started = performance.now();
  server = await startProcess('', {}, 'facade/commands/demo.ts');
  printed = server.stdout;
  server.process.stdout?.on('data', (chunk) => {
    printed += chunk;
  });
  key = /^ {2}(ak_\w+)$/m.exec(server.stdout)?.[1] ?? '';
  seconds = (performance.now() - started) / 1000;
});
after(() => server.stop('SIGTERM'));

describe('the demo', () => {
  it('says where it is, what opens it and how long it took, like a first start', (t) => {
    assert.match(server.stdout, /^ {2}curl -H "Authorization: Bearer ak_/m);
    assert.match(server.stdout, /"mcpServers"/);
    t.diagnostic(`started and filled in ${seconds.toFixed(1)} s`);
  });

  it('has 2,000 users, and 60,000 visits and 40,000 events in 18 months', async () => {
    assert.ok((await ask('list_users', { limit: 1, includeTotal: true })).total >= 2000);
    const visitors = await ask('get_traffic_visitors', months);
    assert.ok(visitors.totals.pageViews >= 60_000, `${visitors.totals.pageViews} visits`);
    assert.equal(visitors.series.length, 18);
    const start = Date.parse(from);
    const events = statements.filter(({ type, time }) => type === 'events' && time >= start);
    assert.ok(events.length >= 40_000, `${events.length} events`);
    const { rows } = await ask('get_feature_adoption', months);
    assert.ok(rows.every(({ uses }: { uses: number }) => uses > 100));
  });

  it('knows what each model costs that its agents used', async () => {
    const { totals, unpriced } = await ask('get_usage', { by: 'model' });
    assert.ok(totals.inputTokens > 0);
    assert.deepEqual([unpriced, totals.cost], [[], 0]);
  });

  it('has budgets, one of which counts what an agent used this month', async () => {
    const { data } = await ask('list_budgets');
    assert.equal(data.length, 3);
    const { subject, used, limit } = data.find(({ measure }: { measure: string }) => measure === 'tokens');
    const usage = { by: 'agent', interval: 'month', filter: { agent: subject.id } };
    const { series, totals } = await mustCall(server, key, 'get_usage', usage);
    const { inputTokens, outputTokens } = series.at(-1);
    assert.equal(used, inputTokens + outputTokens);
    assert.ok(totals.outputTokens > 0 && totals.inputTokens + totals.outputTokens < limit);
  });

  it('loses between 1 and 8 % of its customers in each month', async () => {
    const { series } = await ask('get_churn', months);
    assert.equal(series.length, 18);
    for (const { from: month, customerChurn, customersAtStart } of series) {
      const told = `${month}: ${customerChurn} of ${customersAtStart}`;
      assert.ok(customerChurn >= 0.01 && customerChurn <= 0.08, told);
    }
  });

  it('has every kind of MRR movement in most months, and a bridge that closes', async () => {
    const { series, warnings } = await ask('get_mrr', months);
    assert.equal(warnings, undefined);
    for (const kind of ['new', 'reactivation', 'expansion', 'contraction', 'churn']) {
      const having = series.filter((point: Record<string, number>) => (point[kind] ?? 0) > 0).length;
      assert.ok(having >= 12, `${kind} in ${having} of 18 months`);
    }
    assert.ok(series.at(-1).end > series[0].start);
  });

  it('has 20 to 50 % fewer visits on weekends', async () => {
    const { series } = await ask('get_traffic_visitors', { from, to, interval: 'day' });
    const on = (wanted: (date: Date) => boolean) =>
      average(
        series
          .filter((point: { from: string }) => wanted(new Date(point.from)))
          .map(({ sessions }: { sessions: number }) => sessions),
      );
    const isWeekend = (date: Date) => [0, 6].includes(date.getUTCDay());
    const share = on(isWeekend) / on((date) => !isWeekend(date));
    assert.ok(share >= 0.5 && share <= 0.8, `weekends have ${share} of weekdays`);
  });

  it('has a funnel in which each step is below the one before', async () => {
    for (const range of [months, {}]) {
      const { rows } = await ask('get_onboarding_funnel', range);
      const users = rows.map((row: { users: number }) => row.users);
      assert.equal(users.length, 4);
      for (const [at, count] of users.entries())
        assert.ok(count > 0 && (at === 0 || count < users[at - 1]), `${users}`);
    }
  });

  it('has retention that falls and levels off', async () => {
    const { totals } = await ask('get_cohort_retention', { from: addDays(today, -280), to: today, interval: 'week' });
    const part = (start: number, end: number) => average(totals.average.slice(start, end));
    const [first, month, quarter, half] = [part(1, 2), part(3, 6), part(12, 16), part(24, 28)];
    const told = JSON.stringify([first, month, quarter, half]);
    assert.ok(first > month && month > quarter && quarter > 0.05, told);
    assert.ok(Math.abs(quarter - half) < (first - quarter) / 4, told);
  });

  it('has insights worth a look, each with calls that prove it', async () => {
    const { rows } = await ask('get_insights');
    const kinds = new Set(rows.map(({ kind }: { kind: string }) => kind));
    assert.ok(kinds.has('broken_funnel') && kinds.has('anomaly'), JSON.stringify(rows));
    for (const { evidence } of rows) {
      for (const { tool, arguments: asked, member, value } of evidence) {
        const answer = await mustCall(server, key, tool, asked);
        const path: string[] = member.split(/[.[\]]+/).filter(Boolean);
        const found = path.reduce((at, name) => at[name], answer);
        assert.equal(found, value, `${tool} ${JSON.stringify(asked)} ${member}`);
      }
    }
  });

  it('has something to show of every group', async () => {
    const filled = ['agents', 'skills', 'threads', 'projects', 'goals', 'tasks', 'documents', 'artifacts', 'databases'];
    for (const kind of [...filled, 'reports', 'memories', 'flows'])
      assert.ok((await ask(`list_${kind}`)).data.length > 0, kind);
    const { data } = await ask('list_agents');
    const mira = data.find(({ name }: { name: string }) => name === 'mira');
    const versions = await ask('list_versions', { entityType: 'agent', entityId: mira.id });
    assert.equal(versions.data.length, 2);
    assert.ok(Date.parse(versions.data[0].createdAt) - Date.parse(versions.data[1].createdAt) > 86_400_000);
    const [database] = (await ask('list_databases')).data;
    const records = await ask('list_records', { databaseId: database.id, includeTotal: true });
    assert.equal(records.total, 16);
    const reports = (await ask('list_reports')).data;
    for (const { id } of reports) assert.ok((await ask('get_report', { id, render: true })).result);
    const lastRun = async () => (await ask('list_flow_runs')).data[0];
    await until(async () => !['queued', 'running'].includes((await lastRun())?.status ?? 'queued'));
    const run = await lastRun();
    assert.deepEqual([run.status, run.trigger.kind], ['succeeded', 'cron'], JSON.stringify(run));
    const thread = (await ask('list_threads')).data.find(({ title }: { title: string }) => /preview/i.test(title));
    const messages = await ask('list_messages', { id: thread.id, order: 'oldest' });
    assert.deepEqual(pluck(messages.data, 'role'), ['user', 'assistant']);
  });
});

it('the agent of the demo answers about its data, citing it, and has done so before', async () => {
  const { message, toolCalls } = await ask('send_chat_message', {
    message: 'Within how many days are refunds given?',
  });
  assert.match(message.content, /Within 14 days without a question.*\[How we support customers, doc_/);
  assert.deepEqual(
    toolCalls.map(({ tool, ok }: { tool: string; ok: boolean }) => [tool, ok]),
    [
      ['search', true],
      ['get_document', true],
    ],
  );
  const { data } = await ask('list_threads', { limit: 5 });
  const earlier = data.find(({ title }: { title: string }) => title.startsWith('A customer wants a refund'));
  assert.ok(earlier.messageCount >= 6 && Date.parse(earlier.createdAt) < Date.now() - 3_600_000);
  const said = (await ask('list_messages', { id: earlier.id, order: 'oldest' })).data;
  assert.match(JSON.stringify(said), /Up to 100 products/);
});

describe('the rows of the demo', () => {
  it('are the same for the same date', () => {
    assert.equal(JSON.stringify(demoStatements(today)), JSON.stringify(statements));
  });

  it('are rows as an import keeps them, and belong to users that are there', () => {
    const users = new Set(statements.filter(({ type }) => type === 'users').map(({ row }) => row.uid));
    const seen = Object.fromEntries(rowType.options.map((type) => [type, 0])) as Record<RowType, number>;
    for (const { type, row } of statements) {
      if (row.uid !== undefined) assert.ok(users.has(row.uid));
      seen[type] += 1;
      if (seen[type] % 40 !== 1) continue;
      const checked = checkRow(type, row);
      assert.ok('row' in checked, JSON.stringify(checked));
      // Members in the order of the schema or not, the row is the same.
      assert.deepEqual(checked.row, row);
    }
    assert.ok(Object.values(seen).every((count) => count > 1000));
  });
});

it('the folder of the demo is gone when the server has ended', async () => {
  await until(async () => FOLDER.test(printed));
  const folder = FOLDER.exec(printed)?.[1] ?? '';
  assert.ok(existsSync(folder));
  assert.equal(await server.stop('SIGTERM'), 0);
  assert.ok(!existsSync(folder));
});
