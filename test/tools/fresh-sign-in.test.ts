import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { callsOf, credential, makeKey, rest } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';
import { idTokenFor, signIn } from '../support/sign-in.ts';

const server = await startTestServer();
const { must, refused } = callsOf(server);
const TEN_MINUTES = 10 * 60 * 1000;
let made = 0;
const KEY = { name: 'x', scopes: ['read'] };

describe('a call that makes secrets or changes people', () => {
  let email: string;
  let stale: string;
  beforeEach(async () => {
    made += 1;
    email = `person-${made}@example.com`;
    await must('create_admin_user', { email });
    stale = await signIn(server, email);
    server.clock.pass(TEN_MINUTES);
  });

  it('is made in a session of less than ten minutes', async () => {
    const session = await signIn(server, email);
    assert.ok((await must('get_current_principal', {}, session)).freshUntil > server.clock.in(TEN_MINUTES - 60_000));
    server.clock.pass(TEN_MINUTES - 60_000);
    await must('create_api_key', KEY, session);
    server.clock.pass(60_000);
    assert.equal((await must('get_current_principal', {}, session)).freshUntil, undefined);
    await refused('create_api_key', KEY, session);
  });

  it('is refused in an older one with what to do, at every door, and all else goes on', async () => {
    const { code, error, required } = await refused('create_api_key', KEY, stale);
    assert.deepEqual({ code, required }, { code: 'forbidden', required: { freshSignIn: true } });
    assert.match(error, /less than 10 minutes ago.*passkey or by signing in again/);
    const overRest = await rest(server, 'POST', '/api/v1/platform-users', {
      key: stale,
      body: { email: 'x@example.com' },
    });
    assert.deepEqual([overRest.status, overRest.body.required], [403, { freshSignIn: true }]);
    const through = { name: 'create_admin_user', arguments: { email: 'new@example.com' } };
    assert.deepEqual((await refused('call_tool', through, stale)).required, { freshSignIn: true });
    await must('list_api_keys', {}, stale);
    const { id } = await must('create_document', { title: 'x', content: '' }, stale);
    await must('delete_document', { id }, stale);
    const [entry] = (await must('list_audit_entries', { tool: 'create_api_key', limit: 1 })).data;
    assert.equal(entry.outcome, 'denied');
  });

  it('is refused after the right to it: who may not make it is told that', async () => {
    const { id } = await must('get_current_principal', {}, stale);
    await must('update_admin_user', { id, access: { scopes: ['read'] } });
    assert.deepEqual((await refused('create_admin_user', { email: 'x@example.com' }, stale)).required, {
      scope: 'admin',
      grant: '*',
    });
  });

  it('needs nothing of keys, which are credentials of programs', async () => {
    const key = await makeKey(server, { scopes: ['admin'] });
    server.clock.pass(TEN_MINUTES);
    await must('create_api_key', KEY, key);
  });

  it('is not handed to a flow or an agent that would make it later, unseen', async () => {
    const steps = [{ id: 'in', tool: 'create_admin_user', arguments: { email: 'x@example.com' } }];
    const flow = { name: 'x', trigger: { kind: 'manual' } };
    assert.deepEqual((await refused('create_flow', { ...flow, steps }, stale)).required, { freshSignIn: true });
    const tools = ['update_admin_user'];
    const agent = { name: 'maker', displayName: 'Maker', tools };
    assert.deepEqual((await refused('create_agent', agent, stale)).required, { freshSignIn: true });
    const { id: agentId } = await must('create_agent', agent);
    const prompted = { ...flow, agentId, prompt: 'go' };
    assert.deepEqual((await refused('create_flow', prompted, stale)).required, { freshSignIn: true });
    const [own] = (await must('list_admin_users', { limit: 1 })).data;
    const message = `/update_admin_user {"id": "${own.id}", "name": "x"}`;
    const { threadId } = await must('send_chat_message', { agentId, message }, stale);
    const { data } = await must('list_messages', { id: threadId });
    assert.match(JSON.stringify(data), /less than 10 minutes ago/);
    assert.equal(
      (await must('list_admin_users', {})).data.some((user: { email: string }) => user.email === 'x@example.com'),
      false,
    );
    await must('create_flow', { ...flow, steps }, await signIn(server, email));
  });

  it('is confirmed by no token that a link made, and by none over the API', async () => {
    const idToken = await idTokenFor(server, email);
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'confirm_session', arguments: { idToken } },
    };
    const { body } = await rest(server, 'POST', '/api/v1/mcp', { key: stale, body: message });
    assert.equal(body.result?.isError ?? body.error !== undefined, true);
    await refused('create_api_key', KEY, stale);
  });

  it('tells a page of the dashboard when somebody has signed in again', async () => {
    const state = async (cookie?: string) => {
      const headers = cookie === undefined ? {} : credential(cookie);
      return (await rest(server, 'GET', '/sign-in/state', { headers })).body;
    };
    const { userId, freshUntil, passkeys } = await state(stale);
    assert.deepEqual({ freshUntil, passkeys }, { freshUntil: undefined, passkeys: 0 });
    const fresh = await state(await signIn(server, email));
    assert.equal(fresh.userId, userId);
    assert.ok(fresh.freshUntil > server.clock.in(TEN_MINUTES - 60_000));
    assert.deepEqual(await state(), {});
  });
});
