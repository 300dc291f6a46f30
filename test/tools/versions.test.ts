import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { canonicalize } from 'json-canonicalize';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must } = callsOf(server);

const ask = (method: string, path: string, body?: unknown) =>
  rest(server, method, `/api/v1${path}`, { key: server.adminKey, body });
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

async function agentWith(name: string, ...changes: object[]) {
  const { body: agent } = await ask('POST', '/agents', { name, displayName: name });
  for (const change of changes) await ask('PATCH', `/agents/${agent.id}`, change);
  const { body } = await ask('GET', `/versions/agent/${agent.id}`);
  return { id: agent.id as string, path: `/versions/agent/${agent.id}`, versions: body.data.reverse() };
}

describe('versions of an agent', () => {
  it('count 1, 2, 3 with author, canonical content and its hash', async () => {
    const { versions } = await agentWith('counted', { description: 'a' }, { description: 'b' });
    assert.deepEqual(pluck(versions, 'revision'), [1, 2, 3]);
    for (const { content, contentHash, payload, author, kind } of versions) {
      assert.equal(content, canonicalize(payload));
      assert.equal(contentHash, sha256(content));
      assert.equal(author.type, 'api-key');
      assert.equal(kind, 'snapshot');
    }
  });

  it('tell allowlists apart by tools and not by globs', async () => {
    const lists = [
      ['*_skill'],
      ['create_skill', 'delete_skill', 'get_skill', 'update_skill'],
      ['get_skill', 'list_skills'],
    ];
    const { path, versions } = await agentWith('narrowed', ...lists.map((tools) => ({ tools })));
    const diff = async (n: number) => (await ask('GET', `${path}/${versions[n].id}/diff`)).body.tools;
    assert.deepEqual((await diff(1)).gained.sort(), lists[1]);
    assert.equal(await diff(2), undefined);
    assert.deepEqual(await diff(3), {
      gained: ['list_skills'],
      lost: ['create_skill', 'delete_skill', 'update_skill'],
    });
  });

  it('diff against the one before, the current one, a revision and an id', async () => {
    const { path, versions } = await agentWith(
      'diffed',
      { description: 'a', tools: ['get_agent', 'list_agents'] },
      { description: 'b', tools: ['list_agents'] },
    );
    const diff = async (n: number, query = '') => (await ask('GET', `${path}/${versions[n].id}/diff${query}`)).body;
    assert.deepEqual(await diff(2), {
      kind: 'json',
      changes: [
        { path: '/description', before: 'a', after: 'b' },
        { path: '/tools/0', before: 'get_agent' },
      ],
      tools: { gained: [], lost: ['get_agent'] },
    });
    assert.deepEqual(await diff(1, '?against=current'), {
      kind: 'json',
      changes: [
        { path: '/description', before: 'b', after: 'a' },
        { path: '/tools/0', after: 'get_agent' },
      ],
      tools: { gained: ['get_agent'], lost: [] },
    });
    assert.deepEqual(pluck((await diff(2, '?against=1')).changes, 'path').sort(), ['/description', '/tools']);
    assert.deepEqual(await diff(2, `?against=${versions[2].id}`), { kind: 'json', changes: [] });
    assert.ok((await diff(0)).changes.length > 0, 'the first version is all new');
  });

  it('restore an earlier state, and write nothing when it is the current one', async () => {
    const { id, path, versions } = await agentWith('restored', { description: 'a', tools: ['get_agent'] });
    const restored = await ask('POST', `${path}/${versions[0].id}/restore`);
    assert.deepEqual([restored.status, restored.body.kind, restored.body.revision], [200, 'restore', 3]);
    const { body: agent } = await ask('GET', `/agents/${id}`);
    assert.deepEqual(['description' in agent, 'tools' in agent, agent.revision], [false, false, 3]);
    const again = await ask('POST', `${path}/${versions[0].id}/restore`, { expectedRevision: 3 });
    assert.deepEqual(again.body, restored.body);
  });

  it('refuse a stale expectedRevision with 409 and the current one', async () => {
    const { path, versions } = await agentWith('guarded', { description: 'a' });
    const { status, body } = await ask('POST', `${path}/${versions[0].id}/restore`, { expectedRevision: 1 });
    assert.deepEqual([status, body.code, body.currentRevision], [409, 'conflict', 2]);
  });

  it('revive a deleted agent, unless its name was taken or its skill is gone', async () => {
    const { body: skill } = await ask('POST', '/agents/skills', { name: 'short-lived' });
    const { id, path } = await agentWith('phoenix', { skillIds: [skill.id] });
    await ask('DELETE', `/agents/${id}`);
    const [last] = (await ask('GET', path)).body.data;
    assert.deepEqual([last.kind, last.payload.status], ['delete', 'active']);
    const thief = await agentWith('phoenix');
    assert.equal((await ask('POST', `${path}/${last.id}/restore`)).status, 409);
    await ask('DELETE', `/agents/${thief.id}`);
    await ask('DELETE', `/agents/skills/${skill.id}`);
    const gone = await ask('POST', `${path}/${last.id}/restore`);
    assert.deepEqual([gone.status, /There is no skill/.test(gone.body.error)], [409, true]);
    await ask(
      'POST',
      `/versions/skill/${skill.id}/${(await ask('GET', `/versions/skill/${skill.id}`)).body.data[0].id}/restore`,
    );
    assert.equal((await ask('POST', `${path}/${last.id}/restore`)).status, 200);
    assert.equal((await ask('GET', `/agents/${id}`)).body.status, 'active');
  });

  it('keep what the server manages as it is now', async () => {
    const { id, path, versions } = await agentWith('managed');
    const phone = { number: '+15550177', a2pStatus: 'pending' };
    await must('provision_agent_identity', { id, phone, card: { cardRef: 'c' } });
    await ask('POST', `${path}/${versions[0].id}/restore`);
    const { body } = await ask('GET', `/agents/${id}`);
    assert.deepEqual(body.identity, {
      phone: { enabled: false, number: '•••', a2pStatus: 'pending' },
      card: { enabled: false, cardRef: '•••' },
    });
    const stored = await server.store.agents.get(id);
    assert.equal(stored?.identity?.phone?.number, '+15550177');
  });

  it('hand no allowlist to who may not call its tools', async () => {
    const { path, id, versions } = await agentWith('strong', { tools: ['create_api_key'] }, { tools: [] });
    const key = await makeKey(server, { grants: [`agent:write:${id}`, 'skill:read'] });
    const restore = (n: number) => rest(server, 'POST', `/api/v1${path}/${versions[n].id}/restore`, { key });
    assert.equal((await restore(1)).status, 403);
    assert.equal((await restore(0)).status, 200);
  });
});

describe('versions of a skill', () => {
  it('are texts: content is the instructions, the diff is by lines', async () => {
    const { body: skill } = await ask('POST', '/agents/skills', { name: 'text', instructions: 'one\ntwo\n' });
    await ask('PATCH', `/agents/skills/${skill.id}`, { instructions: 'one\n2\n', description: 'new' });
    const { body } = await ask('GET', `/versions/skill/${skill.id}`);
    assert.deepEqual(pluck(body.data, 'content'), ['one\n2\n', 'one\ntwo\n']);
    const { body: diff } = await ask('GET', `/versions/skill/${skill.id}/${body.data[0].id}/diff`);
    assert.deepEqual(diff, {
      kind: 'text',
      lines: [
        { op: 'equal', value: 'one' },
        { op: 'remove', value: 'two' },
        { op: 'add', value: '2' },
      ],
      changes: [{ path: '/description', after: 'new' }],
    });
  });

  it('bring a deleted skill back under its id, with the revision counting on', async () => {
    const { body: skill } = await ask('POST', '/agents/skills', { name: 'lazarus', instructions: 'x' });
    await ask('DELETE', `/agents/skills/${skill.id}`);
    const { body } = await ask('GET', `/versions/skill/${skill.id}`);
    assert.deepEqual(pluck(body.data, 'kind', 'revision'), [
      ['delete', 2],
      ['snapshot', 1],
    ]);
    const restored = await ask('POST', `/versions/skill/${skill.id}/${body.data[1].id}/restore`, {
      expectedRevision: 2,
    });
    assert.deepEqual([restored.status, restored.body.revision], [200, 3]);
    const { body: back } = await ask('GET', `/agents/skills/${skill.id}`);
    assert.deepEqual(back, { ...skill, revision: 3, updatedAt: back.updatedAt });
  });

  it('is not brought back under a name that was taken', async () => {
    const { body: skill } = await ask('POST', '/agents/skills', { name: 'taken' });
    await ask('DELETE', `/agents/skills/${skill.id}`);
    await ask('POST', '/agents/skills', { name: 'taken' });
    const { body } = await ask('GET', `/versions/skill/${skill.id}`);
    const { status, body: error } = await ask('POST', `/versions/skill/${skill.id}/${body.data[0].id}/restore`);
    assert.deepEqual([status, error.code], [409, 'conflict']);
  });
});

describe('a long history of a large text', () => {
  it('is listed in pages of bounded size', async () => {
    const { body: skill } = await ask('POST', '/agents/skills', { name: 'large', instructions: 'x'.repeat(190_000) });
    for (let n = 0; n < 7; n += 1)
      await ask('PATCH', `/agents/skills/${skill.id}`, { instructions: `${n}`.repeat(190_000) });
    const revisions: number[] = [];
    let cursor = '';
    do {
      const { body } = await ask('GET', `/versions/skill/${skill.id}?limit=100${cursor && `&cursor=${cursor}`}`);
      assert.ok(body.data.length < 8);
      revisions.push(...pluck(body.data, 'revision'));
      cursor = body.nextCursor;
    } while (cursor);
    assert.deepEqual(revisions, [8, 7, 6, 5, 4, 3, 2, 1]);
  });
});

describe('history while the clock goes back', () => {
  it('stays in the order of its revisions', async () => {
    let hour = 12;
    const registry = await openTestRegistry(() => new Date(Date.UTC(2026, 0, 1, hour)));
    const caller = principalOf({ type: 'api-key', id: 'key_1', scopes: ['admin'] });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
    const call = async (tool: string, input: object): Promise<any> => {
      return await registry.must(caller, tool, input);
    };
    const { id } = await call('create_skill', { name: 'one' });
    hour = 11;
    await call('update_skill', { id, name: 'two' });
    const entity = { entityType: 'skill', entityId: id };
    const { data } = await call('list_versions', entity);
    assert.deepEqual(pluck(data, 'revision'), [2, 1]);
    const restored = await call('restore_version', { ...entity, versionId: data[1].id, expectedRevision: 2 });
    assert.deepEqual([restored.kind, restored.revision], ['restore', 3]);
  });
});

it('revisions with several digits can be compared with', async () => {
  const changes = Array.from({ length: 11 }, (_, at) => ({ description: `state ${at + 2}` }));
  const { path, versions } = await agentWith('often changed', ...changes);
  const { body } = await ask('GET', `${path}/${versions[11].id}/diff?against=10`);
  assert.deepEqual(body.changes, [{ path: '/description', before: 'state 10', after: 'state 12' }]);
});

describe('version paths', () => {
  it('answer 404 for versions of another entity, unknown entities and unknown revisions', async () => {
    const one = await agentWith('first of two', { description: 'x' });
    const other = await agentWith('second of two');
    const foreign = other.versions[0].id;
    for (const path of [
      `${one.path}/${foreign}`,
      `${one.path}/${foreign}/diff`,
      `${one.path}/${one.versions[0].id}/diff?against=${foreign}`,
      `${one.path}/${one.versions[0].id}/diff?against=99`,
      `/versions/skill/${one.id}`,
      `/versions/flow/${one.id}`,
      '/versions/agent/agt_none',
    ]) {
      assert.equal((await ask('GET', path)).status, 404, path);
    }
    assert.equal((await ask('POST', `${one.path}/${foreign}/restore`)).status, 404);
    assert.equal((await ask('GET', `/versions/planet/${one.id}`)).status, 400);
  });

  it('follow the rights on the record', async () => {
    const { path, id, versions } = await agentWith('watched', { description: 'x' });
    const reader = await makeKey(server, { grants: [`agent:read:${id}`] });
    const other = await makeKey(server, { scopes: ['skills:write'] });
    const as = (key: string, method: string, more = '') => rest(server, method, `/api/v1${path}${more}`, { key });
    assert.equal((await as(reader, 'GET')).status, 200);
    assert.equal((await as(reader, 'GET', `/${versions[1].id}/diff`)).status, 200);
    const refused = await as(reader, 'POST', `/${versions[0].id}/restore`);
    assert.deepEqual(
      [refused.status, refused.body.required],
      [403, { scope: 'agents:write', grant: `agent:write:${id}` }],
    );
    assert.deepEqual((await as(other, 'GET')).body.required, { scope: 'agents:read', grant: `agent:read:${id}` });
  });
});
