import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused, call } = callsOf(server);

describe('documents', () => {
  it('are listed without content, by project and tag', async () => {
    const { id: projectId } = await must('create_project', { name: 'p' });
    const { content: _, ...one } = await must('create_document', {
      title: '1',
      content: 'long',
      projectId,
      tags: ['red'],
    });
    const { content: __, ...two } = await must('create_document', { title: '2', tags: ['red', 'blue'] });
    assert.deepEqual((await must('list_documents', { tag: 'red' })).data, [two, one]);
    assert.deepEqual((await must('list_documents', { tag: 'red', projectId })).data, [one]);
    assert.deepEqual((await must('list_documents', { tag: 'blue' })).data, [two]);
  });

  it('are answered with a warning where words at their end are not found', async () => {
    const long = `${'word '.repeat(40_001)} quokka`;
    const made = await must('create_document', { title: 'long', content: long });
    assert.match(made.warnings[0], /^Search by words reads the first 200,000 characters alone; split it/);
    assert.deepEqual((await must('search', { q: 'quokka', types: ['document'] })).data, []);
    const { id, warnings } = await must('update_document', { id: made.id, content: long.slice(-200_000) });
    assert.equal(warnings, undefined);
    assert.equal((await must('search', { q: 'quokka', types: ['document'] })).data[0].id, id);
    assert.equal((await must('update_document', { id, content: long })).warnings.length, 1);
    await must('delete_document', { id });
  });

  it('hold half a million characters and no more', async () => {
    const content = 'é'.repeat(500_000);
    const { id } = await must('create_document', { title: 'long', content });
    assert.equal((await must('get_document', { id })).content, content);
    const { issues } = await refused('update_document', { id, content: `${content}!` });
    assert.equal(issues?.[0]?.path, 'content');
  });
});

describe('artifacts', () => {
  const data = Buffer.from([0, 1, 2, 255]).toString('base64');

  it('hold text or bytes, and say how many', async () => {
    const text = await must('create_artifact', { name: 'a', mimeType: 'text/csv; charset=utf-8', content: 'é,b\n' });
    assert.match(text.id, /^art_/);
    assert.deepEqual([text.content, text.sizeBytes, 'data' in text], ['é,b\n', 5, false]);
    const bytes = await must('create_artifact', { name: 'b', mimeType: 'image/png', data });
    assert.deepEqual([bytes.data, bytes.sizeBytes, 'content' in bytes], [data, 4, false]);
    assert.deepEqual(await must('get_artifact', { id: bytes.id }), bytes);
    const { data: _, ...summary } = bytes;
    assert.deepEqual((await must('list_artifacts', { mimeType: 'image/png' })).data, [summary]);
  });

  it('take new content in place of the old, of either kind', async () => {
    const made = await must('create_artifact', { name: 'a', mimeType: 'text/plain', content: 'x' });
    const bytes = await must('update_artifact', { id: made.id, data });
    assert.deepEqual([bytes.data, 'content' in bytes], [data, false]);
    const text = await must('update_artifact', { id: made.id, content: '' });
    assert.deepEqual([text.content, text.sizeBytes, 'data' in text], ['', 0, false]);
    const renamed = await must('update_artifact', { id: made.id, name: 'z' });
    assert.deepEqual([renamed.name, renamed.content], ['z', '']);
    await must('delete_artifact', { id: made.id });
    assert.equal((await refused('get_artifact', { id: made.id })).code, 'not_found');
  });

  it('refuse neither, both, bad base64, too many bytes and what is no media type', async () => {
    const base = { name: 'a', mimeType: 'text/plain' };
    const problem = async (input: object) => {
      const { code, issues } = await refused('create_artifact', { ...base, ...input });
      assert.equal(code, 'invalid_input');
      return issues?.[0]?.path;
    };
    assert.equal(await problem({}), 'content');
    assert.equal(await problem({ content: 'x', data }), 'content');
    assert.equal(await problem({ data: 'not base64!' }), 'data');
    assert.equal(await problem({ data: 'QQ' }), 'data');
    assert.equal(await problem({ data: Buffer.alloc(1024 * 1024 + 3).toString('base64') }), 'data');
    for (const mimeType of ['', 'text', 'text/', 'text/plain\n', 'a/b c', 'text/html, x/y']) {
      assert.equal(await problem({ content: 'x', mimeType }), 'mimeType', mimeType);
    }
    const { id } = await must('create_artifact', { ...base, content: 'x' });
    assert.equal((await refused('update_artifact', { id, content: 'x', data })).code, 'invalid_input');
    const full = Buffer.alloc(1024 * 1024, 255).toString('base64');
    assert.equal((await must('update_artifact', { id, data: full })).sizeBytes, 1024 * 1024);
  });

  it('name a thread that the caller may see, and outlive it', async () => {
    const { id: threadId } = await must('create_thread', { title: 't' });
    const base = { name: 'a', mimeType: 'text/plain', content: 'one', threadId };
    const artifact = await must('create_artifact', base);
    const { content: _, ...summary } = artifact;
    assert.deepEqual((await must('list_artifacts', { threadId })).data, [summary]);
    await must('update_thread_access', { id: threadId, visibility: 'restricted' });
    const outsider = await makeKey(server, { scopes: ['write'] });
    const hidden = await call('create_artifact', base, outsider);
    const unknown = await call('create_artifact', { ...base, threadId: 'thr_none' }, outsider);
    assert.ok('error' in hidden && 'error' in unknown);
    assert.equal(hidden.error.error.replace(threadId, 'thr_none'), unknown.error.error);
    await must('update_artifact', { id: artifact.id, content: 'two' });
    await must('delete_thread', { id: threadId });
    const entity = { entityType: 'artifact', entityId: artifact.id };
    const versionId = (await must('list_versions', entity)).data[1].id;
    assert.equal((await must('restore_version', { ...entity, versionId })).payload.content, 'one');
    await must('delete_artifact', { id: artifact.id });
    const gone = await refused('restore_version', { ...entity, versionId });
    assert.deepEqual([gone.code, gone.error.includes(threadId)], ['conflict', true]);
  });
});
