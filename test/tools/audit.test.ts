import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, credential, makeKey, rest } from '../support/calls.ts';
import { send } from '../support/http.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';

const server = await startTestServer();
const { must, call, codeOf } = callsOf(server);

// biome-ignore lint/suspicious/noExplicitAny: tests look into entries freely
const entries = async (filters: object = {}): Promise<any[]> =>
  (await must('list_audit_entries', { limit: 100, ...filters })).data;

describe('the audit log', () => {
  it('has one entry per call with outcome and code, refused calls included', async () => {
    const key = await makeKey(server, { scopes: ['agents:read'] });
    const requestIds = ['ok-1', 'denied-1', 'invalid-1', 'failed-1'];
    const ask = (path: string, n: number, method = 'GET', body?: unknown) =>
      rest(server, method, path, { key, body, headers: { 'X-Request-Id': requestIds[n] ?? '' } });
    await ask('/api/v1/agents?limit=5', 0);
    await ask('/api/v1/agents', 1, 'POST', { name: 'n', displayName: 'd' });
    await ask('/api/v1/agents?limit=0', 2);
    await ask('/api/v1/agents/agt_none', 3);
    const found = (await entries()).filter(({ requestId }) => requestIds.includes(requestId)).reverse();
    assert.deepEqual(pluck(found, 'requestId', 'tool', 'outcome', 'code', 'door'), [
      ['ok-1', 'list_agents', 'ok', undefined, 'rest'],
      ['denied-1', 'create_agent', 'denied', 'forbidden', 'rest'],
      ['invalid-1', 'list_agents', 'invalid', 'invalid_input', 'rest'],
      ['failed-1', 'get_agent', 'failed', 'not_found', 'rest'],
    ]);
    assert.deepEqual(found[0].arguments, { limit: 5 });
    assert.equal(found[0].principal.type, 'api-key');
  });

  it('has an entry also of a call with a number that JSON cannot hold', async () => {
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'list_agents', arguments: { limit: 0.5 } },
    };
    const answer = await send(`${server.baseUrl}/api/v1/mcp`, {
      method: 'POST',
      headers: { ...credential(server.adminKey), 'content-type': 'application/json', 'x-request-id': 'too-large' },
      body: JSON.stringify(message).replace('0.5', '1e400'),
    });
    assert.equal(JSON.parse(answer.text).result?.isError, true, answer.text);
    const [entry] = await entries({ requestId: 'too-large' });
    assert.deepEqual([entry.tool, entry.outcome, entry.arguments], ['list_agents', 'invalid', { limit: null }]);
  });

  it('filters by request, by record, by session and by its own id', async () => {
    const key = await makeKey(server, { scopes: ['write'] });
    const ask = (method: string, path: string, body?: unknown) =>
      rest(server, method, `/api/v1${path}`, { key, body, headers: { 'X-Request-Id': 'one-request' } });
    const { body: made } = await ask('POST', '/agents', { name: 'found', displayName: 'Found' });
    await ask('GET', `/agents/${made.id}`);
    await rest(server, 'PATCH', `/api/v1/agents/${made.id}`, { key, body: { displayName: 'Changed' } });
    const tools = async (filters: object) => (await entries(filters)).map(({ tool }) => tool);
    assert.deepEqual(await tools({ requestId: 'one-request' }), ['get_agent', 'create_agent']);
    assert.deepEqual(await tools({ recordId: made.id }), ['update_agent', 'get_agent', 'create_agent']);
    assert.deepEqual(await tools({ recordId: made.id, requestId: 'one-request', tool: 'get_agent' }), ['get_agent']);
    assert.deepEqual(await tools({ recordId: made.id.slice(0, -1) }), []);
    const [{ id }] = await entries({ recordId: made.id, tool: 'get_agent' });
    assert.deepEqual(await tools({ id }), ['get_agent']);
    assert.deepEqual(await tools({ id, changes: true }), []);
    assert.deepEqual(await tools({ recordId: made.id, changes: true }), ['update_agent', 'create_agent']);
    const total = { recordId: made.id, includeTotal: true, limit: 1 };
    assert.equal((await must('list_audit_entries', total)).total, 3);

    const [one, two] = [await signIn(server), await signIn(server)];
    await must('list_skills', {}, one);
    await must('list_agents', {}, two);
    const [entry] = await entries({ tool: 'list_skills', door: 'mcp', limit: 1 });
    assert.deepEqual(await tools({ sessionId: entry.sessionId }), ['list_skills', 'create_session']);
    assert.equal(await codeOf('list_audit_entries', { sessionId: '' }), 'invalid_input');
  });

  it('filters by principal, tool, outcome, door and time, and pages', async () => {
    const made = await must('create_api_key', { name: 'filtered', scopes: ['read'] });
    for (let n = 0; n < 5; n += 1) await call('list_skills', {}, made.secret);
    await call('create_skill', { name: 'x' }, made.secret);
    const mine = await entries({ principal: made.id });
    assert.equal(mine.length, 6);
    assert.equal((await entries({ principal: made.id, tool: 'list_skills' })).length, 5);
    assert.equal((await entries({ principal: made.id, outcome: 'denied', door: 'mcp' })).length, 1);
    assert.equal((await entries({ principal: made.id, door: 'rest' })).length, 0);
    assert.equal(
      (await entries({ principal: made.id, from: mine[2].at })).every(({ at }) => at >= mine[2].at),
      true,
    );
    assert.equal((await entries({ principal: made.id, to: mine[5].at })).length, 0);
    const second = mine[2].at.slice(0, 19);
    assert.equal(
      (await entries({ principal: made.id, from: `${second}Z` })).length,
      (await entries({ principal: made.id, from: `${second}.000Z` })).length,
    );
    const page = await must('list_audit_entries', { principal: made.id, limit: 4 });
    const rest = await must('list_audit_entries', { principal: made.id, limit: 4, cursor: page.nextCursor });
    assert.deepEqual([...page.data, ...rest.data], mine);
    const counted = { principal: made.id, from: mine[3].at, limit: 1, includeTotal: true };
    const { total } = await must('list_audit_entries', counted);
    assert.equal(total, mine.filter(({ at }) => at >= mine[3].at).length);
  });

  it('names unknown members without their values and cuts long arguments', async () => {
    await call('create_skill', { name: 'long', instructions: 'x'.repeat(10_000) });
    await call('create_skill', { name: 'odd', password: 'hunter2' });
    const [odd, long] = await entries({ tool: 'create_skill' });
    assert.deepEqual(odd.arguments, { name: 'odd', password: '[unknown member]' });
    assert.ok(JSON.stringify(long.arguments).length < 4300);
    await call('create_skill', { name: 'wide', instructions: '語'.repeat(2000) });
    const [{ arguments: wide }] = await entries({ tool: 'create_skill' });
    assert.match(wide.truncated, /^\{"name":"wide","instructions":"語{1300,}$/);
    assert.ok(Buffer.byteLength(wide.truncated) <= 4096);
  });

  it('keeps the entry of a write in its transaction', async () => {
    await must('create_skill', { name: 'together' });
    const [entry] = await entries({ tool: 'create_skill' });
    assert.deepEqual([entry.outcome, entry.arguments], ['ok', { name: 'together' }]);
  });

  it('needs admin or audit:read', async () => {
    const plain = await call('list_audit_entries', {}, await makeKey(server, { scopes: ['write'] }));
    assert.deepEqual('error' in plain && plain.error.required, { scope: 'admin', grant: 'audit:read' });
    assert.ok('output' in (await call('list_audit_entries', {}, await makeKey(server, { grants: ['audit:read'] }))));
  });
});
