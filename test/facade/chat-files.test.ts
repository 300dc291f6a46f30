import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { exportStore } from '../../facade/store-copy/export-store.ts';
import { importAll } from '../../facade/store-copy/import-store.ts';
import { copySnapshot } from '../../store/lowdb/backup.ts';
import { STORED_FILES } from '../../store/lowdb/files/folder.ts';
import { callsOf, makeCapsule, makeKey, mustCall } from '../support/calls.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { pdfOf } from '../support/document-files.ts';
import { rounds } from '../support/full.ts';
import { startModelServer } from '../support/model-server.ts';
import { startTestServer } from '../support/server.ts';
import { PNG } from '../support/small-files.ts';
import { onPostgres, openStoreIn } from '../support/store.ts';
import { until } from '../support/until.ts';

const provider = await startModelServer();
const SEES = { MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' };
const server = await startTestServer(SEES);
const { must } = callsOf(server);
after(() => provider.close());
await must('create_model_provider', {
  ...{ name: 'seeing', kind: 'openai-compatible', baseUrl: provider.baseUrl, apiKey: 'sk' },
  models: [{ name: 'eye', inputs: ['text', 'image', 'pdf'] }],
});

type Sent = readonly [name: string, bytes: Buffer];

async function post(
  { baseUrl }: { readonly baseUrl: string },
  key: string,
  fields: Readonly<Record<string, string>>,
  files: readonly Sent[],
) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const [name, bytes] of files) form.append('file', new Blob([new Uint8Array(bytes)]), name);
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${baseUrl}/api/v1/chat`, { method: 'POST', headers, body: form });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers freely
  return { status: response.status, text, body: (/^\{/.test(text) ? JSON.parse(text) : undefined) as any };
}

const send = (files: readonly Sent[], fields: Readonly<Record<string, string>> = {}) =>
  post(server, server.adminKey, { message: 'What is this?', model: 'seeing/eye', ...fields }, files);
const attachmentsIn = async (threadId: string) =>
  (await must('list_messages', { id: threadId, order: 'oldest' })).data[0].attachments;
const download = async (threadId: string, file: string, key = server.adminKey, { baseUrl } = server) => {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${baseUrl}/api/v1/threads/${threadId}/files/${file}`, { headers });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
};

describe('a message with files over REST', () => {
  it('takes them in a form, larger than a message of JSON, and streams the answer', async () => {
    const large = Buffer.concat([PNG, Buffer.alloc(9 * 1024 * 1024)]);
    const { status, body } = await send([
      ['Bild "1".png', large],
      ['b.pdf', pdfOf(['Refunds'])],
    ]);
    assert.equal(status, 200, JSON.stringify(body));
    const [image, pdf] = await attachmentsIn(body.threadId);
    assert.deepEqual(
      [image.name, image.sizeBytes, image.sha256],
      ['Bild "1".png', large.length, hash('sha256', large)],
    );
    assert.equal(pdf.mediaType, 'application/pdf');
    const [part] = provider.requests.at(-1)?.body.messages.at(-1).content ?? [];
    assert.ok(part.image_url.url === `data:image/png;base64,${large.toString('base64')}`);
    const streamed = await send([['a.png', PNG]], { stream: 'true' });
    assert.match(streamed.text, /^event: run\n[\s\S]*event: final\n/);
  });

  it('serves an image to be shown and anything else to be saved, to whoever may read the thread', async () => {
    const { body } = await send([
      ['a.png', PNG],
      ['page.html', Buffer.from('<script>alert(1)</script>')],
      ['b.svg', Buffer.from('<svg onload="alert(1)"/>')],
    ]);
    const { threadId } = body;
    const [image, ...others] = await attachmentsIn(threadId);
    const shown = await download(threadId, image.id);
    assert.deepEqual([shown.status, shown.bytes.equals(PNG)], [200, true]);
    assert.equal(shown.headers.get('content-type'), 'image/png');
    assert.match(shown.headers.get('content-disposition') ?? '', /^inline; filename="a\.png"/);
    for (const { id } of others) {
      const { headers } = await download(threadId, id);
      assert.equal(headers.get('content-type'), 'application/octet-stream');
      assert.match(headers.get('content-disposition') ?? '', /^attachment/);
    }
    assert.equal(shown.headers.get('x-content-type-options'), 'nosniff');
    assert.match(shown.headers.get('content-security-policy') ?? '', /default-src 'none'; sandbox/);

    const none = await makeKey(server, { scopes: ['agents:read'] });
    const reader = await makeKey(server, { scopes: ['threads:read'] });
    const { token } = await makeCapsule(server, { allowedTools: ['get_thread'] });
    assert.deepEqual(
      await Promise.all([none, reader, token].map(async (key) => (await download(threadId, image.id, key)).status)),
      [403, 200, 403],
    );
    await must('update_thread_access', { id: threadId, visibility: 'restricted' });
    assert.equal((await download(threadId, image.id, reader)).status, 404);
    await must('delete_thread', { id: threadId });
    assert.equal((await download(threadId, image.id)).status, 404);
  });

  it('says what is too much, and keeps nothing of it', async () => {
    const kept = () => server.store.documentFiles.count({});
    const before = await kept();
    const huge = await send([['a.png', Buffer.concat([PNG, Buffer.alloc(10 * 1024 * 1024)])]]);
    assert.deepEqual([huge.status, huge.body.issues[0].path], [413, 'attachments[0]']);
    assert.match(huge.body.error, /a\.png is larger than 10 MB, the most of an image/);
    const file = await send([['a.txt', Buffer.alloc(20 * 1024 * 1024 + 1, 'x')]]);
    assert.match(file.body.error, /a\.txt is larger than 20 MB, the most of a file/);
    const many = await send(Array.from({ length: 11 }, (_, at): Sent => [`${at}.png`, PNG]));
    assert.match(many.body.error, /At most 10 files/);
    const parts = Array.from({ length: 3 }, (_, at): Sent => [`${at}.txt`, Buffer.alloc(15 * 1024 * 1024, 'x')]);
    assert.equal((await send(parts)).status, 413);
    const blind = await send([['a.png', PNG]], { model: 'custom/tiny' });
    assert.match(blind.body.error, /reads no images.* such as seeing\/eye/);
    assert.equal((await send([])).status, 400);
    const headers = { Authorization: `Bearer ${server.adminKey}`, 'Content-Type': 'image/png' };
    const bare = await fetch(`${server.baseUrl}/api/v1/chat`, { method: 'POST', headers, body: new Uint8Array(PNG) });
    assert.equal(bare.status, 415);
    assert.equal(await kept(), before);
  });

  it('goes with an export into another workspace, which serves its files', async () => {
    const pdf = pdfOf(['Refunds']);
    const { body } = await send([
      ['a.png', PNG],
      ['b.pdf', pdf],
    ]);
    const { id: fork } = await must('fork_thread', { id: body.threadId });
    await withFolder(async (folder) => {
      const file = join(folder, 'all.ndjson');
      await exportStore(server.store, file, { version: '0', now: server.clock.now(), isShared: false });
      const other = await startTestServer(SEES, {
        async fill(store) {
          const compared = await importAll(store, file, { secretsKeys: [], withoutKeys: true });
          assert.ok(compared.every(({ equal }) => equal));
        },
      });
      for (const threadId of [body.threadId, fork]) {
        const { data } = await mustCall(other, server.adminKey, 'list_messages', { id: threadId, order: 'oldest' });
        for (const [at, bytes] of [PNG, pdf].entries()) {
          const found = await download(threadId, data[0].attachments[at].id, server.adminKey, other);
          assert.deepEqual([found.status, found.bytes.equals(bytes)], [200, true]);
        }
      }
      const message = { threadId: fork, message: 'And now?', model: 'custom/tiny' };
      await mustCall(other, server.adminKey, 'send_chat_message', message);
      assert.match(JSON.stringify(provider.requests.at(-1)?.body.messages), /b\.pdf.*Refunds/);
      await other.close();
    });
  });
});

const key = `ak_chatfile_${'k'.repeat(40)}`;

it('kill -9 amid messages with files leaves each message with its whole files, and no file without a message', async () => {
  await withFolder(async (folder) => {
    const env = { BOOTSTRAP_API_KEY: key, LOG_LEVEL: 'silent' };
    const dataDir = join(folder, 'data');
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const started = await startProcess(dataDir, env);
      let answered = 0;
      const talk = async (at: number) => {
        for (let number = 0; ; number += 1) {
          const bytes = Buffer.from(`${round} ${at} ${number} ${'x'.repeat(700_000)}`);
          const fields = { message: 'Keep this', model: 'offline/rehearsal' };
          const files: Sent[] = [
            [`${number}.txt`, bytes],
            [`${number}.csv`, bytes],
          ];
          if ((await post(started, key, fields, files)).status === 200) answered += 1;
        }
      };
      const talks = [0, 1, 2].map((at) => talk(at).catch(() => 'cut off'));
      await until(() => answered > 3);
      await started.stop('SIGKILL');
      await Promise.all(talks);
    }
    const last = await startProcess(dataDir, env);
    await mustCall(last, key, 'list_threads');
    await last.stop('SIGTERM');
    const places = [dataDir];
    if (!onPostgres) {
      const copy = join(folder, 'copy');
      await mkdir(copy);
      await copySnapshot(dataDir, join(copy, 'data'));
      places.push(join(copy, 'data'));
    }
    for (const place of places) {
      const store = await openStoreIn(place);
      const { records: messages } = await store.messages.find({ limit: 10_000 });
      const attachments = messages.flatMap((message) => message.attachments ?? []);
      assert.ok(attachments.length > 6 && attachments.length % 2 === 0);
      for (const { id, sha256 } of attachments) {
        const pieces: Uint8Array[] = [];
        for await (const piece of store.files.read(id)) pieces.push(piece);
        assert.equal(hash('sha256', Buffer.concat(pieces)), sha256);
      }
      const ids = attachments.map(({ id }) => id).sort();
      const { records } = await store.documentFiles.find({ limit: 10_000 });
      assert.deepEqual(records.map(({ id }) => id).sort(), ids);
      const files = join(place, STORED_FILES);
      if (existsSync(files)) assert.deepEqual(readdirSync(files).sort(), ids);
      await store.close();
    }
  });
});
