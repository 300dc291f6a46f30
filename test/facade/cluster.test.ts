import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import pg from 'pg';
import { createRateLimit } from '../../tools/core/access/rate-limit.ts';
import { callTool, makeCapsule, mustCall, rest } from '../support/calls.ts';
import { type Cluster, type Member, SECRETS_KEY, startCluster, startMember } from '../support/cluster.ts';
import { deferred } from '../support/deferred.ts';
import { allEvents, openEvents } from '../support/events.ts';
import { send } from '../support/http.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { OAuthClient } from '../support/oauth.ts';
import { withoutPostgres } from '../support/postgres.ts';
import { cookieOf, idTokenFor, postIdToken, statusWith } from '../support/sign-in.ts';
import { until } from '../support/until.ts';
import { type FakeUpstream, startUpstream, toolCalled } from '../support/upstream.ts';
import { senders, slack, triggerFor } from '../support/webhook-senders.ts';

describe('two processes on one database', { skip: withoutPostgres }, () => {
  let provider: ModelServer;
  let upstream: FakeUpstream;
  let cluster: Cluster;
  let [one, other]: Member[] = [];
  const open: Client[] = [];

  before(async () => {
    [provider, upstream] = await Promise.all([startModelServer(), startUpstream(toolCalled('looks'))]);
    cluster = await startCluster({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
    [one, other] = cluster.members;
  });
  after(async () => {
    await Promise.all(open.map((client) => client.close()));
    await cluster?.close();
    await Promise.all([provider.close(), upstream.close()]);
  });

  const at = (member: Member | undefined) => member ?? assert.fail('It is there from the first test on.');
  const must = (member: Member | undefined, tool: string, input: object = {}) =>
    mustCall(at(member), at(member).adminKey, tool, input);

  /** A key that works at the other process, which has it in memory. */
  async function knownKey() {
    const { id, secret } = await must(one, 'create_api_key', { name: 'k', scopes: ['read'] });
    assert.equal(await statusWith(at(other), secret), 200);
    return { id, secret };
  }

  /** Waits until the other process has heard of a change that is made now. */
  async function heard(): Promise<void> {
    const { id } = await must(one, 'create_skill', {
      name: `s-${Math.random().toString(36).slice(2)}`,
      displayName: 'S',
    });
    const skills: string[] = [];
    const stop = at(other).store.onCommit(
      ({ changes }) => skills.push(...changes.map(({ record }) => record.id)),
      ['skills'],
    );
    await until(async () => {
      await must(one, 'update_skill', { id, description: String(Math.random()) });
      return skills.includes(id);
    });
    stop();
  }

  describe('a key that is revoked at one', () => {
    /** Calls the other until it refuses. Fails where it accepts a call that began a second after the key was revoked. */
    async function refusedInTime(secret: string): Promise<number> {
      const revoked = performance.now();
      for (;;) {
        const begun = performance.now();
        if ((await statusWith(at(other), secret)) === 401) return begun - revoked;
        assert.ok(
          begun - revoked < 1000,
          `a call was accepted that began ${begun - revoked} ms after the key was revoked`,
        );
      }
    }

    it('is refused at the other within a second', async (t) => {
      const { id, secret } = await knownKey();
      await must(one, 'revoke_api_key', { id });
      t.diagnostic(`refused after ${Math.round(await refusedInTime(secret))} ms`);
    });

    it('is refused there within a second too when the connection of notifications ends', async (t) => {
      const { id, secret } = await knownKey();
      const client = new pg.Client({ connectionString: cluster.database });
      await client.connect();
      await client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'agent-admin changes' and datname = current_database()",
      );
      await client.end();
      await must(one, 'revoke_api_key', { id });
      t.diagnostic(`refused after ${Math.round(await refusedInTime(secret))} ms`);
      await heard();
    });

    for (const how of ['freeze', 'cut'] as const) {
      it(`is refused there a second later where that connection is ${how === 'cut' ? how : 'frozen'} and stays so`, async () => {
        const { clock, hearing } = cluster;
        clock.stop();
        try {
          await heard(); // so what it knows is as old as its clock
          const { id, secret } = await knownKey();
          hearing[how]();
          await must(one, 'revoke_api_key', { id });
          assert.equal(await statusWith(at(other), secret), 200, 'it cannot know yet');
          clock.pass(999);
          assert.equal(await statusWith(at(other), secret), 200);
          clock.pass(1);
          assert.equal(await statusWith(at(other), secret), 401);
        } finally {
          hearing.heal();
          clock.goOn();
        }
        await heard();
      });
    }

    it('ends what goes on at the other with it', async () => {
      provider.play(() => 'hang');
      const { id, secret } = await must(one, 'create_api_key', { name: 'chats', scopes: ['write'] });
      const { events } = await openEvents(at(other), '/api/v1/chat', { key: secret, body: { message: 'Hi' } });
      const ended = allEvents(events);
      await until(() => provider.requests.length > 0);
      await must(one, 'revoke_api_key', { id });
      const last = (await ended).at(-1);
      assert.deepEqual([last?.name, last?.data.code], ['error', 'unauthenticated']);
    });
  });

  it('share what is counted: no more calls of a capsule than it may make', async () => {
    const capsule = await makeCapsule(cluster.balanced, { allowedTools: ['list_skills'], callsPerMinute: 5 });
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_skills', arguments: {} } };
    const call = () =>
      rest(cluster.balanced, 'POST', `/api/capsules/${capsule.id}/mcp`, { key: capsule.token, body: message });
    const statuses = await Promise.all(Array.from({ length: 12 }, async () => (await call()).status));
    assert.deepEqual([statuses.filter((s) => s === 200).length, statuses.filter((s) => s === 429).length], [5, 7]);
  });

  it('count together also where a limit is so high that each takes several calls at a time', async () => {
    const limits = cluster.members.map(({ store }) =>
      createRateLimit(1800, 'calls', { cluster: store.cluster, name: 'high' }),
    );
    const taken = await Promise.allSettled(Array.from({ length: 2000 }, (_, at) => limits[at % 2]?.('one')));
    assert.equal(taken.filter(({ status }) => status === 'fulfilled').length, 1800);
    const other = await Promise.allSettled(Array.from({ length: 1797 }, () => limits[0]?.('other')));
    assert.ok(other.every(({ status }) => status === 'fulfilled'));
  });

  it('run a call with an idempotency key once', async () => {
    const body = { name: 'once', displayName: 'Once' };
    const headers = { 'Idempotency-Key': 'the same' };
    const create = () =>
      rest(cluster.balanced, 'POST', '/api/v1/agents/skills', { key: cluster.balanced.adminKey, body, headers });
    const statuses = (await Promise.all(Array.from({ length: 8 }, create))).map(({ status }) => status);
    assert.ok(statuses.every((status) => status === 201 || status === 409) && statuses.includes(201), String(statuses));
    const again = await Promise.all([create(), create()].map(async (answer) => (await answer).status));
    assert.deepEqual(again, [201, 201]);
    const { data } = await must(one, 'list_skills', { limit: 100 });
    assert.equal(data.filter(({ name }: { name: string }) => name === 'once').length, 1);
  });

  it('begin one run for equal deliveries that arrive at both at once, and list them as one', async () => {
    for (const sender of senders) {
      const { id } = await must(one, 'create_flow', {
        name: sender.scheme,
        trigger: triggerFor(sender),
        steps: [{ id: 'all', tool: 'list_skills', arguments: {} }],
      });
      const { headers, body } = sender.sign('{"id": "evt_1", "event_id": "Ev1"}', Math.floor(Date.now() / 1000));
      const path = `/api/v1/agents/flows/${id}/trigger`;
      const post = (member: Member | undefined) =>
        send(`${at(member).baseUrl}${path}`, { method: 'POST', headers: { ...headers }, body });
      const answers = await Promise.all([one, other, other, one, one, other].map(post));
      const statuses = answers.map(({ status }) => status);
      // Slack takes 200 alone as an answer.
      const begun = sender === slack ? [200] : [202];
      assert.deepEqual(statuses.sort(), [200, 200, 200, 200, 200, ...begun].sort(), sender.scheme);
      await until(async () => (await must(other, 'list_flow_runs', { id })).data[0]?.status === 'succeeded');
      assert.equal((await must(one, 'list_flow_runs', { id })).data.length, 1, sender.scheme);
      const deliveries = (await must(other, 'list_flow_deliveries', { id })).data;
      assert.deepEqual(
        deliveries.map(({ outcome, count }: { outcome: string; count: number }) => [outcome, count]),
        [['run', answers.length]],
        sender.scheme,
      );
    }
  });

  it('run a call that goes on at one not at the other too', async () => {
    let asked = 0;
    const { promise: mayAnswer, resolve: answer } = deferred();
    upstream.intercept = async (_, __, { method }) => {
      if (method !== 'tools/call') return false;
      asked += 1;
      await mayAnswer;
      return false;
    };
    await must(one, 'create_integration', {
      name: 'Held',
      transport: 'http',
      url: upstream.url,
      toolPrefix: 'held',
      accept: true,
    });
    await until(async () => (await listed(other)).includes('held__looks'));
    const call = (member: Member | undefined) =>
      callTool(at(member), at(member).adminKey, 'held__looks', {}, { idempotencyKey: 'long' });
    const first = call(one);
    await until(() => asked === 1);
    const second = await call(other);
    assert.match('error' in second ? second.error.error : '', /still running/);
    answer();
    await first;
    const repeated = await call(other);
    assert.deepEqual(['output' in repeated, asked], ['output' in (await first), 1]);
    upstream.intercept = () => false;
  });

  const listed = async (member: Member | undefined) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const answer = await rest(at(member), 'POST', '/api/v1/mcp', { key: at(member).adminKey, body });
    return answer.body.result.tools.map(({ name }: { name: string }) => name) as string[];
  };

  it('offer the same tools of integrations, and tell subscribers of the other of changes', async () => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { Authorization: `Bearer ${at(other).adminKey}` } };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${at(other).baseUrl}/api/v1/mcp`), { requestInit }),
    );
    open.push(client);
    const { id: agent } = await must(one, 'create_agent', { name: 'ada', displayName: 'Ada' });
    const told: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => void told.push(uri));
    client.setNotificationHandler('notifications/tools/list_changed', () => void told.push('tools'));
    await client.listen({ resourceSubscriptions: [`agent://${agent}`], toolsListChanged: true });
    await must(one, 'update_agent', { id: agent, displayName: 'A.' });
    await until(() => told.includes(`agent://${agent}`));
    const input = { name: 'Shared', transport: 'http', url: upstream.url, toolPrefix: 'shared' };
    const { id } = await must(one, 'create_integration', input);
    assert.ok(!(await listed(other)).includes('shared__looks'));
    await must(one, 'refresh_integration', { id, accept: true });
    await until(() => told.includes('tools'));
    assert.ok((await listed(other)).includes('shared__looks'));
    assert.ok('output' in (await callTool(at(other), at(other).adminKey, 'shared__looks')));
    await must(one, 'delete_agent', { id: agent });
    await until(() => told.filter((uri) => uri === `agent://${agent}`).length > 1);
    await must(other, 'delete_integration', { id });
    await until(async () => !(await listed(one)).includes('shared__looks'));
  });

  it('begin anew where one cannot know what the other changed: subscriptions end, and what is known is read again', async () => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { Authorization: `Bearer ${at(other).adminKey}` } };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${at(other).baseUrl}/api/v1/mcp`), { requestInit }),
    );
    open.push(client);
    const { closed } = await client.listen({ toolsListChanged: true });
    const { id } = await must(one, 'create_integration', {
      name: 'Missed',
      transport: 'http',
      url: upstream.url,
      toolPrefix: 'missed',
    });
    const database = new pg.Client({ connectionString: cluster.database });
    await database.connect();
    const many =
      "insert into cluster_changes (process, collections, records) select 'x', '{apiKeys}', '[]' from generate_series(1, 10001)";
    await database.query(many);
    assert.equal(await closed, 'graceful');
    await database.end();
    await must(one, 'refresh_integration', { id, accept: true });
    await until(async () => (await listed(other)).includes('missed__looks'));
    await must(one, 'delete_integration', { id });
  });

  it('cancel the request of a legacy client whichever process answers it', async () => {
    provider.play(() => 'hang');
    const before = provider.requests.length;
    const params = { name: 'send_chat_message', arguments: { message: 'Hi' } };
    const { adminKey: key } = at(one);
    const call = rest(at(one), 'POST', '/api/v1/mcp', {
      key,
      body: { jsonrpc: '2.0', id: 'x9', method: 'tools/call', params },
    });
    await until(() => provider.requests.length > before);
    const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'x9' } };
    assert.equal((await rest(at(other), 'POST', '/api/v1/mcp', { key, body })).status, 202);
    assert.equal((await call).status, 202);
  });

  it('sign people in together: a link and a token of one work at the other, once, and so do sessions and their ends', async () => {
    const idToken = await idTokenFor(at(one));
    const attempts = await Promise.all(
      [at(one), at(other), at(one), at(other)].map((server) => postIdToken(server, idToken)),
    );
    const [begun, ...more] = attempts.filter(({ status }) => status === 201);
    assert.ok(begun && more.length === 0);
    const cookie = cookieOf(begun);
    assert.deepEqual(await Promise.all(cluster.members.map((member) => statusWith(member, cookie))), [200, 200]);
    assert.equal((await rest(at(one), 'DELETE', '/api/v1/auth/session', { key: cookie })).status, 204);
    assert.equal(await statusWith(at(other), cookie), 401);
  });

  it('let apps in together, where each request of the way goes to the next process', async () => {
    const client = await OAuthClient.registered(cluster.balanced, { client_name: 'Desk' });
    const { access_token: token, refresh_token: refresh } = await client.connected();
    const works = () => Promise.all(cluster.members.map((member) => listedWith(member, token)));
    assert.deepEqual(await works(), [200, 200]);
    const refreshed = await client.refresh(refresh);
    assert.equal(refreshed.status, 200);
    const code = await client.code();
    const redeemed = await Promise.all([client.redeem(code), client.redeem(code), client.redeem(code)]);
    assert.equal(redeemed.filter(({ status }) => status === 200).length, 1);
    const { data } = await must(one, 'list_connected_apps');
    for (const { id } of data) await must(one, 'disconnect_app', { id });
    await until(async () => (await listedWith(at(other), token)) === 401);
  });

  const listedWith = async (member: Member, key: string) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    return (await rest(member, 'POST', '/api/v1/mcp', { key, body })).status;
  };

  describe('a process with other secrets', () => {
    const refused = (env: Record<string, string>, reason: RegExp) =>
      assert.rejects(
        startMember({ database: cluster.database, env: { BASE_URL: cluster.balanced.baseUrl, ...env } }),
        reason,
      );

    it('does not start beside them, and says which variable differs', async () => {
      await refused(
        { SECRETS_KEY: Buffer.alloc(32, 8).toString('base64') },
        /^OperatorError: SECRETS_KEY is not the one|SECRETS_KEY is not/,
      );
      await refused({ SESSION_SECRET: 's'.repeat(40) }, /SESSION_SECRET is not that of another process/);
      await refused({ SECRETS_KEY: '' }, /SECRETS_KEY is not set/);
      const both = [SECRETS_KEY, Buffer.alloc(32, 8).toString('base64')].join(',');
      await (
        await startMember({
          database: cluster.database,
          env: { BASE_URL: cluster.balanced.baseUrl, SECRETS_KEY: both },
        })
      ).close();
    });
  });
});
