import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { STORED_FILES } from '../../store/lowdb/files/folder.ts';
import { StorageMeter } from '../../tools/usage/storage-meter.ts';
import { callsOf, makeCapsule, makeKey } from '../support/calls.ts';
import { pdfOf } from '../support/document-files.ts';
import { openTestRegistry, principalOf, registryOn } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must } = callsOf(server);

const fileOf = (name: string, bytes: Buffer | string) => ({ name, data: Buffer.from(bytes).toString('base64') });
const download = async (id: string, key: string | null = server.adminKey) => {
  const response = await fetch(`${server.baseUrl}/api/v1/documents/${id}/file`, {
    headers: key === null ? {} : { Authorization: `Bearer ${key}` },
  });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
};

describe('the file that a document was made of', () => {
  it('comes back as it was sent, by a link, to be saved and run by no browser', async () => {
    const pdf = pdfOf(['Refunds are paid']);
    const { id } = await must('create_document', { file: fileOf('x/y/Grüße "1".pdf', pdf) });
    const { file } = await must('get_document', { id, file: true });
    assert.equal(file.url, `${server.baseUrl}/api/v1/documents/${id}/file`);
    assert.equal('file' in (await must('get_document', { id })), false);
    const { status, headers, bytes } = await download(id);
    assert.deepEqual([status, bytes.equals(pdf)], [200, true]);
    assert.equal(headers.get('content-type'), 'application/octet-stream');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'; sandbox/);
    assert.equal(
      headers.get('content-disposition'),
      `attachment; filename="Gr__e _1_.pdf"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%221%22.pdf`,
    );
  });

  it('comes whole where it is larger than one piece', async () => {
    const bytes = Buffer.from(`<html><!--${'x'.repeat(5_000_000)}--><p>Short`);
    const response = await fetch(`${server.baseUrl}/api/v1/documents?name=a.html`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${server.adminKey}` },
      body: bytes,
    });
    const { id } = (await response.json()) as { readonly id: string };
    assert.ok((await download(id)).bytes.equals(bytes));
  });

  it('is not there of a text, of another document, or of none', async () => {
    const { id } = await must('create_document', { title: 'Text', content: 'x' });
    assert.deepEqual([(await download(id)).status, (await download('doc_none')).status], [404, 404]);
    assert.match(String((await download(id)).bytes), /No file of this document is kept/);
  });

  it('follows the state: a new file replaces it, and a restored version has its own', async () => {
    const { id } = await must('create_document', { file: fileOf('a.md', '# One') });
    await must('update_document', { id, file: fileOf('a.md', '# Two') });
    assert.equal(String((await download(id)).bytes), '# Two');
    const { data } = await must('list_versions', { entityType: 'document', entityId: id });
    const first = data.find(({ revision }: { revision: number }) => revision === 1);
    await must('restore_version', { entityType: 'document', entityId: id, versionId: first.id });
    assert.equal(String((await download(id)).bytes), '# One');
    await must('delete_document', { id });
    assert.equal((await download(id)).status, 404);
    await must('restore_version', { entityType: 'document', entityId: id, versionId: first.id });
    assert.equal(String((await download(id)).bytes), '# One');
  });

  it('has the rights of its document', async () => {
    const [one, other] = [
      await must('create_document', { file: fileOf('one.md', '# One') }),
      await must('create_document', { file: fileOf('other.md', '# Other') }),
    ];
    const narrow = await makeKey(server, { grants: [`document:read:${one.id}`] });
    assert.equal((await download(one.id, narrow)).status, 200);
    assert.equal((await download(other.id, narrow)).status, 403);
    const none = await makeKey(server, { scopes: ['agents:read'] });
    assert.equal((await download(one.id, none)).status, 403);
    assert.equal((await download(one.id, null)).status, 401);
    const { token } = await makeCapsule(server, { allowedTools: ['get_document'] });
    assert.equal((await download(one.id, token)).status, 403, 'a capsule opens its MCP address alone');
  });
});

const caller = (id: string) => principalOf({ type: 'api-key', id, scopes: ['*'] });

/** Files that are kept, by the folder or the records. */
async function keptIn({ store, folder }: Awaited<ReturnType<typeof openTestRegistry>>): Promise<number> {
  const { records } = await store.documentFiles.find({ limit: 100 });
  const there = await Promise.all(
    records.map(async ({ id }) => {
      for await (const _ of store.files.read(id)) return 1;
      return 0;
    }),
  );
  const count = there.reduce<number>((sum, each) => sum + each, 0);
  const files = join(folder, STORED_FILES);
  if (store.kind === 'lowdb') assert.equal(existsSync(files) ? readdirSync(files).length : 0, count);
  return count;
}

describe('files of documents in the store', () => {
  it('are kept once for each hash and document, and go when it is purged', async () => {
    const world = await openTestRegistry();
    const must = (tool: string, input: object) => world.must(caller('key_ann'), tool, input);
    const { id } = await must('create_document', { file: fileOf('a.md', '# One') });
    const other = await must('create_document', { file: fileOf('a.md', '# One') });
    for (const text of ['# Two', '# One', '# Two']) await must('update_document', { id, file: fileOf('a.md', text) });
    assert.equal(await keptIn(world), 3);
    const ids = (await world.store.documentFiles.find({ where: { documentId: id }, limit: 9 })).records;
    await must('delete_document', { id });
    assert.equal(await keptIn(world), 3, 'restore_version brings it back');
    await must('purge_record', { entityType: 'document', id });
    assert.equal(await keptIn(world), 1);
    for (const file of ids) for await (const _ of world.store.files.read(file.id)) assert.fail('it is still there');
    await must('purge_record', { entityType: 'document', id: other.id });
    assert.equal(await keptIn(world), 0);
  });

  it('are not kept where the document is refused', async () => {
    const world = await openTestRegistry();
    const refused = (tool: string, input: object) => world.refused(caller('key_ann'), tool, input);
    await refused('create_document', { file: fileOf('a.md', '# One'), projectId: 'prj_none' });
    const { id } = await world.must(caller('key_ann'), 'create_document', { title: 'a', content: 'b' });
    const late = { id, file: fileOf('a.md', '# Two'), expectedRevision: 7 };
    assert.equal((await refused('update_document', late)).code, 'conflict');
    assert.equal(await keptIn(world), 0);
  });

  it('count in the quota of who sent them, until they are purged', async () => {
    const world = await openTestRegistry();
    const storage = new StorageMeter(world.store, { workspace: 0, caller: 100 * 1024 });
    const { call, must } = registryOn(world.store, { storage });
    const ann = caller('key_ann');
    const bytes = Buffer.from(`<html><!--${'x'.repeat(70 * 1024)}--><p>Short`);
    const make = () => call(ann, 'create_document', { file: fileOf('a.html', bytes) });
    const first = await make();
    const { id } = 'output' in first ? (first.output as { id: string }) : assert.fail(JSON.stringify(first));
    const second = await make();
    assert.equal('error' in second && second.error.code, 'too_large');
    assert.equal(await keptIn(world), 1);
    const { kinds } = await storage.state();
    assert.equal(kinds.find(({ type }) => type === 'document-file')?.bytes, bytes.length);
    await must(ann, 'purge_record', { entityType: 'document', id });
    assert.ok('output' in (await make()));
  });
});
