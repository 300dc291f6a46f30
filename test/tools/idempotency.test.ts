import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { canonicalize } from 'json-canonicalize';
import { callTool, makeCapsule, makeKey, mustCall, rest } from '../support/calls.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();

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

  it('is taken over MCP from the header or from _meta, and refused where the two differ', async () => {
    const capsule = await makeCapsule(server, { allowedTools: ['create_skill'] });
    const doors = [
      { path: '/api/v1/mcp', key: server.adminKey },
      { path: `/api/capsules/${capsule.id}/mcp`, key: capsule.token },
    ];
    for (const [at, { path, key }] of doors.entries()) {
      const call = (header: string | undefined, meta: string | undefined, name: string) => {
        const params = { name: 'create_skill', arguments: { name }, ...(meta && { _meta: { idempotencyKey: meta } }) };
        const headers = header === undefined ? {} : { 'Idempotency-Key': header };
        return rest(server, 'POST', path, {
          key,
          headers,
          body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
        });
      };
      const idOf = ({ body }: Awaited<ReturnType<typeof call>>) => JSON.parse(body.result.content[0].text).id;
      const name = `h${at}`;
      const first = await call('h', undefined, name);
      for (const keys of [
        ['h', undefined],
        [undefined, 'h'],
        ['h', 'h'],
      ] as const) {
        const again = await call(keys[0], keys[1], name);
        assert.equal(idOf(again), idOf(first));
        assert.equal(again.headers.get('Idempotency-Replayed'), 'true');
      }
      const { status, body } = await call('h', 'other', name);
      assert.deepEqual([status, body.error.code], [400, -32602]);
      assert.match(body.error.message, /Idempotency-Key and _meta.idempotencyKey differ/);
      assert.equal(
        JSON.parse((await call('', undefined, `${name} empty`)).body.result.content[0].text).code,
        'invalid_input',
      );
    }
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

  it('lets one of many concurrent repeats run where no unique name guards the call', async () => {
    const body = { title: 'made once', messages: [{ role: 'user', content: 'once' }] };
    const asked = Array.from({ length: 20 }, () => post(server.adminKey, 'k6 thread', body, '/api/v1/threads'));
    const overMcp = Array.from({ length: 20 }, () =>
      callTool(server, server.adminKey, 'create_goal', { title: 'made once' }, { idempotencyKey: 'k6 goal' }),
    );
    const answers = await Promise.all(asked);
    assert.ok(answers.every(({ status }) => status === 201 || status === 409));
    assert.ok(answers.some(({ status }) => status === 201));
    const goals = (await Promise.all(overMcp)).flatMap((answer) => ('output' in answer ? [answer.output.id] : []));
    assert.equal(new Set(goals).size, 1);
    assert.equal(await server.store.threads.count({ where: { source: 'api' } }), 1);
    assert.equal(await server.store.goals.count({}), 1);
    const again = await post(server.adminKey, 'k6 thread', body, '/api/v1/threads');
    assert.deepEqual([again.status, again.headers.get('Idempotency-Replayed')], [201, 'true']);
  });

  it('lets one of many concurrent repeats of a call in steps run', async () => {
    const body = { message: 'Once' };
    const asked = Array.from({ length: 8 }, () => post(server.adminKey, 'k6 chat', body, '/api/v1/chat'));
    const answers = await Promise.all(asked);
    const threads = answers.filter(({ status }) => status === 200).map(({ body: { threadId } }) => threadId);
    assert.equal(new Set(threads).size, 1);
    assert.equal(await server.store.threads.count({ where: { source: 'chat' } }), 1);
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

  it('keeps nothing by which a short secret of the input could be guessed', async () => {
    const input = {
      name: 'k8 integration',
      transport: 'http',
      url: 'http://127.0.0.1:9/mcp',
      headers: { 'X-Pin': '4711' },
    };
    const call = () => callTool(server, server.adminKey, 'create_integration', input, { idempotencyKey: 'k8 pin' });
    const first = await call();
    assert.ok('output' in first, JSON.stringify(first));
    const { records } = await server.store.idempotency.find({ order: 'newest', limit: 1 });
    const plain = createHash('sha256').update(canonicalize(input)).digest('base64url');
    assert.notEqual(records[0]?.inputHash, plain);
    assert.deepEqual(await call(), first);
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

describe('a repeat of a call about a restricted thread', () => {
  const must = (tool: string, input: object = {}, key = server.adminKey) => mustCall(server, key, tool, input);
  let count = 0;

  /** A caller who may see a restricted thread, and how that is taken away and given back. */
  async function caller() {
    const { id, secret } = await must('create_api_key', { name: 'replayer', scopes: ['write'] });
    const principal = { type: 'api-key', id };
    const thread = await must('create_thread', { title: 'secret', visibility: 'restricted' });
    const share = (role: string) => must('add_thread_access', { id: thread.id, entries: [{ principal, role }] });
    await share('owner');
    return {
      threadId: thread.id as string,
      withdraw: () => must('remove_thread_access', { id: thread.id, principals: [principal] }),
      giveBack: () => share('viewer'),
      async once(tool: string, input: object) {
        count += 1;
        const idempotencyKey = `about ${count}`;
        const call = () => callTool(server, secret, tool, input, { idempotencyKey });
        return { first: await call(), again: call };
      },
    };
  }

  it('is refused once the caller may not see it any more, and answered when it may again', async () => {
    const { threadId, withdraw, giveBack, once } = await caller();
    const { id: capsuleId } = await must('create_capsule', { name: 'other' });
    const entries = [{ principal: { type: 'capsule', id: capsuleId }, role: 'viewer' }];
    const memory = await must('create_memory', { content: 'm', threadId });
    const { data } = await must('list_versions', { entityType: 'memory', entityId: memory.id });
    const version = { entityType: 'memory', entityId: memory.id, versionId: data[0].id };
    const calls = [
      await once('update_thread', { id: threadId, title: 'renamed' }),
      await once('fork_thread', { id: threadId }),
      await once('add_thread_access', { id: threadId, entries }),
      await once('create_memory', { content: 'a secret', threadId }),
      await once('update_memory', { id: memory.id, content: 'more' }),
      await once('restore_version', version),
      await once('create_artifact', { name: 'a', mimeType: 'text/plain', content: 'a secret', threadId }),
    ];
    for (const { first, again } of calls) assert.deepEqual(await again(), first);
    await withdraw();
    for (const { first, again } of calls) {
      assert.ok('output' in first);
      const answer = await again();
      assert.ok('error' in answer, JSON.stringify(first));
      assert.equal(answer.error.code, 'not_found');
    }
    const made = (await must('list_memories', { threadId, includeTotal: true })).total;
    assert.equal(made, 2, 'nothing was made again');
    await giveBack();
    for (const { first, again } of calls) assert.deepEqual(await again(), first);
  });

  it('is refused over REST with 404', async () => {
    const { id, secret } = await must('create_api_key', { name: 'rest', scopes: ['write'] });
    const body = { title: 'mine', visibility: 'restricted', messages: [{ role: 'user', content: 'secret' }] };
    const first = await post(secret, 'restricted', body, '/api/v1/threads');
    assert.equal(first.status, 201);
    const capsule = await must('create_capsule', { name: 'other' });
    const other = { principal: { type: 'capsule', id: capsule.id }, role: 'owner' };
    await must('add_thread_access', { id: first.body.id, entries: [other] });
    await must('remove_thread_access', { id: first.body.id, principalType: 'api-key', principalId: id });
    const again = await post(secret, 'restricted', body, '/api/v1/threads');
    assert.deepEqual([again.status, again.body.code], [404, 'not_found']);
    assert.doesNotMatch(JSON.stringify(again.body), /mine|secret/);
    await must('delete_thread', { id: first.body.id });
    const gone = await post(secret, 'restricted', body, '/api/v1/threads');
    assert.deepEqual([gone.status, gone.body.code], [409, 'conflict']);
  });

  it('goes on where the thread was one of the workspace, and where the caller itself deleted it', async () => {
    const { threadId, once } = await caller();
    const open = await once('create_thread', { title: 'open' });
    assert.ok('output' in open.first);
    await must('delete_thread', { id: open.first.output.id });
    assert.deepEqual(await open.again(), open.first);
    const deleted = await once('delete_thread', { id: threadId });
    assert.deepEqual(await deleted.again(), deleted.first);
    assert.ok('output' in deleted.first);
  });

  it('does not reveal whether there is a thread that the caller never saw', async () => {
    const { id } = await must('create_thread', { title: 'never seen', visibility: 'restricted' });
    const { once } = await caller();
    const calls = [
      await once('create_document', { title: id, content: `about ${id}` }),
      await once('create_memory', { content: 'x', threadId: id }),
      await once('update_thread', { id, title: 'x' }),
    ];
    for (const { first, again } of calls) {
      const repeat = await again();
      if ('error' in first && 'error' in repeat) assert.equal(repeat.error.error, first.error.error);
      else assert.deepEqual(repeat, first);
    }
  });
});

describe('an idempotency key after a day', () => {
  const START = Date.parse('2026-03-01T12:00:00.000Z');
  const HOUR = 60 * 60 * 1000;

  it('is free again, for the same input and for another, and what was kept is gone', async () => {
    let now = START;
    const world = await openTestRegistry(() => new Date(now));
    const principal = principalOf({ type: 'api-key', id: 'key_1', scopes: ['admin'] });
    const make = (key: string, input: object) =>
      world.registry.call({
        principal,
        tool: 'create_goal',
        input,
        door: 'mcp',
        requestId: 'test',
        idempotency: { key, operation: 'tools/call create_goal' },
      });
    const idOf = async (key: string, input: object) => {
      const answer = await make(key, input);
      assert.ok(answer.ok);
      return [(answer.output as { id: string }).id, answer.replayed === true] as const; // a goal
    };
    const [first] = await idOf('a', { title: 'A' });
    const [second] = await idOf('b', { title: 'B' });
    now = START + 24 * HOUR - 1000;
    assert.deepEqual(await idOf('a', { title: 'A' }), [first, true]);
    const refused = await make('b', { title: 'other' });
    assert.equal(refused.ok === false && refused.error.code, 'conflict');
    now = START + 24 * HOUR + 1000;
    const [anew, replayed] = await idOf('a', { title: 'A' });
    assert.deepEqual([anew === first, replayed], [false, false]);
    const [other] = await idOf('b', { title: 'other' });
    assert.notEqual(other, second);
    assert.deepEqual(await idOf('a', { title: 'A' }), [anew, true]);
    assert.equal(await world.store.goals.count({}), 4);
    assert.equal(await world.store.idempotency.count({}), 2);
    // The day counts from the call that ran, not from its repeats.
    now = START + 48 * HOUR + 2000;
    assert.deepEqual((await idOf('a', { title: 'A' }))[1], false);
  });
});
