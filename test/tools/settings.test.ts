import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must } = callsOf(server);

const get = async () => (await rest(server, 'GET', '/api/v1/settings', { key: server.adminKey })).body;
const patch = (body: unknown) => rest(server, 'PATCH', '/api/v1/settings', { key: server.adminKey, body });
const refused = async (body: unknown): Promise<string[]> => {
  const answer = await patch(body);
  assert.equal(answer.status, 400, JSON.stringify(body));
  return pluck(answer.body.issues, 'path').sort();
};

describe('settings', () => {
  it('have values before the first write', async () => {
    const { createdAt: _, updatedAt: __, ...shown } = await get();
    assert.deepEqual(shown, {
      workspaceName: 'Workspace',
      timezone: 'UTC',
      currency: 'USD',
      exchangeRates: [],
      analytics: { features: {}, funnel: [], activityEvents: 'all' },
      signInDomains: [],
      retentionDays: { audit: 365 },
      revision: 1,
    });
  });

  it('take every member, keep the ones not given, and stay as they are for the same values', async () => {
    const change = {
      workspaceName: 'Acme',
      timezone: 'America/Argentina/Buenos_Aires',
      currency: 'EUR',
      exchangeRates: [{ month: '2026-03', currency: 'USD', rate: 0.92 }],
      analytics: { features: { publish: ['site_published'] }, funnel: ['a', 'b'], activityEvents: ['login'] },
      signInDomains: ['acme.example', 'localhost'],
      retentionDays: { audit: null },
    };
    const { status, body } = await patch(change);
    assert.equal(status, 200);
    for (const [name, value] of Object.entries(change)) assert.deepEqual(body[name], value, name);
    const same = await patch({ workspaceName: 'Acme', expectedRevision: body.revision });
    assert.deepEqual(same.body, body);
    const next = await patch({ workspaceName: 'Acme 2' });
    assert.deepEqual([next.body.timezone, next.body.revision], [change.timezone, body.revision + 1]);
    assert.deepEqual(await get(), next.body);
    assert.equal((await patch({ workspaceName: 'x', expectedRevision: body.revision })).status, 409);
  });

  it('keep the members of a group that are not given', async () => {
    const analytics = { features: { publish: ['p'] }, funnel: ['a'], activityEvents: ['login'] };
    await patch({ analytics, retentionDays: { audit: 90, runs: 7, threads: 400, usage: 30 } });
    const one = await patch({ analytics: { funnel: ['b'] }, retentionDays: { runs: null } });
    assert.equal(one.status, 200);
    assert.deepEqual(one.body.analytics, { ...analytics, funnel: ['b'] });
    assert.deepEqual(one.body.retentionDays, { audit: 90, runs: null, threads: 400, usage: 30 });
    const none = await patch({ analytics: {}, retentionDays: {} });
    assert.deepEqual([none.status, none.body], [200, one.body]);
    assert.deepEqual((await patch({ analytics: { features: {} } })).body.analytics.features, {}, 'a map is one value');
    assert.deepEqual(await refused({ retentionDays: { audit: 0 }, analytics: { colour: 'red' } }), [
      'analytics.colour',
      'retentionDays.audit',
    ]);
  });

  it('keep feature switches, also none', async () => {
    assert.deepEqual((await patch({ featureSwitches: { 'new-editor': true } })).body.featureSwitches, {
      'new-editor': true,
    });
    assert.deepEqual((await patch({ workspaceName: 'Acme 3' })).body.featureSwitches, { 'new-editor': true });
    assert.deepEqual((await patch({ featureSwitches: {} })).body.featureSwitches, {});
    assert.deepEqual((await get()).featureSwitches, {});
  });

  it('refuse unknown members and wrong types, all at once', async () => {
    assert.deepEqual(
      await refused({
        workspaceName: ' ',
        timezone: 'Mars/Base',
        currency: 'eur',
        exchangeRates: [{ month: '2026-13', currency: 'XYZ', rate: 0, extra: 1 }],
        analytics: { features: { f: 'x' }, funnel: 'a', activityEvents: 'some' },
        signInDomains: ['Acme.Example', 'a@b.c'],
        retentionDays: { audit: 0 },
        colour: 'red',
      }),
      [
        'analytics.activityEvents',
        'analytics.features.f',
        'analytics.funnel',
        'colour',
        'currency',
        'exchangeRates[0].currency',
        'exchangeRates[0].extra',
        'exchangeRates[0].month',
        'exchangeRates[0].rate',
        'retentionDays.audit',
        'signInDomains[0]',
        'signInDomains[1]',
        'timezone',
        'workspaceName',
      ],
    );
    for (const timezone of ['+01:00', '', 'UTC0', 7]) await refused({ timezone });
    assert.deepEqual(await refused({ workspaceName: null, revision: 7 }), ['revision', 'workspaceName']);
    await refused('{"analytics": {"features": {"__proto__": ["a"]}, "funnel": [], "activityEvents": "all"}}');
    assert.deepEqual(await refused({ featureSwitches: { on: 1, 'a b': true } }), [
      'featureSwitches.on',
      'featureSwitches["a b"]',
    ]);
  });

  it('name a default agent that there is, and null clears it', async () => {
    const agent = await must('create_agent', { name: 'default', displayName: 'D' });
    assert.equal((await patch({ defaultAgentId: agent.id })).body.defaultAgentId, agent.id);
    assert.equal('defaultAgentId' in (await patch({ defaultAgentId: null })).body, false);
    await must('delete_agent', { id: agent.id });
    for (const defaultAgentId of [agent.id, 'agt_none']) {
      assert.deepEqual(await refused({ defaultAgentId }), ['defaultAgentId']);
    }
  });

  it('keep rates that lead to the workspace currency, one per month and currency', async () => {
    const usd = { month: '2026-04', currency: 'USD', rate: 0.9 };
    assert.equal((await patch({ currency: 'EUR', exchangeRates: [usd, { ...usd, month: '2026-05' }] })).status, 200);
    assert.deepEqual(await refused({ exchangeRates: [usd, usd] }), ['exchangeRates[1]']);
    assert.deepEqual(await refused({ exchangeRates: [usd, { ...usd, currency: 'EUR' }] }), ['exchangeRates[1]']);
    assert.deepEqual(await refused({ currency: 'CHF' }), ['exchangeRates']);
    assert.equal((await patch({ currency: 'CHF', exchangeRates: [] })).status, 200);
  });
});
