import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { callTool, makeCapsule, mustCall, rest } from '../support/calls.ts';
import { capsuleClients } from '../support/capsules.ts';
import { allEvents, openEvents } from '../support/events.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { OAuthClient } from '../support/oauth.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { cookieOf, idTokenFor, postIdToken } from '../support/sign-in.ts';
import { until } from '../support/until.ts';
import { connectHttp, type FakeUpstream, reply, startUpstream, toolCalled } from '../support/upstream.ts';

/** Nothing here ends by itself: neither the model nor the upstream server answers. What ends was ended. */
let provider: ModelServer;
let upstream: FakeUpstream;
let server: TestServer;
let agentId = '';
let integration = '';
/** Calls that the upstream server has and does not answer. */
let held = 0;

before(async () => {
  const readOnly = { annotations: { readOnlyHint: true } };
  [provider, upstream] = await Promise.all([
    startModelServer(),
    startUpstream(toolCalled('looks', readOnly), toolCalled('does')),
  ]);
  server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
  integration = (await connectHttp(server, upstream.url, { toolPrefix: 'up' })).id;
  agentId = (await admin('create_agent', { name: 'ada', displayName: 'Ada', tools: ['create_skill', 'up__*'] })).id;
});
after(async () => {
  await server.close();
  await Promise.all([provider.close(), upstream.close()]);
});
afterEach(() => {
  upstream.intercept = () => false;
  held = 0;
});

const admin = (tool: string, input: object = {}) => mustCall(server, server.adminKey, tool, input);
const { ask } = capsuleClients(() => server);

/** The upstream server takes calls and answers none, once this is done with each. */
function holdCalls(meanwhile: (name: string) => Promise<unknown> = async () => {}): void {
  upstream.intercept = async (_, __, { method, params }) => {
    if (method !== 'tools/call') return false;
    await meanwhile(params.name);
    held += 1;
    return true;
  };
}

/** The upstream server does this before it answers a call. */
function beforeAnswer(work: () => Promise<unknown>): void {
  upstream.intercept = async (_, response, { id, method }) => {
    if (method !== 'tools/call') return false;
    await work();
    return reply(response, id, { content: [{ type: 'text', text: 'done' }] });
  };
}

interface Caller {
  readonly secret: string;
  readonly reason: RegExp;
  end(): Promise<unknown>;
}

const callers: Record<string, () => Promise<Caller>> = {
  async 'a key that is revoked'() {
    const { id, secret } = await admin('create_api_key', { name: 'gone', scopes: ['write'] });
    return { secret, reason: /API key gone .*was revoked at/, end: () => admin('revoke_api_key', { id }) };
  },
  async 'a person who is deactivated'() {
    const email = `p${Math.random().toString(36).slice(2)}@example.com`;
    const { id } = await admin('create_admin_user', { email, role: 'member' });
    const cookie = cookieOf(await postIdToken(server, await idTokenFor(server, email)));
    const end = () => admin('deactivate_admin_user', { id });
    return { secret: cookie, reason: new RegExp(`admin user ${email} is deactivated`), end };
  },
  async 'a connected app that is disconnected'() {
    const client = await OAuthClient.registered(server, { client_name: 'Desk' });
    const { access_token: secret } = await client.connected({ scope: 'read write' }, { give: 'write' });
    const [{ id }] = (await admin('list_connected_apps', { limit: 1 })).data;
    return { secret, reason: /connected app Desk .*is disconnected/, end: () => admin('disconnect_app', { id }) };
  },
};

interface Ended {
  readonly code: string;
  readonly error: string;
}

/** The error that a call ends with, at each door. */
const doors: Record<string, (secret: string, agent: string) => Promise<Ended>> = {
  async 'chat over REST'(key) {
    const { status, headers, body } = await rest(server, 'POST', '/api/v1/chat', {
      key,
      body: { message: 'Hi', agentId },
    });
    const challenge = key.startsWith('ak_') ? 'Bearer error="invalid_token"' : 'Bearer';
    assert.deepEqual([status, headers.get('WWW-Authenticate')], [401, challenge]);
    return body;
  },
  async 'chat over REST with events'(key) {
    const { events } = await openEvents(server, '/api/v1/chat', { key, body: { message: 'Hi', agentId } });
    const last = (await allEvents(events)).at(-1);
    assert.equal(last?.name, 'error');
    return last.data as Ended;
  },
  'chat over MCP': (key) => errorOver(key, 'send_chat_message', { message: 'Hi', agentId }),
  invoke_agent: (key, agent) => errorOver(key, 'invoke_agent', { agent, input: 'Hi' }),
  'a tool of an integration that reads': (key) => errorOver(key, 'up__looks', {}),
  'a tool of an integration that does something': (key) => errorOver(key, 'up__does', {}),
};

async function errorOver(key: string, name: string, input: object): Promise<Ended> {
  const answer = await callTool(server, key, name, input);
  return 'error' in answer ? answer.error : assert.fail('It was not ended.');
}

const askedModel = () => provider.requests.length;

describe('a call under way', () => {
  for (const [who, make] of Object.entries(callers)) {
    for (const [door, call] of Object.entries(doors)) {
      // The tokens of an app open the MCP address alone.
      if (who.includes('app') && door.includes('REST')) continue;
      it(`of ${who} ends, and says why: ${door}`, async () => {
        provider.play(() => 'hang');
        await admin('refresh_integration', { id: integration }); // it may look whether the other side is still there
        holdCalls();
        const { secret, reason, end } = await make();
        const before = askedModel();
        const ended = call(secret, agentId);
        const early = ended.then((answer) => assert.fail(`It ended by itself: ${JSON.stringify(answer)}`));
        await Promise.race([until(() => held > 0 || askedModel() > before), early]);
        early.catch(() => {}); // it ends now, as it is to
        await end();
        const { code, error } = await ended;
        assert.equal(code, 'unauthenticated');
        assert.match(error, reason);
      });
    }
  }

  it('of a capsule ends with the capsule, its token, and its right to the tool', async () => {
    holdCalls();
    const ends: [object, RegExp][] = [
      [{ status: 'disabled' }, /capsule is disabled/],
      [{ allowedTools: ['list_agents'] }, /not among the tools of the capsule/],
    ];
    for (const [change, reason] of ends) {
      const capsule = await makeCapsule(server, { allowedTools: ['up__looks'] });
      const answer = ask(capsule, 'tools/call', { name: 'up__looks', arguments: {} });
      await until(() => held > 0);
      held = 0;
      await admin('update_capsule', { id: capsule.id, ...change });
      const { result } = (await answer).body;
      assert.match(result.content[0].text, reason);
    }
  });
});

describe('a run of an agent', () => {
  const twice = [
    { name: 'up__does', arguments: {} },
    { name: 'create_skill', arguments: { name: 'written late', instructions: 'x' } },
  ];
  const play = () =>
    provider.play(({ messages }) => (messages.at(-1)?.role === 'user' ? { calls: twice } : { text: 'Done.' }));
  const lastRun = async () => (await server.store.agentRuns.find({ limit: 1 })).records[0];
  const isWritten = async () =>
    (await admin('list_skills', { limit: 100 })).data.some(({ name }: { name: string }) => name === 'written late');

  it('makes no call and takes no turn any more once its caller is gone', async () => {
    play();
    const { secret, end, reason } = (await callers['a key that is revoked']?.()) ?? assert.fail();
    beforeAnswer(end);
    const asked = askedModel();
    const { code } = await errorOver(secret, 'invoke_agent', { agent: agentId, input: 'Go' });
    assert.equal(code, 'unauthenticated');
    assert.equal(await isWritten(), false);
    assert.equal(askedModel(), asked + 1);
    const run = await lastRun();
    assert.equal(run?.status, 'cancelled');
    assert.match(run.error?.message ?? '', reason);
  });

  it('ends when the agent is deleted', async () => {
    play();
    const other = await admin('create_agent', { name: 'eve', displayName: 'Eve', tools: ['create_skill', 'up__*'] });
    beforeAnswer(() => admin('delete_agent', { id: other.id }));
    const { error } = await errorOver(server.adminKey, 'invoke_agent', { agent: other.id, input: 'Go' });
    assert.match(error, /eve/);
    assert.equal(await isWritten(), false);
    assert.match((await lastRun())?.error?.message ?? '', /agent eve was deleted/);
  });

  it('loses a tool with its allowlist', async () => {
    play();
    const other = await admin('create_agent', { name: 'max', displayName: 'Max', tools: ['create_skill', 'up__*'] });
    beforeAnswer(() => admin('update_agent', { id: other.id, tools: ['up__*'] }));
    const { toolCalls } = await admin('invoke_agent', { agent: other.id, input: 'Go' });
    assert.deepEqual(pluck(toolCalls, 'ok'), [true, false]);
    assert.equal(await isWritten(), false);
  });
});

describe('a run of a flow', () => {
  const call = { id: 'a', tool: 'up__looks', arguments: {} };
  const writes = { id: 'b', tool: 'create_skill', arguments: { name: 'by the flow', instructions: 'x' } };
  const flows: Record<string, object> = {
    'in a step of an agent': { prompt: 'Go' },
    'in a step that reads': { steps: [{ ...call, onError: 'continue' }, writes] },
    'in a step that does something': { steps: [{ ...call, tool: 'up__does', onError: 'continue' }, writes] },
  };
  const ended = async (id: string) => {
    const run = await server.store.flowRuns.get(id);
    return run && run.status !== 'running' && run.status !== 'queued' ? run : undefined;
  };

  for (const [who, make] of Object.entries(callers)) {
    for (const [where, what] of Object.entries(flows)) {
      it(`ends ${where} with ${who}`, async () => {
        provider.play(() => 'hang');
        holdCalls();
        const { secret, reason, end } = await make();
        const does = 'prompt' in what ? { ...what, agentId } : what;
        const flow = await mustCall(server, secret, 'create_flow', { name: 'works', ...does });
        const asked = askedModel();
        const { id } = await admin('trigger_flow', { id: flow.id });
        await until(() => held > 0 || askedModel() > asked);
        await end();
        await until(async () => (await ended(id)) !== undefined);
        const run = await ended(id);
        assert.deepEqual([run?.status, run?.error?.code], ['failed', 'forbidden']);
        assert.match(run?.error?.message ?? '', reason);
        assert.notEqual(run?.steps[1]?.status, 'succeeded');
      });
    }

    it(`ends while it waits for its next try with ${who}`, async () => {
      upstream.intercept = (_, response, { id, method }) => {
        if (method !== 'tools/call') return false;
        held += 1;
        return reply(response, id, undefined);
      };
      const { secret, reason, end } = await make();
      const steps = [{ ...call, tool: 'up__does', retry: { attempts: 3, delayMs: 3_600_000 } }];
      const flow = await mustCall(server, secret, 'create_flow', { name: 'waits', steps });
      const { id } = await admin('trigger_flow', { id: flow.id });
      await until(async () => (await server.store.flowRuns.get(id))?.steps[0]?.error !== undefined);
      await end();
      await until(async () => (await ended(id)) !== undefined);
      assert.match((await ended(id))?.error?.message ?? '', reason);
      assert.equal(held, 1);
    });
  }
});
