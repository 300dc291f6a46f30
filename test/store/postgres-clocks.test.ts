import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Clocks, wrongClocks } from '../../tools/clocks.ts';
import { clockAlerts } from '../../tools/webhooks/alert-sources.ts';
import { lookForAlerts } from '../../tools/webhooks/alerts.ts';
import { mustCall, rest } from '../support/calls.ts';
import { type Member, startMember } from '../support/cluster.ts';
import { type TestDatabase, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';

describe('the clocks of processes on one database', { skip: withoutPostgres }, () => {
  let own: TestDatabase;
  let right: Member;
  let wrong: Member;
  let aheadMs = 7000;
  before(async () => {
    own = await testDatabase();
    const env = { BASE_URL: 'http://clocks.example' };
    right = await startMember({ database: own.url, env });
    wrong = await startMember({ database: own.url, env, now: () => new Date(Date.now() + aheadMs) });
  });
  after(async () => {
    await Promise.all([right.close(), wrong.close()]);
    await own.drop();
  });

  const health = async () => (await rest(right, 'GET', '/api/v1/health', { key: right.adminKey })).body;
  const expected = () => {
    const text = `^The clock of process ${wrong.store.jobs.worker} on host \\S+ is (6\\.[89]|7\\.\\d) s ahead of that of the database: set it by NTP\\.$`;
    return new RegExp(text);
  };

  it('are named by the health of every process where one is more than 5 s from the database', async () => {
    await until(async () => (await health()).status === 'degraded');
    const { problems } = await health();
    assert.equal(problems.length, 1);
    assert.match(problems[0], expected());
    const { body } = await rest(right, 'GET', '/api/v1/agents/health', { key: right.adminKey });
    const clocks = body.integrations.find(({ name }: { name: string }) => name === 'clocks');
    assert.deepEqual([body.overallStatus, clocks.status], ['degraded', 'degraded']);
    assert.match(clocks.lastError, expected());
  });

  it('are told of by an alert once, which says which process and how much, and anew when it comes again', async () => {
    const target = { email: 'ops@example.com' };
    const input = { name: 'Clocks', target, alerts: ['clock.wrong'], enabled: true };
    const { id: webhookId } = await mustCall(right, right.adminKey, 'create_webhook', input);
    const { store } = right;
    assert.ok(store.cluster);
    const source = clockAlerts(new Clocks(store.cluster));
    const look = () => lookForAlerts(store, source, new Date());
    const events = async () =>
      (await store.webhookDeliveries.find({ where: { webhookId }, limit: 10 })).records.map(({ event }) => event);
    await look();
    await look();
    const [event, ...more] = await events();
    assert.equal(more.length, 0);
    assert.deepEqual([event?.type, event?.id], ['clock.wrong', wrong.store.jobs.worker]);
    assert.match(event?.detail ?? '', expected());
    aheadMs = 0;
    await until(async () => (await health()).status === 'ok');
    await look();
    aheadMs = 7000;
    await until(async () => (await health()).status === 'degraded');
    await look();
    assert.equal((await events()).length, 2);
  });
});

describe('wrongClocks', () => {
  const clock = (process: string, aheadMs: number) => ({ process, host: 'h', aheadMs });
  const texts = (...aheadMs: number[]) =>
    wrongClocks(aheadMs.map((ms, at) => clock(`p${at}`, ms))).map(({ process, text }) => `${process}: ${text}`);

  it('allows for 5 s to the database and between two processes, and names who is beyond', () => {
    assert.deepEqual(texts(), []);
    assert.deepEqual(texts(5000, 0), []);
    assert.deepEqual(texts(-5000, 0), []);
    assert.deepEqual(texts(2500, -2500), []);
    const of = (process: string) => `The clock of process ${process} on host h is`;
    assert.deepEqual(texts(5001, 0), [`p0: ${of('p0')} 5.0 s ahead of that of the database: set it by NTP.`]);
    assert.deepEqual(texts(0, -6000), [`p1: ${of('p1')} 6.0 s behind that of the database: set it by NTP.`]);
    assert.deepEqual(texts(-3000, 3000, 0), [
      `p1: ${of('p1')} 6.0 s ahead of that of process p0 on host h: set it by NTP.`,
    ]);
  });
});
