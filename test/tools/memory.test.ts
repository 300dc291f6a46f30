import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused } = callsOf(server);
const get = (query: string, key = server.adminKey) => rest(server, 'GET', `/api/v1/agents/memory${query}`, { key });
const ids = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id);
const soon = (milliseconds: number) => server.clock.in(milliseconds);

describe('create_memory', () => {
  it('fills in what is not given', async () => {
    const { status, body } = await rest(server, 'POST', '/api/v1/agents/memory', {
      key: server.adminKey,
      body: { content: '  Ships on Fridays. ', tags: ['ops', 'ops'] },
    });
    assert.equal(status, 201);
    const { id, createdAt, updatedAt, ...rest_ } = body;
    assert.match(id, /^mem_/);
    assert.equal(createdAt, updatedAt);
    assert.deepEqual(rest_, {
      content: 'Ships on Fridays.',
      kind: 'fact',
      scope: 'workspace',
      tags: ['ops'],
      importance: 0.5,
      pinned: false,
      superseded: false,
      revision: 1,
    });
  });

  it('wants the agent it names, and the id that its scope needs', async () => {
    const agent = await must('create_agent', { name: 'gone', displayName: 'Gone' });
    await must('delete_agent', { id: agent.id });
    for (const [input, path] of [
      [{ agentId: 'agt_none' }, 'agentId'],
      [{ agentId: agent.id }, 'agentId'],
      [{ threadId: 'thr_none' }, 'threadId'],
      [{ scope: 'agent' }, 'agentId'],
      [{ scope: 'thread' }, 'threadId'],
      [{ scope: 'user' }, 'userId'],
      [{ supersedes: 'mem_none' }, 'supersedes'],
      [{ expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
      [{ importance: 1.1 }, 'importance'],
      [{ kind: 'rumour' }, 'kind'],
      [{ superseded: true }, 'superseded'],
      [{ content: '  ' }, 'content'],
    ] as const) {
      const error = await refused('create_memory', { content: 'x', ...input });
      assert.deepEqual([error.code, error.issues?.[0]?.path], ['invalid_input', path], JSON.stringify(input));
    }
    assert.deepEqual(ids(await must('list_memories', { agentId: agent.id })), []);
  });

  it('replaces the memory it supersedes, which deleting it brings back', async () => {
    const old = await must('create_memory', { content: 'Prefers marmalade.' });
    const now = await must('create_memory', { content: 'Prefers honey to marmalade.', supersedes: old.id });
    assert.deepEqual(ids(await must('list_memories', { q: 'marmalade' })), [now.id]);
    assert.deepEqual(ids(await must('search_memories', { q: 'marmalade' })), [now.id]);
    assert.deepEqual(ids(await must('list_memories', { superseded: true })), [old.id]);
    const kept = await must('get_memory', { id: old.id });
    assert.deepEqual([kept.superseded, kept.revision], [true, 1]);
    await must('delete_memory', { id: now.id });
    assert.deepEqual(ids(await must('list_memories', { q: 'marmalade' })), [old.id]);
    const path = `/api/v1/versions/memory/${now.id}`;
    const { body } = await rest(server, 'GET', path, { key: server.adminKey });
    const restored = await rest(server, 'POST', `${path}/${body.data[0].id}/restore`, {
      key: server.adminKey,
      body: {},
    });
    assert.equal(restored.status, 200);
    assert.deepEqual(ids(await must('list_memories', { q: 'marmalade' })), [now.id]);
  });
});

describe('tags of memories', () => {
  it('are the same however their accents are written', async () => {
    const [composed, apart] = ['café'.normalize('NFC'), 'café'.normalize('NFD')];
    const memory = await must('create_memory', { content: 'espresso', tags: [apart, composed] });
    assert.deepEqual(memory.tags, [composed]);
    for (const tag of [composed, apart]) assert.deepEqual(ids(await must('list_memories', { tag })), [memory.id]);
  });
});

describe('search_memories', () => {
  it('pages through all that match, best first, with the total, and takes no cursor of another search', async () => {
    const made: string[] = [];
    for (let at = 0; at < 7; at += 1) {
      const content = `pomegranate ${'and more '.repeat(at)}`;
      made.push((await must('create_memory', { content, kind: at < 5 ? 'fact' : 'episode' })).id);
    }
    const input = { q: 'pomegranate', kind: 'fact' };
    const whole = await must('search_memories', { ...input, includeTotal: true });
    assert.deepEqual([whole.total, whole.nextCursor, ids(whole).sort()], [5, null, made.slice(0, 5).sort()]);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await must('search_memories', { ...input, limit: 2, ...(cursor && { cursor }) });
      seen.push(...ids(page));
      cursor = page.nextCursor ?? undefined;
      const foreign = await refused('search_memories', { q: 'quince', cursor: cursor ?? 'x' });
      assert.equal(foreign.issues?.[0]?.path, 'cursor');
    } while (cursor);
    assert.deepEqual(seen, ids(whole));
  });
});

describe('list_memories', () => {
  it('filters by every member, and by all together', async () => {
    const agent = await must('create_agent', { name: 'filters', displayName: 'F' });
    const one = await must('create_memory', {
      content: 'The harbour closes at nine.',
      kind: 'episode',
      scope: 'agent',
      agentId: agent.id,
      userId: 'u1',
      tags: ['port', 'time'],
      pinned: true,
    });
    await must('create_memory', { content: 'The harbour is deep.', agentId: agent.id, tags: ['port'] });
    for (const filter of [
      { kind: 'episode' },
      { scope: 'agent' },
      { tag: 'time' },
      { userId: 'u1' },
      { pinned: true },
    ]) {
      const query = new URLSearchParams({ agentId: agent.id, includeTotal: 'true', ...filter } as Record<
        string,
        string
      >);
      const { body } = await get(`?${query}`);
      assert.deepEqual([ids(body), body.total], [[one.id], 1], query.toString());
      const ranked = (await get(`?${query}&q=harbour`)).body;
      assert.deepEqual([ids(ranked), ranked.total], [[one.id], 1], query.toString());
    }
    assert.equal((await get(`?agentId=${agent.id}`)).body.data.length, 2);
    assert.equal((await get(`?agentId=${agent.id}&kind=rule`)).status, 400);
  });

  it('ranks with q, and pages through all of it', async () => {
    for (let at = 0; at < 7; at += 1) {
      await must('create_memory', {
        content: `Lanterns ${at % 2 === 0 ? 'lanterns' : 'are bright'} ${at}`,
        tags: ['l'],
      });
    }
    const all = (await get('?q=lanterns&limit=100&includeTotal=true')).body;
    assert.equal(all.total, 7);
    const scores = pluck(all.data, 'score');
    assert.deepEqual(
      scores,
      [...scores].sort((a, b) => b - a),
    );
    assert.ok(scores[0] > scores[6] && scores[6] > 0 && scores[0] < 1);
    const walked: string[] = [];
    let cursor = '';
    do {
      const { body } = await get(`?q=lanterns&limit=3${cursor}`);
      walked.push(...ids(body));
      cursor = body.nextCursor && `&cursor=${body.nextCursor}`;
    } while (cursor);
    assert.deepEqual(walked, ids(all));
    const { nextCursor } = (await get('?q=lanterns&limit=3')).body;
    for (const query of [
      `?q=lantern&cursor=${nextCursor}`,
      `?cursor=${nextCursor}`,
      `?q=lanterns&tag=l&cursor=${nextCursor}`,
    ]) {
      assert.equal((await get(query)).status, 400, query);
    }
  });
});

describe('a memory that expires', () => {
  it('is nowhere afterwards, and comes back by a restore', async () => {
    const agent = await must('create_agent', { name: 'forgetful', displayName: 'F' });
    const memory = await must('create_memory', { content: 'mayfly', agentId: agent.id, expiresAt: soon(60_000) });
    const seen = async () => {
      const { body } = await get(`?agentId=${agent.id}&includeTotal=true`);
      const found = await must('search', { q: 'mayfly' });
      const ranked = (await get('?q=mayfly')).body;
      return [body.total, body.data.length, ranked.data.length, found.data.length, found.facets.memory ?? 0];
    };
    assert.deepEqual(await seen(), [1, 1, 1, 1, 1]);
    server.clock.pass(60_000);
    assert.deepEqual(await seen(), [0, 0, 0, 0, 0]);
    for (const tool of ['get_memory', 'delete_memory', 'update_memory']) {
      assert.equal((await refused(tool, { id: memory.id })).code, 'not_found', tool);
    }
    const path = `/api/v1/versions/memory/${memory.id}`;
    const { body } = await rest(server, 'GET', path, { key: server.adminKey });
    const { status } = await rest(server, 'POST', `${path}/${body.data[0].id}/restore`, {
      key: server.adminKey,
      body: {},
    });
    assert.equal(status, 200);
    const back = await must('get_memory', { id: memory.id });
    assert.deepEqual([back.expiresAt, back.revision, back.content], [undefined, 2, 'mayfly']);
  });
});

describe('update_memory', () => {
  it('changes members, clears optional ones and keeps a history', async () => {
    const memory = await must('create_memory', { content: 'a', source: 's', expiresAt: '2999-01-01T00:00:00Z' });
    assert.equal(memory.expiresAt, '2999-01-01T00:00:00.000Z');
    const change = {
      id: memory.id,
      content: 'b',
      source: null,
      expiresAt: null,
      tags: ['t', 't'],
      expectedRevision: 1,
    };
    const updated = await must('update_memory', change);
    assert.deepEqual(
      [updated.content, updated.source, updated.expiresAt, updated.tags, updated.revision],
      ['b', undefined, undefined, ['t'], 2],
    );
    assert.equal((await refused('update_memory', change)).currentRevision, 2);
    assert.equal((await refused('update_memory', { id: memory.id, scope: 'agent' })).issues?.[0]?.path, 'agentId');
    assert.equal((await refused('update_memory', { id: memory.id, expiresAt: soon(-1) })).code, 'invalid_input');
    const { data } = await must('list_versions', { entityType: 'memory', entityId: memory.id });
    assert.deepEqual(
      data.map(({ payload }: { payload: { content: string } }) => payload.content),
      ['b', 'a'],
    );
    assert.ok(!('superseded' in data[0].payload));
  });

  it('is found by its new text at once, by concurrent callers too', async () => {
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, at) => must('create_memory', { content: `beacon${at} old` })),
    );
    await Promise.all(made.map(({ id }, at) => must('update_memory', { id, content: `beacon${at} kestrel` })));
    const { total, data } = (await get('?q=kestrel&limit=100&includeTotal=true')).body;
    assert.deepEqual([total, new Set(ids({ data })).size], [20, 20]);
    await Promise.all(made.map(({ id }) => must('delete_memory', { id })));
    assert.deepEqual((await get('?q=kestrel')).body.data, []);
  });
});
