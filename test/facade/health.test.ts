import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { answerBeforeStart } from '../../facade/before-start.ts';
import { createNativeServer } from '../../facade/http/native-prototypes.ts';
import { FailingFiles } from '../store/failing-files.ts';
import { stoppedAtEnd } from '../support/at-end.ts';
import { callsOf, rest } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

const files = new FailingFiles();
const server = serverForTests({}, { files });
const { must, refused } = callsOf(server);

const health = () => rest(server, 'GET', '/api/v1/health', { key: server.adminKey });
const system = async () => (await rest(server, 'GET', '/api/v1/agents/health', { key: server.adminKey })).body;
const entryOf = async (name: string) =>
  (await system()).integrations.find((entry: { name: string }) => entry.name === name);

/** What a load balancer asks, on a name of its own and without a credential. */
async function ready(method = 'GET'): Promise<{ status: number; body: string; headers: Headers }> {
  const response = await fetch(`${server.baseUrl}/readyz`, { method });
  return { status: response.status, body: await response.text(), headers: response.headers };
}

describe('/readyz', () => {
  it('is 200 without body and credentials, for GET and HEAD, and no other method', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status, body, headers } = await ready(method);
      assert.deepEqual([status, body, headers.get('content-length')], [200, '', '0'], method);
      assert.equal(headers.get('cache-control'), 'no-store');
    }
    const { status, headers } = await ready('POST');
    assert.deepEqual([status, headers.get('allow')], [405, 'HEAD, GET']);
  });

  it('is 503 while the store takes no writes, and asks it nothing', async () => {
    files.failure = 'write';
    await refused('create_skill', { name: 'unready', instructions: 'x' });
    const { status, body } = await ready();
    assert.deepEqual([status, body], [503, '']);
    files.failure = undefined;
    await until(async () => (await ready()).status === 200);
  });

  it('is not counted against anybody: as many probes as come are answered, and none is audited', async () => {
    const before = await server.store.audit.count({});
    const answers = await Promise.all(Array.from({ length: 200 }, () => ready()));
    assert.ok(answers.every(({ status }) => status === 200));
    await server.store.audit.flush();
    assert.equal(await server.store.audit.count({}), before);
  });
});

describe('a server that is not there yet', () => {
  const { server: early } = createNativeServer(answerBeforeStart, assert.ifError);
  let baseUrl: string;
  before(async () => {
    stoppedAtEnd(early).listen(0, '127.0.0.1');
    await once(early, 'listening');
    baseUrl = `http://127.0.0.1:${(early.address() as AddressInfo).port}`;
  });
  after(() => early.close());

  async function ask(path: string, init: RequestInit = {}) {
    const response = await fetch(`${baseUrl}${path}`, init);
    assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '1'], path);
    return { headers: response.headers, text: await response.text() };
  }

  it('is not ready, and says to callers of the API that it starts', async () => {
    assert.equal((await ask('/readyz')).text, '');
    for (const headers of [{}, { Expect: 'unknown' }, { Accept: 'text/html' }]) {
      const call = await rest({ baseUrl }, 'GET', '/api/v1/agents', { headers });
      assert.deepEqual([call.status, call.body.code, call.headers.get('retry-after')], [503, 'unavailable', '1']);
    }
    assert.equal(JSON.parse((await ask('/api/v1/mcp')).text).code, 'unavailable');
  });

  it('answers MCP clients with an error of JSON-RPC', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list' });
    const streams = { headers: { Accept: 'text/event-stream' } };
    for (const path of ['/api/v1/mcp', '/api/v1/mcp?mode=search', '/api/capsules/cap_01h/mcp']) {
      for (const init of [{ method: 'POST', body }, streams]) {
        const { text, headers } = await ask(path, init);
        assert.equal(headers.get('content-type'), 'application/json');
        const { jsonrpc, id, error } = JSON.parse(text);
        assert.deepEqual([jsonrpc, id, error.code], ['2.0', null, -32000]);
        assert.match(error.message, /starting/);
      }
    }
  });

  it('answers OAuth clients with an error of OAuth, which pages of any origin may read', async () => {
    const metadata = ['oauth-authorization-server', 'openid-configuration', 'oauth-protected-resource/api/v1/mcp'];
    for (const path of ['/oauth/token', '/oauth/register', ...metadata.map((name) => `/.well-known/${name}`)]) {
      const { text, headers } = await ask(path, { method: path.startsWith('/oauth') ? 'POST' : 'GET' });
      const { error, error_description: description } = JSON.parse(text);
      assert.equal(error, 'temporarily_unavailable', path);
      assert.match(description, /starting/);
      assert.equal(headers.get('access-control-allow-origin'), '*');
    }
  });

  it('shows browsers a page, which they load again unless a form led to it', async () => {
    const headers = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    for (const path of ['/', '/agents', '/sign-in', '/oauth/authorize?client_id=x', '/api/v1/mcp']) {
      const page = await ask(path, { headers });
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/, path);
      assert.match(page.text, /<h1>The server is starting<\/h1>/);
      assert.equal(page.headers.get('refresh'), '1');
    }
    const form = await ask('/sign-in', {
      method: 'POST',
      headers,
      body: new URLSearchParams({ email: 'a@example.com' }),
    });
    assert.match(form.text, /<h1>/);
    assert.equal(form.headers.get('refresh'), null);
  });
});

describe('health', () => {
  it('is down with 503 while every write is refused, at every door, and ok again afterwards', async () => {
    assert.deepEqual([(await health()).status, (await health()).body.status], [200, 'ok']);
    files.failure = 'write';
    const skill = { name: 'lost', instructions: 'x' };
    assert.equal((await refused('create_skill', skill)).code, 'unavailable');
    const down = await health();
    assert.equal(down.status, 503);
    assert.deepEqual([down.body.status, down.body.store], ['down', { kind: 'lowdb', writable: false }]);
    assert.equal((await must('check_health')).status, 'down');
    const { overallStatus, integrations } = await system();
    assert.equal(overallStatus, 'down');
    assert.equal(integrations[0].status, 'down');
    assert.match(integrations[0].lastError, /injected write failure/);
    files.failure = undefined;
    await until(async () => (await health()).status === 200);
    await must('create_skill', skill);
    assert.equal((await system()).overallStatus, 'ok');
  });

  it('names enabled flows that act for somebody who is deactivated, to those who may read flows', async () => {
    const { id: userId } = await must('create_admin_user', { email: 'gone@example.com', role: 'owner' });
    const { secret } = await must('create_api_key', { name: 'hers', scopes: ['admin'] });
    const [key] = (await server.store.apiKeys.find({ where: { name: 'hers' }, limit: 1 })).records;
    assert.ok(key);
    await writing(server.store).apiKeys.update(key.id, { ownerId: userId });
    const steps = [{ id: 'a', tool: 'list_agents' }];
    const { id } = await must('create_flow', { name: 'orphan', steps }, secret);
    const off = await must('create_flow', { name: 'off', steps, enabled: false }, secret);
    assert.equal(await entryOf('flows'), undefined);
    await must('deactivate_admin_user', { id: userId });
    const { status, lastError } = await entryOf('flows');
    assert.equal(status, 'degraded');
    assert.match(lastError, new RegExp(`deactivated or gone: ${id} "orphan" of hers`));
    assert.ok(!lastError.includes(off.id));
    const grants = await must('create_api_key', { name: 'probe', scopes: [], grants: ['system:read'] });
    const seen = await must('get_system_health', {}, grants.secret);
    const entry = seen.integrations.find(({ name }: { name: string }) => name === 'flows');
    assert.match(entry.lastError, /deactivated or gone: some\.$/);
    await must('reactivate_admin_user', { id: userId });
    assert.equal(await entryOf('flows'), undefined);
  });

  it('says of each entry how long it took to find out', async () => {
    for (const { name, latencyMs } of (await system()).integrations) assert.equal(typeof latencyMs, 'number', name);
  });
});
