import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must } = callsOf(server);
const facets = async (q: string, key?: string) => (await must('search', { q }, key)).facets;

async function everyKind(word: string) {
  const { id: projectId } = await must('create_project', { name: 'p', description: `about ${word}` });
  const goal = await must('create_goal', { title: 'g', description: word, projectId });
  const task = await must('create_task', { title: `${word} task`, projectId, content: `# Brief\n${word}` });
  const document = await must('create_document', { title: 'd', content: `the ${word}`, projectId });
  const artifact = await must('create_artifact', { name: 'a', mimeType: 'text/plain', content: `a,${word}` });
  const columns = [
    { name: 'Name', type: 'string' },
    { name: 'More', type: 'json' },
  ]; // what is nested is found too
  const database = await must('create_database', { name: 'Leads', description: word, columns });
  const values = { Name: 'Ada', More: { notes: [`met the ${word}`] } };
  const record = await must('create_record', { databaseId: database.id, values });
  return { projectId, goal, task, document, artifact, database, record };
}

describe('search over the workspace', () => {
  it('finds every kind by its text', async () => {
    const { record, database, task } = await everyKind('kingfisher');
    assert.deepEqual(await facets('kingfisher'), {
      project: 1,
      goal: 1,
      task: 1,
      'task-document': 1,
      document: 1,
      artifact: 1,
      database: 1,
      'database-record': 1,
    });
    const { data } = await must('search', { q: 'kingfisher', types: ['database-record', 'task-document'] });
    const parents = pluck(data, 'id', 'parent');
    assert.deepEqual(
      new Map(parents),
      new Map([
        [record.id, { type: 'database', id: database.id }],
        [task.id, { type: 'task', id: task.id }],
      ]),
    );
  });

  it('shows what a key is limited to', async () => {
    const { task, database, record, document } = await everyKind('bittern');
    await must('create_record', { databaseId: database.id, values: { Name: 'bittern' } });
    const keyWith = (...grants: string[]) => makeKey(server, { grants: ['search:read', ...grants] });
    assert.deepEqual(await facets('bittern', await keyWith(`task:read:${task.id}`)), { task: 1, 'task-document': 1 });
    const byDatabase = await keyWith(`record:read:${database.id}`);
    assert.deepEqual(await facets('bittern', byDatabase), { database: 1, 'database-record': 2 });
    assert.deepEqual(await facets('bittern', await keyWith(`record:read:${record.id}`)), { 'database-record': 1 });
    assert.deepEqual(await facets('bittern', await keyWith(`document:read:${document.id}`)), { document: 1 });
    assert.deepEqual(await facets('bittern', await keyWith('document:read:doc_other')), {});
  });

  it('forgets what is changed or deleted, and finds what is restored', async () => {
    const { task, document, database, record } = await everyKind('ptarmigan');
    await must('update_task_document', { id: task.id, content: 'done' });
    await must('delete_document', { id: document.id });
    await must('delete_record', { databaseId: database.id, id: record.id });
    const left = await facets('ptarmigan');
    for (const type of ['task-document', 'document', 'database-record']) assert.equal(type in left, false, type);
    const entity = { entityType: 'document', entityId: document.id };
    const versionId = (await must('list_versions', entity)).data[0].id;
    await must('restore_version', { ...entity, versionId });
    assert.equal((await facets('ptarmigan')).document, 1);
    await must('delete_task', { id: task.id });
    assert.equal('task' in (await facets('ptarmigan')), false);
  });
});
