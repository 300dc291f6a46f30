import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeCapsule, makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must } = callsOf(server);
const writer = await makeKey(server, { scopes: ['write'] });

const path = (end = '') => `/api/v1/threads${end}`;
const asAdmin = (method: string, end: string, body?: unknown) =>
  rest(server, method, path(end), { key: server.adminKey, body });
const asWriter = (method: string, end: string, body?: unknown) =>
  rest(server, method, path(end), { key: writer, body });
const said = (...contents: string[]) => contents.map((content) => ({ role: 'user', content }));

async function create(more: object = {}, ask = asAdmin) {
  const answer = await ask('POST', '', { title: 'A thread', ...more });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

async function contents(id: string, query = '?order=oldest'): Promise<string[]> {
  const { body } = await asAdmin('GET', `/${id}/messages${query}`);
  return pluck(body.data, 'content');
}

describe('create_thread', () => {
  it('makes an active workspace thread from the API that its creator owns', async () => {
    const thread = await create({ title: '  Padded ' }, asWriter);
    assert.match(thread.id, /^thr_[0-9a-z]{26}$/);
    const { status, source, visibility, messageCount, title, revision } = thread;
    assert.deepEqual(
      { status, source, visibility, messageCount, title, revision },
      { status: 'active', source: 'api', visibility: 'workspace', messageCount: 0, title: 'Padded', revision: 1 },
    );
    const { body } = await asWriter('GET', `/${thread.id}/access`);
    assert.deepEqual(
      body.entries.map(({ principal, role }: { principal: object; role: string }) => ({ principal, role })),
      [{ principal: { type: 'api-key', id: thread.createdBy }, role: 'owner' }],
    );
    assert.equal('entries' in thread || 'accessKeys' in thread, false);
  });

  it('says by which door a thread came, unless its maker says where it is from', async () => {
    const input = { title: 'made somewhere' };
    const made = (tool: string, more: object, key = server.adminKey) => must(tool, more, key);
    assert.equal((await made('create_thread', input)).source, 'mcp');
    assert.equal((await made('create_thread', { ...input, source: 'import' })).source, 'import');
    assert.equal((await made('call_tool', { name: 'create_thread', arguments: input })).source, 'mcp');
    const capsule = await makeCapsule(server, { allowedTools: ['create_thread'] });
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'create_thread', arguments: input } };
    const inCapsule = await rest(server, 'POST', `/api/capsules/${capsule.id}/mcp`, { key: capsule.token, body });
    assert.equal(inCapsule.body.result.structuredContent.source, 'mcp');
    for (const [door, source] of Object.entries({ stdio: 'mcp', mcp: 'mcp' })) {
      const answer = await rest(server, 'POST', '/api/v1/mcp', {
        key: server.adminKey,
        body,
        headers: { 'X-Agent-Admin-Door': door },
      });
      assert.equal(answer.body.result.structuredContent.source, source);
    }

    const agent = await made('create_agent', { name: 'opener', displayName: 'Opener', tools: ['create_thread'] });
    const chat = { agentId: agent.id, message: `/create_thread ${JSON.stringify(input)}` };
    const steps = [
      { id: 'made', tool: 'create_thread', arguments: input },
      { id: 'said', tool: 'send_chat_message', arguments: { message: 'Hi', agentId: agent.id } },
    ];
    const flow = await made('create_flow', { name: 'opens', steps });
    const run = await made('trigger_flow', { id: flow.id, wait: true });
    assert.equal(run.status, 'succeeded', JSON.stringify(run));
    assert.equal(run.steps[0].output.source, 'flow');
    assert.equal((await made('get_thread', { id: run.steps[1].output.threadId })).source, 'flow');
    const { threadId } = (await rest(server, 'POST', '/api/v1/chat', { key: server.adminKey, body: chat })).body;
    assert.equal((await made('get_thread', { id: threadId })).source, 'chat');
    const { data } = await made('list_threads', { source: 'agent' });
    assert.deepEqual(pluck(data, 'title'), [input.title]);
  });

  it('takes first messages, in order, and counts them', async () => {
    const messages = said(...Array.from({ length: 100 }, (_, at) => `${at}`));
    const thread = await create({ messages });
    assert.equal(thread.messageCount, 100);
    assert.equal(thread.revision, 1);
    assert.deepEqual(await contents(thread.id, '?order=oldest&limit=100'), pluck(messages, 'content'));
    const { body } = await asAdmin('GET', `/${thread.id}/messages?limit=1`);
    assert.equal(body.data[0].createdAt, thread.lastMessageAt);
    const { status } = await asAdmin('POST', '', { title: 'x', messages: [...messages, ...said('more')] });
    assert.equal(status, 400);
  });

  it('refuses agents that do not exist or were deleted, naming each, and makes nothing', async () => {
    const agents = await Promise.all(
      ['thread-a', 'thread-b'].map((name) => must('create_agent', { name, displayName: name })),
    );
    const [kept, gone] = agents.map(({ id }) => id);
    await must('delete_agent', { id: gone });
    const { status, body } = await asAdmin('POST', '', { title: 'nobody', agentIds: [kept, gone, 'agt_none'] });
    assert.equal(status, 400);
    assert.deepEqual(pluck(body.issues, 'path'), ['agentIds[1]', 'agentIds[2]']);
    const thread = await create({ agentIds: [kept, kept] });
    assert.deepEqual(thread.agentIds, [kept]);
    const { body: page } = await asAdmin('GET', `?agentId=${kept}`);
    assert.deepEqual(pluck(page.data, 'id'), [thread.id]);
    await must('delete_agent', { id: kept });
    assert.equal((await asAdmin('PATCH', `/${thread.id}`, { agentIds: [kept] })).status, 200);
  });

  it('refuses bad input by name', async () => {
    for (const bad of [
      { title: ' ' },
      { title: 'x'.repeat(201) },
      { source: '' },
      { messages: [{ role: 'bot', content: 'x' }] },
    ]) {
      assert.equal((await asAdmin('POST', '', { title: 'x', ...bad })).status, 400, JSON.stringify(bad));
    }
    const { body } = await asAdmin('POST', '', { title: 'x', createdBy: 'usr_me', visibilty: 'restricted' });
    assert.deepEqual(body.issues.map((issue: { path: string }) => issue.path).sort(), ['createdBy', 'visibilty']);
  });
});

describe('list_threads', () => {
  it('filters by status and source, newest first, page by page', async () => {
    const source = 'filtered';
    const made: string[] = [];
    for (let at = 0; at < 5; at += 1) made.push((await create({ source })).id);
    await asAdmin('PATCH', `/${made[1]}`, { status: 'archived' });
    const ids = async (query: string) => {
      const { body } = await asAdmin('GET', query);
      return { ids: pluck(body.data, 'id'), next: body.nextCursor, total: body.total };
    };
    const first = await ids(`?source=${source}&status=active&limit=3&includeTotal=true`);
    assert.deepEqual(first.ids, [made[4], made[3], made[2]]);
    assert.equal(first.total, 4);
    const second = await ids(`?source=${source}&status=active&limit=3&cursor=${first.next}`);
    assert.deepEqual([second.ids, second.next], [[made[0]], null]);
    assert.deepEqual((await ids(`?source=${source}&status=archived`)).ids, [made[1]]);
    assert.equal((await asAdmin('GET', `?source=other&cursor=${first.next}`)).status, 400);
    assert.equal((await asAdmin('GET', '?status=deleted')).status, 400);
  });
});

describe('update_thread', () => {
  it('renames and archives, guarded by the revision', async () => {
    const { id } = await create();
    const { body } = await asAdmin('PATCH', `/${id}`, { title: 'B', status: 'archived', expectedRevision: 1 });
    assert.deepEqual([body.title, body.status, body.revision], ['B', 'archived', 2]);
    const stale = await asAdmin('PATCH', `/${id}`, { title: 'C', expectedRevision: 1 });
    assert.deepEqual([stale.status, stale.body.currentRevision], [409, 2]);
    const same = await asAdmin('PATCH', `/${id}`, { title: 'B' });
    assert.equal(same.body.revision, 2);
    assert.equal((await asAdmin('PATCH', `/${id}`, { status: 'active' })).body.status, 'active');
    assert.equal((await asAdmin('PATCH', `/${id}`, { title: null })).status, 400);
    const agent = await must('create_agent', { name: 'named twice', displayName: 'x' });
    const twice = await asAdmin('PATCH', `/${id}`, { agentIds: [agent.id, agent.id] });
    assert.deepEqual(twice.body.agentIds, [agent.id]);
    assert.equal((await asAdmin('PATCH', `/${id}`, { visibility: 'restricted' })).status, 400);
  });
});

describe('delete_thread', () => {
  it('takes messages and access along, leaves forks, and forgets an empty source', async () => {
    const { id } = await create({ source: 'ending', messages: said('a', 'b') });
    const fork = (await asAdmin('POST', `/${id}/fork`, {})).body;
    assert.equal((await asAdmin('DELETE', `/${id}`)).status, 204);
    for (const end of ['', '/messages', '/access']) assert.equal((await asAdmin('GET', `/${id}${end}`)).status, 404);
    assert.equal(await server.store.messages.count({ where: { threadId: id } }), 0);
    assert.deepEqual(await contents(fork.id), ['a', 'b']);
    assert.equal(await server.store.threadSources.count({ where: { source: 'ending' } }), 1);
    await asAdmin('DELETE', `/${fork.id}`);
    assert.equal(await server.store.threadSources.count({ where: { source: 'ending' } }), 0);
    assert.equal((await asAdmin('DELETE', `/${id}`)).status, 404);
  });

  it('keeps everything where the revision is stale', async () => {
    const { id } = await create({ messages: said('a') });
    assert.equal((await asAdmin('DELETE', `/${id}?expectedRevision=7`)).status, 409);
    assert.deepEqual(await contents(id), ['a']);
  });
});

describe('thread access', () => {
  it('is shared, changed and taken away; a repeat changes nothing', async () => {
    const { id } = await create();
    const { id: keyId } = await must('create_api_key', { name: 'k', scopes: ['read'] });
    const principal = { type: 'api-key', id: keyId };
    const share = (role: string) => asAdmin('POST', `/${id}/access`, { entries: [{ principal, role }] });
    const added = await share('viewer');
    assert.equal(added.status, 201);
    assert.deepEqual([added.body.entries.length, added.body.revision], [2, 2]);
    assert.equal((await share('viewer')).body.revision, 2);
    assert.equal((await share('editor')).body.entries[1].role, 'editor');
    const restricted = await asAdmin('PATCH', `/${id}/access`, { visibility: 'restricted' });
    assert.deepEqual([restricted.status, restricted.body.visibility], [200, 'restricted']);
    assert.equal((await asWriter('GET', `/${id}`)).status, 404);
    const removed = await asAdmin('DELETE', `/${id}/access?principalType=api-key&principalId=${keyId}`);
    assert.deepEqual([removed.status, removed.body.entries.length], [200, 1]);
    const again = await asAdmin('DELETE', `/${id}/access`, { principals: [principal] });
    assert.deepEqual([again.status, again.body.revision], [200, removed.body.revision]);
  });

  it('names principals in the body or in the query, in one of them', async () => {
    const { id } = await create();
    const principals = [{ type: 'user', id: 'usr_1' }];
    assert.equal((await asAdmin('DELETE', `/${id}/access`)).status, 400);
    assert.equal((await asAdmin('DELETE', `/${id}/access?principalType=user`)).status, 400);
    const inQuery = `/${id}/access?principalType=user&principalId=x`;
    assert.equal((await asAdmin('DELETE', inQuery, { principals })).status, 400);
    assert.equal((await asAdmin('DELETE', `/${id}/access`, { principals: [] })).status, 400);
  });

  it('keeps a last owner, whether removed or made less', async () => {
    const thread = await create();
    const { body } = await asAdmin('GET', `/${thread.id}/access`);
    const { principal } = body.entries[0];
    const removed = await asAdmin('DELETE', `/${thread.id}/access`, { principals: [principal] });
    assert.equal(removed.status, 409);
    const demoted = await asAdmin('POST', `/${thread.id}/access`, { entries: [{ principal, role: 'viewer' }] });
    assert.equal(demoted.status, 409);
    assert.deepEqual((await asAdmin('GET', `/${thread.id}/access`)).body, body);
  });

  it('refuses principals that do not exist, and more than 100', async () => {
    const { id } = await create();
    const entry = (type: string, at: string) => ({ principal: { type, id: at }, role: 'viewer' });
    const kinds = { user: 'usr_none', 'api-key': 'key_none', agent: 'agt_none', capsule: 'cap_none' };
    const entries = Object.entries(kinds).map(([type, none]) => entry(type, none));
    const { status, body } = await asAdmin('POST', `/${id}/access`, { entries });
    assert.deepEqual([status, body.issues.length], [400, 4]);
    const capsules = await Promise.all(Array.from({ length: 100 }, () => makeCapsule(server)));
    const full = capsules.map((capsule) => entry('capsule', capsule.id));
    assert.equal((await asAdmin('POST', `/${id}/access`, { entries: full })).status, 409);
    assert.equal((await asAdmin('POST', `/${id}/access`, { entries: full.slice(1) })).status, 201);
  });

  it('loses no entry when many are added at a time', async () => {
    const { id } = await create();
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const capsule = await makeCapsule(server);
        const principal = { type: 'capsule', id: capsule.id };
        return asAdmin('POST', `/${id}/access`, { entries: [{ principal, role: 'viewer' }] });
      }),
    );
    assert.equal((await asAdmin('GET', `/${id}/access`)).body.entries.length, 21);
  });
});

describe('fork_thread', () => {
  it('copies up to a message, with new ids, times kept and a trace of the source', async () => {
    const source = await create({ source: 'chat', messages: said('a', 'b', 'c') });
    const { body: page } = await asAdmin('GET', `/${source.id}/messages?order=oldest`);
    const { status, body: fork } = await asWriter('POST', `/${source.id}/fork`, { messageId: page.data[1].id });
    assert.equal(status, 201);
    assert.deepEqual(
      [fork.title, fork.source, fork.messageCount, fork.lastMessageAt],
      ['A thread (fork)', 'chat', 2, page.data[1].createdAt],
    );
    const { at, ...from } = fork.forkedFrom;
    assert.deepEqual(from, { threadId: source.id, messageId: page.data[1].id, by: fork.createdBy });
    const { body: copies } = await asWriter('GET', `/${fork.id}/messages?order=oldest`);
    assert.deepEqual(
      copies.data.map(({ id: _, threadId, sourceMessageId, ...rest }: Record<string, string>) => ({
        ...rest,
        id: sourceMessageId,
        threadId: threadId === fork.id ? source.id : '',
      })),
      page.data.slice(0, 2),
    );
    assert.ok(copies.data.every(({ id }: { id: string }) => !page.data.some((own: { id: string }) => own.id === id)));
    assert.deepEqual(await contents(source.id), ['a', 'b', 'c']);
  });

  it('copies the latest messages only, where asked', async () => {
    const { id } = await create({ messages: said('a', 'b', 'c', 'd') });
    const { body: page } = await asAdmin('GET', `/${id}/messages?order=oldest`);
    const fork = async (body: object) => contents((await asAdmin('POST', `/${id}/fork`, body)).body.id);
    assert.deepEqual(await fork({ latest: 2 }), ['c', 'd']);
    assert.deepEqual(await fork({ latest: 2, messageId: page.data[2].id }), ['b', 'c']);
    assert.deepEqual(await fork({ latest: 1, messageId: page.data[0].id }), ['a']);
    assert.deepEqual(await fork({}), ['a', 'b', 'c', 'd']);
  });

  it('copies no more than others can wait for', async () => {
    const { id } = await create({});
    const fill = (count: number, content: string) =>
      server.store.transaction((tx) =>
        tx.messages.insertAll(Array.from({ length: count }, () => ({ threadId: id, role: 'user', content }))),
      );
    await fill(21, 'x'.repeat(1_000_000));
    const long = await asAdmin('POST', `/${id}/fork`, {});
    assert.deepEqual([long.status, long.body.code], [409, 'conflict']);
    assert.match(long.body.error, /20,000 messages of 20,000,000 characters/);
    assert.equal((await asAdmin('POST', `/${id}/fork`, { latest: 2 })).body.messageCount, 2);
    await fill(20_001, 'short');
    assert.equal((await asAdmin('POST', `/${id}/fork`, {})).status, 409);
    const { body: fork } = await asAdmin('POST', `/${id}/fork`, { latest: 20_000 });
    assert.equal(fork.messageCount, 20_000);
    assert.equal(await server.store.messages.count({ where: { threadId: fork.id } }), 20_000);
    const found = await server.store.search('messages', { text: 'short', owner: { where: { id: fork.id } }, limit: 1 });
    assert.ok(found.count >= 10_000);
    for (const gone of [id, fork.id]) assert.equal((await asAdmin('DELETE', `/${gone}`)).status, 204);
    assert.equal((await server.store.search('messages', { text: 'short', limit: 1 })).count, 0);
  });

  it('of a restricted thread is restricted to the one who forked', async () => {
    const { id } = await create({ visibility: 'restricted', messages: said('secret') });
    assert.equal((await asWriter('POST', `/${id}/fork`, {})).status, 404);
    const { body: fork } = await asAdmin('POST', `/${id}/fork`, {});
    assert.equal(fork.visibility, 'restricted');
    assert.equal((await asWriter('GET', `/${fork.id}`)).status, 404);
  });

  it('knows only messages of the thread, and takes a thread without any', async () => {
    const [one, other] = [await create({ messages: said('a') }), await create({ messages: said('b') })];
    const { body } = await asAdmin('GET', `/${other.id}/messages`);
    for (const messageId of [body.data[0].id, 'msg_none']) {
      assert.equal((await asAdmin('POST', `/${one.id}/fork`, { messageId })).status, 404);
    }
    const empty = (await asAdmin('POST', `/${(await create()).id}/fork`, { title: 'E' })).body;
    assert.deepEqual([empty.title, empty.messageCount, 'messageId' in empty.forkedFrom], ['E', 0, false]);
  });
});

describe('list_messages', () => {
  it('gives 50 to a page, newest first, and can begin at the other end', async () => {
    const numbers = Array.from({ length: 60 }, (_, at) => `${at}`);
    const { id } = await create({ messages: said(...numbers) });
    const { body } = await asAdmin('GET', `/${id}/messages`);
    assert.equal(body.data.length, 50);
    const newest = [...(await contents(id, '')), ...(await contents(id, `?cursor=${body.nextCursor}`))];
    assert.deepEqual(newest, numbers.toReversed());
    assert.deepEqual(await contents(id, '?order=oldest&limit=3'), ['0', '1', '2']);
    const other = await create({ messages: said('x') });
    assert.equal((await asAdmin('GET', `/${other.id}/messages?cursor=${body.nextCursor}`)).status, 400);
  });
});

describe('list_messages of long messages', () => {
  it('ends a page early and goes on with the next', async () => {
    const { id } = await create();
    await server.store.transaction(async (tx) => {
      for (const letter of 'abcdef') {
        await tx.messages.insert({ threadId: id, role: 'tool', content: letter.repeat(1_000_000) });
      }
    });
    const pages: string[] = [];
    let next: string | null = '';
    while (next !== null) {
      const { body } = await asAdmin('GET', `/${id}/messages?order=oldest${next && `&cursor=${next}`}`);
      pages.push(body.data.map(({ content }: { content: string }) => content[0]).join(''));
      next = body.nextCursor;
    }
    assert.deepEqual(pages, ['abc', 'def']);
  });
});

describe('get_thread_stats', () => {
  it('counts by status, source and day, zero-filled, and undefined ratios are null', async () => {
    let now = new Date('2026-05-01T23:59:59.000Z');
    const registry = await openTestRegistry(() => now);
    const admin = principalOf({ type: 'session', id: 'ses_1', scopes: ['*'] });
    const reader = principalOf({ type: 'api-key', id: 'key_1', scopes: ['read'] });
    const ask = (tool: string, input: object = {}, as = admin) => registry.must(as, tool, input);
    const none = await ask('get_thread_stats');
    assert.deepEqual([none.threads, none.averageMessagesPerThread, none.bySource], [0, null, []]);
    await ask('create_thread', { title: 'too early', messages: said('a') });
    now = new Date('2026-05-02T00:00:00.000Z');
    await ask('create_thread', { title: 'first day', messages: said('a', 'b') });
    const early = { title: 'early', source: 'hidden', visibility: 'restricted', messages: said('h') };
    const { id: earlyId } = await ask('create_thread', early);
    now = new Date('2026-05-31T12:00:00.000Z');
    const { id } = await ask('create_thread', { title: 'today', source: 'chat', messages: said('c') });
    await ask('update_thread', { id, status: 'archived' });
    const hidden = { title: 'hidden', source: 'hidden', visibility: 'restricted', messages: said('d', 'e') };
    await ask('create_thread', hidden);

    await ask('fork_thread', { id: earlyId });

    const all = await ask('get_thread_stats');
    assert.deepEqual([all.threads, all.messages, all.averageMessagesPerThread], [6, 8, 8 / 6]);
    assert.equal(all.messagesPerDay[0].messages, 4);
    const seen = await ask('get_thread_stats', {}, reader);
    assert.deepEqual([seen.threads, seen.messages, seen.byStatus], [3, 4, { active: 2, archived: 1 }]);
    assert.deepEqual(seen.bySource, [
      { source: 'mcp', threads: 2 },
      { source: 'chat', threads: 1 },
    ]);
    assert.equal(seen.messagesPerDay.length, 30);
    assert.deepEqual(seen.messagesPerDay[0], { date: '2026-05-02', messages: 2 });
    assert.deepEqual(seen.messagesPerDay[29], { date: '2026-05-31', messages: 1 });
    assert.equal(
      seen.messagesPerDay.slice(1, 29).every(({ messages }: { messages: number }) => messages === 0),
      true,
    );
    assert.equal(all.messagesPerDay[29].messages, 3);

    await ask('update_settings', { timezone: 'Pacific/Kiritimati' });
    const ahead = await ask('get_thread_stats', {}, reader);
    assert.equal(ahead.timezone, 'Pacific/Kiritimati');
    assert.deepEqual(ahead.messagesPerDay[29], { date: '2026-06-01', messages: 1 });
  });
});
