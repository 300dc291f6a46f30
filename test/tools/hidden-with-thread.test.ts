import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { inEra, post } from '../facade/mcp-requests.ts';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const calls = callsOf(server);
const { must } = calls;
/** One who has an entry in the restricted thread. */
const insider = await must('create_api_key', { name: 'insider', scopes: ['write'] });
const keys = { insider: insider.secret, outsider: await makeKey(server, { scopes: ['write'] }) };

const ids = (page: { data: { id: string }[] }) => pluck(page.data, 'id');

async function refused(tool: string, input: object, key = keys.outsider) {
  const { requestId: _, ...error } = await calls.refused(tool, input, key);
  return error;
}

/** A thread that the insider sees and the outsider does not. */
async function restrictedThread(): Promise<string> {
  const { id } = await must('create_thread', { title: 'secret', visibility: 'restricted' });
  const entries = [{ principal: { type: 'api-key', id: insider.id }, role: 'viewer' }];
  await must('add_thread_access', { id, entries });
  return id;
}

const kinds = [
  {
    kind: 'memory',
    list: 'list_memories',
    absent: 'mem_00000000000000000000000000',
    make: (threadId: string | undefined, text: string) => ({ content: text, tags: ['t'], threadId }),
    change: { content: 'changed', expectedRevision: 7 },
    filters: (threadId: string) => [{}, { threadId }, { tag: 't' }, { kind: 'fact' }],
  },
  {
    kind: 'artifact',
    list: 'list_artifacts',
    absent: 'art_00000000000000000000000000',
    make: (threadId: string | undefined, name: string) => ({ name, mimeType: 'text/csv', content: name, threadId }),
    change: { content: 'changed', expectedRevision: 7 },
    filters: (threadId: string) => [{}, { threadId }, { mimeType: 'text/csv' }],
  },
] as const;

for (const { kind, list, absent, make, change, filters } of kinds) {
  let count = 0;
  let word = '';
  beforeEach(() => {
    count += 1;
    word = `${kind}word${String.fromCharCode(96 + count)}`;
  });
  const create = (threadId: string | undefined, key?: string) => must(`create_${kind}`, make(threadId, word), key);

  /** The ids that each way to find records of the kind shows, and what it counts. */
  async function found(threadId: string, key: string) {
    const shown: Record<string, unknown> = {};
    for (const filter of filters(threadId)) {
      const walked: string[] = [];
      let page: { data: { id: string }[]; nextCursor: string | null; total: number };
      let cursor: string | null = null;
      do {
        page = await must(list, { ...filter, limit: 1, includeTotal: true, ...(cursor && { cursor }) }, key);
        walked.push(...ids(page));
        cursor = page.nextCursor;
      } while (cursor);
      assert.equal(page.total, walked.length, 'the total counts what can be listed');
      shown[JSON.stringify(filter)] = walked;
    }
    const { data, facets } = await must('search', { q: word }, key);
    shown.search = ids({ data });
    shown.facet = Array(facets[kind] ?? 0).fill('');
    if (kind === 'memory') {
      shown.search_memories = ids(await must('search_memories', { q: word }, key));
      const ranked = await must(list, { q: word, includeTotal: true }, key);
      shown.q = ids(ranked);
      shown.total = Array(ranked.total).fill('');
    }
    const { message, headers } = inEra('modern', 'resources/list');
    const { body } = await post(`${server.baseUrl}/api/v1/mcp`, message, { token: key, headers });
    shown.resources = pluck(body.result.resources, 'uri');
    return shown;
  }

  /** The number of these ways that show the record. */
  function waysTo(id: string, shown: Record<string, unknown>): number {
    return Object.values(shown).filter((names) => (names as string[]).some((name) => name.includes(id))).length;
  }

  describe(`a ${kind} that names a restricted thread`, () => {
    it('is found by those who see the thread, and by nobody else', async () => {
      const threadId = await restrictedThread();
      const record = await create(threadId);
      const [inside, outside] = [await found(threadId, keys.insider), await found(threadId, keys.outsider)];
      assert.equal(waysTo(record.id, outside), 0);
      const counts = Object.keys(inside).filter((way) => ['facet', 'total'].includes(way)).length;
      assert.equal(waysTo(record.id, inside), Object.keys(inside).length - counts);
      assert.deepEqual([outside.search, outside.facet], [[], []]);
      assert.equal((inside.facet as string[]).length, 1);
      assert.equal((await must(`get_${kind}`, { id: record.id }, keys.insider)).threadId, threadId);
      assert.ok(!('accessKeys' in record));
    });

    it('does not exist for the others, to the letter', async () => {
      const record = await create(await restrictedThread());
      const { data } = await must('list_versions', { entityType: kind, entityId: record.id });
      const version = { entityType: kind, versionId: data[0].id };
      for (const [tool, input] of [
        [`get_${kind}`, {}],
        [`update_${kind}`, change],
        [`delete_${kind}`, { expectedRevision: 7 }],
      ] as const) {
        const hidden = JSON.stringify(await refused(tool, { id: record.id, ...input }));
        const none = JSON.stringify(await refused(tool, { id: absent, ...input }));
        assert.match(hidden, /"not_found"/, tool);
        assert.equal(hidden.replaceAll(record.id, 'ID'), none.replaceAll(absent, 'ID'), tool);
      }
      for (const tool of ['list_versions', 'get_version', 'diff_version', 'restore_version']) {
        const input = tool === 'list_versions' ? { entityType: kind } : version;
        const hidden = JSON.stringify(await refused(tool, { ...input, entityId: record.id }));
        const none = JSON.stringify(await refused(tool, { ...input, entityId: absent }));
        assert.match(hidden, /"not_found"/, tool);
        assert.equal(hidden.replaceAll(record.id, 'ID'), none.replaceAll(absent, 'ID'), tool);
        assert.ok('output' in (await calls.call(tool, { ...input, entityId: record.id }, keys.insider)), tool);
      }
      const path = `/api/v1/versions/${kind}/${record.id}`;
      assert.equal((await rest(server, 'GET', path, { key: keys.outsider })).status, 404);
      for (const era of ['legacy', 'modern'] as const) {
        const { message, headers } = inEra(era, 'resources/read', { uri: `${kind}://${record.id}` });
        const { body } = await post(`${server.baseUrl}/api/v1/mcp`, message, { token: keys.outsider, headers });
        assert.deepEqual(body.error.data, { uri: `${kind}://${record.id}` });
      }
      const limited = await makeKey(server, { grants: [`${kind}:read:${record.id}`, `${kind}:write:${record.id}`] });
      assert.equal((await refused(`get_${kind}`, { id: record.id }, limited)).code, 'not_found');
      assert.deepEqual(ids(await must(list, {}, limited)), []);
    });

    it('comes and goes with the access to the thread', async () => {
      const threadId = await restrictedThread();
      const record = await create(threadId);
      const seen = async (key: string) => {
        const ways = waysTo(record.id, await found(threadId, key)) > 0;
        const answer = await calls.call(`get_${kind}`, { id: record.id }, key);
        assert.equal('output' in answer, ways);
        return ways;
      };
      const both = async () => [await seen(keys.insider), await seen(keys.outsider)];
      assert.deepEqual(await both(), [true, false]);
      await must('update_thread_access', { id: threadId, visibility: 'workspace' });
      assert.deepEqual(await both(), [true, true]);
      await must('update_thread_access', { id: threadId, visibility: 'restricted' });
      assert.deepEqual(await both(), [true, false]);
      await must('remove_thread_access', { id: threadId, principalType: 'api-key', principalId: insider.id });
      assert.deepEqual(await both(), [false, false]);
      assert.equal((await must(`get_${kind}`, { id: record.id })).revision, 1, 'its revision stays');
      const { data } = await must('list_versions', { entityType: kind, entityId: record.id });
      assert.deepEqual([data.length, 'accessKeys' in data[0].payload], [1, false]);
    });

    it('goes with its record: into the thread and out of it again', async () => {
      const threadId = await restrictedThread();
      const { id } = await create(undefined);
      const update = { id, threadId };
      assert.equal((await must(`update_${kind}`, update, keys.insider)).revision, 2);
      assert.equal((await refused(`get_${kind}`, { id })).code, 'not_found');
      assert.equal((await must(`update_${kind}`, update, keys.insider)).revision, 2, 'no change is no change');
      await must(`update_${kind}`, { id, threadId: null }, keys.insider);
      assert.equal((await must(`get_${kind}`, { id }, keys.outsider)).threadId, undefined);
      const { data } = await must('list_versions', { entityType: kind, entityId: id });
      await must('restore_version', { entityType: kind, entityId: id, versionId: data[1].id }, keys.insider);
      assert.equal((await refused(`get_${kind}`, { id })).code, 'not_found');
    });

    it('stays hidden when it is deleted, and when its thread is', async () => {
      const threadId = await restrictedThread();
      const [kept, gone, shared] = [await create(threadId), await create(threadId), await create(undefined)];
      await must(`delete_${kind}`, { id: gone.id }, keys.insider);
      const history = (entityId: string) => ({ entityType: kind, entityId });
      assert.equal((await refused('list_versions', history(gone.id))).code, 'not_found');
      const { data } = await must('list_versions', history(gone.id), keys.insider);
      await must('restore_version', { ...history(gone.id), versionId: data[0].id }, keys.insider);
      assert.equal((await refused(`get_${kind}`, { id: gone.id })).code, 'not_found');
      await must(`delete_${kind}`, { id: gone.id }, keys.insider);
      await must('delete_thread', { id: threadId });
      for (const id of [kept.id, gone.id]) {
        assert.equal((await refused(`get_${kind}`, { id })).code, 'not_found');
        assert.equal((await refused('list_versions', history(id))).code, 'not_found');
      }
      assert.equal((await must(`get_${kind}`, { id: kept.id }, keys.insider)).id, kept.id);
      await must(`update_${kind}`, { id: kept.id, content: 'still of that thread' }, keys.insider);
      assert.equal((await refused(`get_${kind}`, { id: kept.id })).code, 'not_found');
      assert.equal((await refused('list_versions', history(gone.id), keys.insider)).code, 'not_found');
      assert.equal((await must('list_versions', history(gone.id))).data.length, 4);
      assert.equal((await must(`get_${kind}`, { id: shared.id }, keys.outsider)).id, shared.id);
    });

    it('is not purged by one who may not know of it', async () => {
      const { id } = await create(await restrictedThread());
      const purger = await makeKey(server, { grants: ['record:purge'] });
      const purge = { entityType: kind, id };
      assert.equal((await refused('purge_record', purge, purger)).code, 'not_found');
      assert.equal((await must(`get_${kind}`, { id })).id, id);
      await must('purge_record', purge);
      assert.equal((await refused('purge_record', purge, server.adminKey)).code, 'not_found');
    });
  });

  describe(`create_${kind} and update_${kind}`, () => {
    it('take a thread that the caller may not see for none', async () => {
      const threadId = await restrictedThread();
      const own = await create(undefined, keys.outsider);
      for (const [tool, input] of [
        [`create_${kind}`, make(undefined, word)],
        [`update_${kind}`, { id: own.id }],
      ] as const) {
        const hidden = await refused(tool, { ...input, threadId });
        const none = await refused(tool, { ...input, threadId: 'thr_absent' });
        assert.deepEqual([hidden.code, hidden.issues?.[0]?.path], ['invalid_input', 'threadId'], tool);
        assert.equal(
          JSON.stringify(hidden).replaceAll(threadId, 'ID'),
          JSON.stringify(none).replaceAll('thr_absent', 'ID'),
        );
      }
      const { data } = await must('list_versions', { entityType: kind, entityId: own.id });
      assert.equal(data.length, 1);
    });
  });
}

describe('what shows other records', () => {
  it('does not name a hidden artifact or memory', async () => {
    const threadId = await restrictedThread();
    const project = await must('create_project', { name: 'p' });
    const artifact = { name: 'hush', mimeType: 'text/plain', content: '', threadId, projectId: project.id };
    await must('create_artifact', artifact);
    const { error } = await refused('delete_project', { id: project.id });
    assert.match(error, /some artifacts/);
    assert.doesNotMatch(error, /hush|art_/);
    assert.match((await refused('delete_project', { id: project.id }, keys.insider)).error, /hush/);
    const old = await must('create_memory', { content: 'old', threadId });
    for (const supersedes of [old.id, 'mem_absent']) {
      const found = await refused('create_memory', { content: 'new', supersedes });
      assert.deepEqual([found.code, found.issues?.[0]?.path], ['invalid_input', 'supersedes']);
    }
    assert.equal((await must('get_memory', { id: old.id })).superseded, false);
  });
});

describe('update_thread_access', () => {
  it('takes thousands of memories along, at once with the thread', async () => {
    const { id: threadId } = await must('create_thread', { title: 'long' });
    await server.store.transaction(async (tx) => {
      for (let at = 0; at < 2500; at += 1) {
        await tx.memories.insert({
          content: `one of many ${at}`,
          kind: 'fact',
          scope: 'thread',
          threadId,
          tags: [],
          importance: 0.5,
          pinned: false,
          superseded: false,
          accessKeys: ['admin', 'workspace'],
        });
      }
    });
    const total = async () => (await must('list_memories', { threadId, includeTotal: true }, keys.outsider)).total;
    assert.equal(await total(), 2500);
    const seen = new Set<number>();
    const restricting = must('update_thread_access', { id: threadId, visibility: 'restricted' });
    for (let at = 0; at < 20; at += 1) seen.add(await total());
    await restricting;
    assert.equal(await total(), 0);
    assert.deepEqual(
      [...seen].filter((count) => count !== 0 && count !== 2500),
      [],
    );
    assert.equal((await must('search', { q: 'one of many' }, keys.outsider)).facets.memory, undefined);
  });
});
