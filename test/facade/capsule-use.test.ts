import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { callsOf, callTool, credential, makeCapsule, mustCall } from '../support/calls.ts';
import { type Capsule, capsuleClients } from '../support/capsules.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { serverForTests } from '../support/server.ts';
import { openStreamAt } from '../support/stream.ts';
import { until } from '../support/until.ts';
import { legacy, post } from './mcp-requests.ts';

const server = serverForTests();
const { must: admin } = callsOf(server);
const { make, ask, call, endpoint, entryOf } = capsuleClients(() => server);

const agentIds = { ref: { type: 'ref/resource', uri: 'agent://{id}' }, argument: { name: 'id', value: '' } };

it('callsPerMinute refuses calls beyond it with 429 and Retry-After, and nothing else', async () => {
  const [capsule, other] = [await make({ callsPerMinute: 2 }), await make({ callsPerMinute: 2 })];
  for (let n = 0; n < 2; n += 1) assert.ok('data' in (await call(capsule, 'list_agents')));
  const { status, headers, text } = await ask(capsule, 'tools/call', { name: 'list_agents', arguments: {} });
  assert.equal(status, 429);
  const seconds = Number(headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 60);
  assert.equal(JSON.parse(text).code, 'rate_limited');
  assert.equal((await ask(capsule, 'resources/list')).status, 429);
  assert.equal((await ask(capsule, 'completion/complete', agentIds)).status, 429);
  for (const method of ['tools/list', 'initialize', 'ping']) assert.equal((await ask(capsule, method)).status, 200);
  assert.ok('data' in (await call(other, 'list_agents')));
  await admin('update_capsule', { id: capsule.id, callsPerMinute: null });
  assert.ok('data' in (await call(capsule, 'list_agents')));
});

describe('what a capsule does', () => {
  it('is audited with the capsule, refused calls too, and so are those who come to the wrong door', async () => {
    const [capsule, other] = [await make(), await make()];
    const send = (token: string, url: string, id: string, tool: string) =>
      post(url, legacy('tools/call', { name: tool }), { token, headers: { 'X-Request-Id': id } });
    await send(capsule.token, endpoint(capsule.id), 'ok', 'list_agents');
    await send(capsule.token, endpoint(capsule.id), 'refused', 'list_skills');
    await send(capsule.token, endpoint(other.id), 'elsewhere', 'list_agents');
    await send(capsule.token, `${server.baseUrl}/api/v1/mcp`, 'unified', 'list_agents');
    await send(server.adminKey, endpoint(capsule.id), 'key', 'list_agents');
    const seen = await Promise.all(
      ['ok', 'refused', 'elsewhere', 'unified', 'key'].map(async (id) => {
        const { door, principal, tool, outcome, arguments: args } = await entryOf(id);
        return [door, principal.type, tool, outcome, args.capsuleId];
      }),
    );
    assert.deepEqual(seen, [
      ['capsule', 'capsule', 'list_agents', 'ok', undefined],
      ['capsule', 'capsule', 'list_skills', 'denied', undefined],
      ['capsule', 'capsule', 'authenticate', 'denied', other.id],
      ['capsule', 'capsule', 'authenticate', 'denied', undefined],
      ['capsule', 'api-key', 'authenticate', 'denied', capsule.id],
    ]);
    const { data } = await admin('list_audit_entries', { principal: capsule.id, limit: 10 });
    assert.ok(data.length >= 4);
  });

  it('is counted, also over a restart', () =>
    withFolder(async (folder) => {
      const key = `ak_capsules_${'k'.repeat(43)}`;
      const env = { BOOTSTRAP_API_KEY: key };
      const first = await startProcess(folder, env);
      const { id, token } = await makeCapsule(
        { baseUrl: first.baseUrl, adminKey: key },
        { allowedTools: ['list_agents'] },
      );
      const calls = (baseUrl: string, count: number) =>
        Promise.all(
          Array.from({ length: count }, () =>
            post(`${baseUrl}/api/capsules/${id}/mcp`, legacy('tools/call', { name: 'list_agents' }), { token }),
          ),
        );
      const before = Date.now();
      await calls(first.baseUrl, 7);
      await first.stop('SIGTERM');
      const second = await startProcess(folder, env);
      await calls(second.baseUrl, 3);
      const capsuleNow = () => mustCall(second, key, 'get_capsule', { id });
      await until(async () => (await capsuleNow()).callCount === 10);
      const capsule = await capsuleNow();
      assert.ok(Date.parse(capsule.lastUsedAt) >= before);
      assert.equal(capsule.revision, 1);
      await second.stop('SIGTERM');
    }));
});

it('a crash right after a rotation was answered leaves the new token good and the old one dead', () =>
  withFolder(async (folder) => {
    const key = `ak_capsules_${'k'.repeat(43)}`;
    const env = { BOOTSTRAP_API_KEY: key };
    const first = await startProcess(folder, env);
    const made = await makeCapsule({ baseUrl: first.baseUrl, adminKey: key }, { allowedTools: ['list_agents'] });
    const { token } = await mustCall(first, key, 'rotate_capsule_token', { id: made.id });
    await first.stop('SIGKILL');
    const second = await startProcess(folder, env);
    const status = async (each: string) =>
      (await post(`${second.baseUrl}/api/capsules/${made.id}/mcp`, legacy('tools/list'), { token: each })).status;
    assert.deepEqual([await status(token), await status(made.token)], [200, 401]);
    await second.stop('SIGTERM');
  }));

it('rotations at the same time leave one good token, that of the one which came last', async () => {
  const { id } = await make();
  const answers = await Promise.all(Array.from({ length: 8 }, () => admin('rotate_capsule_token', { id })));
  const good = [];
  for (const { token, revision } of answers) if ((await ask({ id, token }, 'ping')).status === 200) good.push(revision);
  assert.deepEqual(good, [9]);
  const guarded = await Promise.all(
    Array.from({ length: 4 }, () =>
      callTool(server, server.adminKey, 'rotate_capsule_token', { id, expectedRevision: 9 }),
    ),
  );
  assert.equal(guarded.filter((answer) => 'output' in answer).length, 1);
});

it('earlier tokens are kept for as long as they work', async () => {
  const { id } = await make();
  await admin('rotate_capsule_token', { id, graceSeconds: 60 });
  await admin('rotate_capsule_token', { id, graceSeconds: 600 });
  server.clock.pass(60_000);
  const { earlierTokens } = await admin('rotate_capsule_token', { id, graceSeconds: 600 });
  assert.equal(earlierTokens.length, 2);
});

describe('subscribers of a capsule', () => {
  const listen = ({ id, token }: Capsule) => openStreamAt(endpoint(id), credential(token));
  const CHANGED = 'notifications/tools/list_changed';

  it('hear of changes of its list, those of others do not, and disabling ends their streams', async () => {
    const [one, other, third] = [await make(), await make(), await make()];
    const [mine, theirs, later] = [await listen(one), await listen(other), await listen(third)];
    await admin('update_capsule', { id: one.id, allowedTools: ['list_agents', 'list_skills'] });
    await until(() => mine.heard.includes(CHANGED));
    await admin('update_capsule', { id: one.id, name: 'renamed' });
    await admin('update_capsule', { id: third.id, allowedTools: ['list_skills'] });
    await until(() => later.heard.includes(CHANGED)); // what the change before it led to was sent by then
    await admin('update_capsule', { id: one.id, status: 'disabled' });
    await admin('update_capsule', { id: other.id, status: 'draft' });
    await admin('update_capsule', { id: third.id, status: 'draft' });
    await Promise.all([mine.ended, theirs.ended, later.ended]);
    assert.deepEqual(
      [mine, theirs].map(({ heard }) => heard.filter((method) => method === CHANGED).length),
      [1, 0],
    );
  });

  it('hear of changed constraints, where the tools stay the same', async () => {
    const capsule = await make({ allowedTools: ['list_agents'] });
    const stream = await listen(capsule);
    await admin('update_capsule', { id: capsule.id, constraints: { list_agents: { status: 'active' } } });
    await until(() => stream.heard.includes(CHANGED));
    await admin('update_capsule', { id: capsule.id, status: 'disabled' });
    await stream.ended;
  });

  it('are cut off by rotation, deletion, expiry and the end of the person it acts for', async () => {
    const expiring = await make({ expiresAt: server.clock.in(60_000) });
    const [rotated, deleted] = [await make(), await make()];
    const streams = await Promise.all([expiring, rotated, deleted].map(listen));
    server.clock.pass(60_000);
    await admin('rotate_capsule_token', { id: rotated.id });
    await admin('delete_capsule', { id: deleted.id });
    const late = delay(30_000, 'late', { ref: false });
    for (const { ended } of streams) assert.notEqual(await Promise.race([ended, late]), 'late');
  });
});
