import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, callTool, makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const agents: Record<string, string> = {};
const server = await startTestServer({ ADMIN_EMAIL: 'grace@example.com' });
const { must } = callsOf(server);
for (const name of ['falcon', 'falconer', 'heron']) {
  const description = name === 'heron' ? `Watches the falcon. ${'Rivers and lakes. '.repeat(40)}Zanzibar at last.` : '';
  agents[name] = (await must('create_agent', { name, displayName: `The ${name}`, description })).id;
}
await must('create_skill', { name: 'falconry', instructions: 'How to keep a falcon.' });
await must('create_memory', { content: 'The falcon likes rabbit.' });

const search = (query: string, key = server.adminKey) => rest(server, 'GET', `/api/v1/search?${query}`, { key });
const found = (body: { data: { type: string; title: string }[] }) =>
  body.data.map(({ type, title }) => `${type} ${title}`);

describe('search', () => {
  it('finds records of every type, the exact name first, with counts by type', async () => {
    const { status, body } = await search('q=falcon');
    assert.equal(status, 200);
    assert.equal(found(body)[0], 'agent The falcon');
    assert.equal(body.data[0].score, 1);
    assert.deepEqual(body.facets, { agent: 3, skill: 1, memory: 1 });
    assert.equal(body.data.length, 5);
    assert.equal(body.nextCursor, null);
    for (const hit of body.data) {
      assert.deepEqual(Object.keys(hit).sort(), ['id', 'score', 'snippet', 'title', 'type', 'updatedAt']);
      assert.match(hit.snippet, /falcon/i);
    }
  });

  it('finds by id and by e-mail', async () => {
    assert.deepEqual(found((await search(`q=${agents.heron}`)).body).slice(0, 1), ['agent The heron']);
    const { body } = await search('q=Grace@Example.com');
    assert.deepEqual([found(body)[0], body.data[0].score], ['admin-user grace@example.com', 1]);
  });

  it('shows the place of the match', async () => {
    const { body } = await search('q=zanzibar');
    assert.match(body.data[0].snippet, /^….*Zanzibar at last\.$/);
    assert.ok(body.data[0].snippet.length <= 201);
  });

  it('marks what has less than half of the words, without those that say nothing', async () => {
    const { id } = await must('create_memory', { content: 'Holidays of the staff are planned in March.' });
    const marks = async (q: string) => {
      const { data } = await must('search', { q, types: ['memory'] });
      const memories = await must('search_memories', { q });
      assert.deepEqual(pluck(memories.data, 'weak'), pluck(data, 'weak'), q);
      return data.find((hit: { id: string }) => hit.id === id)?.weak ?? false;
    };
    for (const q of ['capital of Peru city', 'staff xylophone quartz zebra']) assert.equal(await marks(q), true, q);
    for (const q of ['staff', 'hollidays', 'holi', 'planning holidays', 'staff of Peru', 'of the', id]) {
      assert.equal(await marks(q), false, q);
    }
    await must('delete_memory', { id });
  });

  it('takes types repeated or between commas, and no others', async () => {
    for (const query of ['types=agent&types=skill', 'types=agent,skill', 'types=agent,%20skill']) {
      assert.deepEqual((await search(`q=falcon&${query}`)).body.facets, { agent: 3, skill: 1 }, query);
    }
    assert.deepEqual((await search('q=falcon&types=memory')).body.facets, { memory: 1 });
    const { status, body } = await search('q=falcon&types=agent,agnet');
    assert.deepEqual([status, body.issues[0].path], [400, 'types[1]']);
    for (const query of [
      '',
      'q=',
      'q=%20',
      'q=a&types=',
      'q=a&q=b',
      `q=${'a'.repeat(501)}`,
      'q=a&limit=0',
      'q=a&offset=1',
    ]) {
      assert.equal((await search(query)).status, 400, query);
    }
  });

  it('pages through everything once, best first', async () => {
    const all = (await search('q=falcon&limit=100')).body.data;
    const walked: unknown[] = [];
    let cursor = '';
    do {
      const { body } = await search(`q=falcon&limit=2${cursor}`);
      walked.push(...body.data);
      assert.deepEqual(body.facets, { agent: 3, skill: 1, memory: 1 });
      cursor = body.nextCursor && `&cursor=${body.nextCursor}`;
    } while (cursor);
    assert.deepEqual(walked, all);
    const { nextCursor } = (await search('q=falcon&limit=2')).body;
    assert.equal((await search(`q=heron&cursor=${nextCursor}`)).status, 400);
    assert.equal((await search(`q=falcon&types=agent&cursor=${nextCursor}`)).status, 400);
  });

  it('gives nothing of types the caller may not read, and refuses them where they are asked for', async () => {
    const byScope = await makeKey(server, { scopes: ['agents:read', 'skills:read'] });
    assert.deepEqual((await search('q=falcon', byScope)).body.facets, { agent: 3, skill: 1 });
    const byGrant = await makeKey(server, { scopes: ['admin'], grants: ['search:read', 'memory:read'] });
    assert.deepEqual((await search('q=falcon', byGrant)).body.facets, { memory: 1 });
    const none = await makeKey(server, { grants: ['search:read'] });
    assert.deepEqual((await search('q=falcon', none)).body, { data: [], nextCursor: null, facets: {} });
    const { status, body } = await search('q=falcon&types=memory,agent', byScope);
    assert.deepEqual(
      [status, body.error, body.required],
      [403, 'Insufficient permissions', { scope: 'memory:read', grant: 'memory:read' }],
    );
    assert.equal((await search('q=grace&types=admin-user', byScope)).status, 403);
    const reader = await makeKey(server, { scopes: ['read'] });
    assert.deepEqual((await search('q=grace', reader)).body.data, []);
  });

  it('shows single records to those whose grants name them, by id or name', async () => {
    const key = await makeKey(server, { grants: ['search:read', 'agent:read:falconer', `agent:read:${agents.heron}`] });
    const { body } = await search('q=falcon', key);
    assert.deepEqual(found(body).sort(), ['agent The falconer', 'agent The heron']);
    assert.deepEqual(body.facets, { agent: 2 });
    assert.deepEqual((await search(`q=${agents.falcon}`, key)).body.data, []);
  });

  it('hides deleted agents until they are revived', async () => {
    const { id } = await must('create_agent', { name: 'osprey', displayName: 'Osprey' });
    await must('delete_agent', { id });
    assert.deepEqual((await search('q=osprey')).body, { data: [], nextCursor: null, facets: {} });
    await must('update_agent', { id, status: 'active' });
    assert.equal((await search('q=osprey')).body.data.length, 1);
  });

  it('never finds what answers mask or hold back', async () => {
    const { id } = await must('create_agent', {
      name: 'merlin',
      displayName: 'Merlin',
      identity: { phone: { enabled: true }, card: { enabled: true } },
    });
    await must('provision_agent_identity', { id, phone: { number: '+1555017342' }, card: { cardRef: 'cardref8816' } });
    const key = await makeKey(server, { scopes: ['admin'] });
    const { records } = await server.store.apiKeys.find({ limit: 1 });
    for (const text of ['1555017342', 'cardref8816', '•••', key, key.slice(3, 11), records[0]?.hash ?? '', 'api-key']) {
      const answer = await callTool(server, server.adminKey, 'search', { q: text });
      assert.deepEqual('output' in answer && answer.output.data, [], text);
    }
  });

  it('keeps threads and their messages from those who may not see the thread', async () => {
    const owner = await makeKey(server, { scopes: ['write'] });
    const stranger = await makeKey(server, { scopes: ['write'] });
    const messages = [{ role: 'user', content: 'Where is the albatross?' }];
    const thread = await must('create_thread', { title: 'Albatross hunt', messages }, owner);
    const seen = async (key: string) => (await search('q=albatross', key)).body;
    const { data, facets } = await seen(stranger);
    assert.deepEqual(facets, { thread: 1, message: 1 });
    const hit = data.find(({ type }: { type: string }) => type === 'message');
    assert.deepEqual([hit.title, hit.parent], ['Albatross hunt', { type: 'thread', id: thread.id }]);

    const entries = { id: thread.id, visibility: 'restricted' };
    await must('update_thread_access', entries, owner);
    assert.deepEqual(await seen(stranger), { data: [], nextCursor: null, facets: {} });
    for (const query of [`q=${thread.id}`, `q=${hit.id}`]) {
      assert.deepEqual((await search(query, stranger)).body.data, [], query);
    }
    assert.deepEqual((await seen(owner)).facets, { thread: 1, message: 1 });
    assert.deepEqual((await seen(server.adminKey)).facets, { thread: 1, message: 1 });

    const limited = await makeKey(server, { grants: ['search:read', 'thread:read:thr_other'] });
    assert.deepEqual((await seen(limited)).facets, {});
    await must('delete_thread', { id: thread.id }, owner);
    assert.deepEqual((await seen(server.adminKey)).facets, {});
  });

  it('finds what belongs to projects, a task and its document on pages of one', async () => {
    const project = await must('create_project', { name: 'Kookaburra project' });
    const task = await must('create_task', { title: 'Feed the kookaburra' });
    await must('update_task_document', { id: task.id, content: 'Kookaburras eat mice.' });
    await must('create_goal', { title: 'Kookaburra goal', projectId: project.id });
    await must('create_document', { title: 'Birds', content: 'On the kookaburra.', tags: [] });
    await must('create_artifact', { name: 'list', mimeType: 'text/plain', content: 'kookaburra' });
    await must('create_artifact', { name: 'bytes', mimeType: 'image/png', data: 'a29va2FidXJyYQ==' });
    const database = await must('create_database', { name: 'Sightings', columns: [{ name: 'bird', type: 'string' }] });
    const record = await must('create_record', { databaseId: database.id, values: { bird: 'Kookaburra' } });
    const { body } = await search('q=kookaburra&limit=100');
    const kinds = ['project', 'task', 'task-document', 'goal', 'document', 'artifact', 'database-record'];
    assert.deepEqual(Object.keys(body.facets).sort(), [...kinds].sort());
    const hit = body.data.find(({ type }: { type: string }) => type === 'database-record');
    assert.deepEqual([hit.id, hit.title, hit.parent], [record.id, 'Sightings', { type: 'database', id: database.id }]);

    const byId: string[] = [];
    let cursor = '';
    do {
      const page = (await search(`q=${task.id}&limit=1${cursor}`)).body;
      byId.push(...pluck(page.data, 'type'));
      cursor = page.nextCursor && `&cursor=${page.nextCursor}`;
    } while (cursor);
    assert.deepEqual(byId.slice(0, 2), ['task', 'task-document']);

    const key = await makeKey(server, { grants: ['search:read', `record:read:${database.id}`] });
    assert.deepEqual((await search('q=kookaburra', key)).body.facets, { 'database-record': 1 });
  });

  it('finds users of the product, exact e-mails first', async () => {
    const records = ['kea@birds.example', 'kea@birds.example.org', 'toucan@birds.example'].map((email, at) => ({
      uid: `u-${at}`,
      email,
      name: `Person ${at}`,
      status: 'FREE',
      createdAt: '2026-01-01',
    }));
    await must('import_records', { type: 'users', records });
    const { body } = await search('q=KEA@birds.example&types=user');
    assert.deepEqual(found(body), ['user Person 0', 'user Person 1']);
    assert.deepEqual([body.data[0].score, body.data[1].score < 1, body.facets], [1, true, { user: 2 }]);
    const walked: string[] = [];
    let cursor = '';
    do {
      const page = (await search(`q=birds.example&types=user&limit=1${cursor}`)).body;
      walked.push(...pluck(page.data, 'id'));
      cursor = page.nextCursor && `&cursor=${page.nextCursor}`;
    } while (cursor);
    assert.deepEqual([walked.length, new Set(walked).size], [3, 3]);
    const key = await makeKey(server, { grants: ['search:read', 'user:read:u-1'] });
    assert.deepEqual(found((await search('q=birds.example', key)).body), ['user Person 1']);
    const none = await makeKey(server, { scopes: ['agents:read'] });
    assert.deepEqual((await search('q=birds.example', none)).body.data, []);
  });
});
