import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callTool, makeKey, mustCall, rest } from '../support/calls.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.close());

const post = (key: string, idempotencyKey: string, body: object, path = '/api/v1/agents') =>
  rest(server, 'POST', path, { key, body, headers: { 'Idempotency-Key': idempotencyKey } });
const agent = (name: string) => ({ name, displayName: name });

describe('Idempotency-Key', () => {
  it('replays the first answer and makes nothing twice', async () => {
    const first = await post(server.adminKey, 'k1', agent('once'));
    const again = await post(server.adminKey, 'k1', agent('once'));
    assert.deepEqual([first.status, again.status], [201, 201]);
    assert.deepEqual(again.body, first.body);
    assert.equal(first.headers.get('Idempotency-Replayed'), null);
    assert.equal(again.headers.get('Idempotency-Replayed'), 'true');
  });

  it('refuses another body under the same key', async () => {
    await post(server.adminKey, 'k2', agent('k2'));
    const { status, body } = await post(server.adminKey, 'k2', agent('k2 other'));
    assert.deepEqual([status, body.code], [409, 'conflict']);
  });

  it('replays an error of the caller', async () => {
    await post(server.adminKey, 'k3', agent('k3'));
    const first = await post(server.adminKey, 'k4', agent('k3'));
    const { body } = await rest(server, 'GET', '/api/v1/agents', { key: server.adminKey });
    const holder = body.data.find(({ name }: { name: string }) => name === 'k3');
    await rest(server, 'DELETE', `/api/v1/agents/${holder.id}`, { key: server.adminKey });
    const again = await post(server.adminKey, 'k4', agent('k3'));
    assert.deepEqual([first.status, again.status], [409, 409]);
    assert.deepEqual({ ...again.body, requestId: '' }, { ...first.body, requestId: '' });
    assert.equal(again.body.requestId, again.headers.get('X-Request-Id'));
  });

  it('is bound to principal and path', async () => {
    const other = await makeKey(server, { scopes: ['write'] });
    await post(server.adminKey, 'k5', agent('k5'));
    assert.equal((await post(other, 'k5', agent('k5 of other'))).status, 201);
    assert.equal((await post(server.adminKey, 'k5', { name: 'k5' }, '/api/v1/agents/skills')).status, 201);
  });

  it('lets one of many concurrent repeats run', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(server.adminKey, 'k6', agent('k6'))));
    const made = answers.filter(({ status }) => status === 201);
    assert.equal(new Set(made.map(({ body }) => body.id)).size, 1);
    assert.ok(answers.every(({ status }) => status === 201 || status === 409));
  });

  it('checks access anew before it replays', async () => {
    const owner = await mustCall(server, server.adminKey, 'create_api_key', { name: 'k7', scopes: ['write'] });
    assert.equal((await post(owner.secret, 'k7', agent('k7'))).status, 201);
    await mustCall(server, server.adminKey, 'revoke_api_key', { id: owner.id });
    assert.equal((await post(owner.secret, 'k7', agent('k7'))).status, 401);
  });

  it('keeps no answer that holds a secret: a repeat is 409 and makes no second key', async () => {
    const call = () =>
      callTool(server, server.adminKey, 'create_api_key', { name: 'k8', scopes: ['read'] }, { idempotencyKey: 'k8' });
    const first = await call();
    const again = await call();
    assert.ok('output' in first);
    assert.equal('error' in again && again.error.code, 'conflict');
    const kept = await server.store.idempotency.find({ limit: 100 });
    assert.equal(JSON.stringify(kept).includes(String(first.output.secret)), false);
  });

  it('works over MCP by _meta.idempotencyKey', async () => {
    const call = () => callTool(server, server.adminKey, 'create_skill', { name: 'k9' }, { idempotencyKey: 'k9' });
    const [first, again] = [await call(), await call()];
    assert.deepEqual(again, first);
    assert.ok('output' in first);
  });

  it('refuses a key without or with too many characters', async () => {
    assert.equal((await post(server.adminKey, 'x'.repeat(256), agent('k10'))).status, 400);
  });
});
