import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, call } = callsOf(server);

interface Life {
  readonly entityType: string;
  /** The tools' word for the record. */
  readonly kind: string;
  /** Makes the record and what it belongs to. */
  create(): Promise<{ place: { id: string }; deleteParent?: () => Promise<unknown> }>;
  readonly change: object;
  /** Members of the record, other than those that every record has, at revision 1. */
  readonly first: object;
}

async function inProject(tool: string, input: object) {
  const { id: projectId } = await must('create_project', { name: 'parent' });
  const { id } = await must(tool, { ...input, projectId });
  return { place: { id }, deleteParent: () => must('delete_project', { id: projectId }) };
}

const lives: readonly Life[] = [
  {
    entityType: 'project',
    kind: 'project',
    create: async () => ({ place: { id: (await must('create_project', { name: 'p', description: 'd' })).id } }),
    change: { name: 'q', description: null, status: 'archived' },
    first: { name: 'p', description: 'd', status: 'active' },
  },
  {
    entityType: 'document',
    kind: 'document',
    create: () => inProject('create_document', { title: 't', content: 'one', tags: ['a'] }),
    change: { title: 'u', content: 'two', tags: [] },
    first: { title: 't', content: 'one', tags: ['a'] },
  },
  {
    entityType: 'artifact',
    kind: 'artifact',
    create: () => inProject('create_artifact', { name: 'a', mimeType: 'text/plain', content: 'one' }),
    change: { data: 'AAEC', mimeType: 'image/png' },
    first: { name: 'a', mimeType: 'text/plain', content: 'one', sizeBytes: 3 },
  },
  {
    entityType: 'task-document',
    kind: 'task_document',
    async create() {
      const { id } = await must('create_task', { title: 't', content: 'one' });
      return { place: { id }, deleteParent: () => must('delete_task', { id }) };
    },
    change: { content: 'two' },
    first: { content: 'one' },
  },
  {
    entityType: 'database-record',
    kind: 'record',
    async create() {
      const columns = [
        { name: 'a', type: 'string', required: true },
        { name: 'b', type: 'json' },
      ];
      const { id: databaseId } = await must('create_database', { name: 'd', columns });
      const { id } = await must('create_record', { databaseId, values: { a: 'one', b: [1, { c: null }] } });
      const place = { databaseId, id };
      return { place, deleteParent: () => must('delete_database', { id: databaseId }) };
    },
    change: { values: { a: 'two', b: null } },
    first: { values: { a: 'one', b: [1, { c: null }] } },
  },
];

for (const { entityType, kind, create, change, first } of lives) {
  describe(`versions of a ${entityType}`, () => {
    const history = async (entityId: string) => (await must('list_versions', { entityType, entityId })).data;
    const restore = (entityId: string, versionId: string, more: object = {}) =>
      call('restore_version', { entityType, entityId, versionId, ...more });
    const current = (place: object) => must(`get_${kind}`, place);

    function assertFirst(record: object): void {
      const {
        id: _,
        createdAt: __,
        updatedAt: ___,
        revision: ____,
        projectId: _____,
        databaseId: ______,
        ...own
      } = record as Record<string, unknown>;
      assert.deepEqual(own, first);
    }

    it('bring an earlier state back after an update, and write nothing for an equal one', async () => {
      const { place } = await create();
      const before = await current(place);
      assertFirst(before);
      await must(`update_${kind}`, { ...place, ...change });
      const versions = await history(place.id);
      const stale = await restore(place.id, versions[1].id, { expectedRevision: 1 });
      assert.ok('error' in stale && stale.error.code === 'conflict' && stale.error.currentRevision === 2);
      const restored = await restore(place.id, versions[1].id, { expectedRevision: 2 });
      assert.ok('output' in restored);
      assert.deepEqual([restored.output.kind, restored.output.revision], ['restore', 3]);
      const back = await current(place);
      assert.deepEqual(back, { ...before, revision: 3, updatedAt: back.updatedAt });
      assert.deepEqual(await restore(place.id, versions[1].id), restored);
      assert.equal((await history(place.id)).length, 3);
    });

    it('count on without gaps over deletion and return, or refuse where what it belongs to is gone', async () => {
      const { place, deleteParent } = await create();
      await must(`update_${kind}`, { ...place, ...change });
      if (kind === 'task_document') await deleteParent?.();
      else await must(`delete_${kind}`, place);
      const versions = await history(place.id);
      const seen = versions.map((version: { kind: string; revision: number }) => [version.revision, version.kind]);
      assert.deepEqual(seen, [
        [3, 'delete'],
        [2, 'snapshot'],
        [1, 'snapshot'],
      ]);
      assert.equal(versions[0].content, versions[1].content, 'the last live state');
      if (kind !== 'task_document') {
        const restored = await restore(place.id, versions[2].id, { expectedRevision: 3 });
        assert.ok('output' in restored);
        assert.deepEqual([restored.output.kind, restored.output.revision], ['restore', 4]);
        const back = await current(place);
        assertFirst(back);
        assert.equal(back.revision, 4);
        const updated = await must(`update_${kind}`, { ...place, ...change, expectedRevision: 4 });
        assert.equal(updated.revision, 5);
        await must(`delete_${kind}`, place);
      }
      if (kind === 'project') return;
      if (kind !== 'task_document') await deleteParent?.();
      const refused = await restore(place.id, versions[2].id);
      assert.ok('error' in refused);
      assert.deepEqual([refused.error.code, / is (no|deleted)/.test(refused.error.error)], ['conflict', true]);
      assert.equal((await history(place.id))[0].kind, 'delete', 'nothing was written');
    });
  });
}
