import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { after, describe, it } from 'node:test';
import { createModels } from '../../tools/core/models/models.ts';
import { startAnthropicServer, words } from '../support/anthropic-server.ts';
import { pdfOf } from '../support/document-files.ts';
import { onLoopback } from '../support/loopback.ts';
import { startModelServer } from '../support/model-server.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { GIF, JPEG, PNG, sent, WEBP } from '../support/small-files.ts';

const openai = await startModelServer();
const anthropic = await startAnthropicServer();
// biome-ignore lint/suspicious/noExplicitAny: the tests look into bodies freely
const asked: any[] = [];
const google = await onLoopback(
  createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    asked.push(JSON.parse(text));
    const candidates = [{ content: { role: 'model', parts: [{ text: 'Seen.' }] }, finishReason: 'STOP' }];
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ candidates, usageMetadata: { promptTokenCount: 1 } })}\r\n\r\n`);
  }),
);
const models = createModels({
  providers: [
    { kind: 'openai', apiKey: 'sk', baseUrl: openai.baseUrl, models: ['gpt-5', 'gpt-3.5-turbo'] },
    { kind: 'anthropic', apiKey: 'sk', baseUrl: anthropic.baseUrl, models: ['claude-opus-4'] },
    { kind: 'google', apiKey: 'sk', baseUrl: `${google.url}/v1beta`, models: ['gemini-2.5-flash'] },
    {
      ...{ kind: 'openai-compatible', name: 'local', baseUrl: openai.baseUrl },
      models: ['plain', { name: 'seeing', inputs: ['text', 'image'] }],
    },
  ],
});
const world = await openTestRegistry(undefined, undefined, models);
const { store } = world;
const admin = principalOf({ type: 'session', id: 'usr_ann', ownerId: 'usr_ann', scopes: ['*'] });
after(() => Promise.all([world.close(), openai.close(), anthropic.close(), google.close()]));

// biome-ignore lint/suspicious/noExplicitAny: the tests look into outputs freely
const must = (tool: string, input: object): Promise<any> => world.must(admin, tool, input);
const refused = (tool: string, input: object) => world.refused(admin, tool, input);
const chat = (model: string, attachments: object[], more: object = { message: 'What is this?' }) =>
  must('send_chat_message', { model, attachments, ...more });
const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const userParts = () => openai.requests.at(-1)?.body.messages.at(-1).content;
const PDF = pdfOf(['Refunds are paid in 30 days', 'and never later']);
const kept = async () => (await store.documentFiles.find({ limit: 100 })).records;
const isThere = async (id: string) => {
  for await (const _ of store.files.read(id)) return true;
  return false;
};

describe('images and files of a message', () => {
  it('go to a model of OpenAI in that vendor’s form: files first, text of texts', async () => {
    const files = [sent('a.png', PNG), sent('b.pdf', PDF), sent('c.csv', 'name,age\nAda,36\n')];
    await chat('openai/gpt-5', files);
    const parts = userParts();
    assert.deepEqual(parts.slice(0, 2), [
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG.toString('base64')}` } },
      {
        type: 'file',
        file: { filename: 'b.pdf', file_data: `data:application/pdf;base64,${PDF.toString('base64')}` },
      },
    ]);
    assert.match(parts[2].text, /^<data kind="file" id="fil_\w+" title="c\.csv">\nname,age\nAda,36\n/);
    assert.match(parts[3].text, /^What is this\?\n\nContext of this turn:/);
    assert.equal(parts.length, 4);
  });

  it('go to a model of Anthropic in that vendor’s form', async () => {
    anthropic.plays(words('Seen.'));
    await chat('anthropic/claude-opus-4', [sent('a.webp', WEBP), sent('b.pdf', PDF), sent('c.md', '# Title')]);
    const { content } = anthropic.bodies.at(-1).messages.at(-1);
    assert.deepEqual(content[0], {
      type: 'image',
      source: { type: 'base64', media_type: 'image/webp', data: WEBP.toString('base64') },
    });
    assert.deepEqual(content[1], {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: PDF.toString('base64') },
      title: 'b.pdf',
    });
    assert.match(content[2].text, /# Title/);
    assert.match(content[3].text, /^What is this\?/);
  });

  it('go to a model of Google in that vendor’s form', async () => {
    await chat('google/gemini-2.5-flash', [sent('a.gif', GIF), sent('b.pdf', PDF)]);
    const { parts } = asked.at(-1).contents.at(-1);
    assert.deepEqual(parts.slice(0, 2), [
      { inlineData: { mimeType: 'image/gif', data: GIF.toString('base64') } },
      { inlineData: { mimeType: 'application/pdf', data: PDF.toString('base64') } },
    ]);
  });

  it('are refused before the call where the model reads no images, with what to choose and what to set', async () => {
    const before = openai.requests.length;
    for (const model of ['local/plain', 'openai/gpt-3.5-turbo', 'offline/rehearsal']) {
      const { code, error, issues } = await refused('send_chat_message', {
        ...{ model, message: 'What?', attachments: [sent('n.txt', 'x'), sent('a.png', PNG)] },
      });
      assert.deepEqual([code, issues?.[0]?.path], ['invalid_input', 'attachments[1]']);
      assert.match(error, /reads no images, so a\.png cannot go to it.* such as openai\/gpt-5 .*update_model_provider/);
    }
    assert.equal(openai.requests.length, before);
    await chat('local/seeing', [sent('a.jpg', JPEG)]);
    assert.equal(userParts()[0].image_url.url, `data:image/jpeg;base64,${JPEG.toString('base64')}`);
  });

  it('do not stop a fallback model that reads no images: it, the answer and the evidence say so', async () => {
    openai.play(({ model }) =>
      model === 'plain' ? { text: 'I see nothing.' } : { status: 529, headers: { 'x-should-retry': 'false' } },
    );
    const files = [sent('a.png', PNG), sent('n.txt', 'Note')];
    const more = { message: 'What is this?', fallbackModels: ['local/plain'] };
    const answer = await chat('openai/gpt-5', files, more);
    openai.play(() => ({ text: 'Hello.' }));
    assert.deepEqual([answer.model, answer.leftOut], ['local/plain', { messages: 0, files: 1 }]);
    assert.match(userParts()[0].text, /title="a\.png">\n\(This image is not shown, as this model reads no images\.\)/);
    const { attachments } = await must('get_agent_run', { id: answer.runId });
    assert.deepEqual(
      attachments.map((file: { as: string }) => file.as),
      ['left out', 'text'],
    );
    const seen = await chat('local/seeing', [sent('a.png', PNG)]);
    assert.equal(seen.leftOut, undefined);
  });

  it('are told as text where the model reads no PDF, with a note of what was cut', async () => {
    await chat('local/plain', [sent('b.pdf', PDF)]);
    assert.match(userParts()[0].text, /^<data kind="file".* title="b\.pdf">\n## Page 1\n\nRefunds are paid in 30 days/);
    await chat('local/plain', [sent('long.txt', 'word '.repeat(20_000)), sent('other.txt', 'more')]);
    const [long, other] = userParts();
    assert.match(
      long.text,
      /word \n*\n\(This is its beginning, of 100,000 bytes in all\. The rest was left out\.\)\n<\/data>$/,
    );
    assert.ok(long.text.length < 61_000);
    assert.match(other.text, /more/);
    const scanned = await refused('send_chat_message', {
      ...{ model: 'local/plain', message: 'What?', attachments: [sent('scan.pdf', pdfOf(['']))] },
    });
    assert.match(scanned.error, /scan\.pdf has no text that can be read/);
    await chat('openai/gpt-5', [sent('scan.pdf', pdfOf(['']))]);
    assert.equal(userParts()[0].type, 'file');
  });

  it('need no text beside them', async () => {
    const { threadId } = await chat('openai/gpt-5', [sent('only.png', PNG)], {});
    const { data } = await must('list_messages', { id: threadId, order: 'oldest' });
    assert.equal(data[0].content, '');
    assert.equal((await must('get_thread', { id: threadId })).title, 'only.png');
    assert.equal(
      (await refused('send_chat_message', { model: 'openai/gpt-5', attachments: [] })).code,
      'invalid_input',
    );
  });

  it('are kept with the message by name, type, size and hash, explain the answer, and go with the thread', async () => {
    const { threadId, message } = await chat('openai/gpt-5', [sent('a.png', PNG), sent('notes.md', '# One')]);
    const [asking] = (await must('list_messages', { id: threadId, order: 'oldest' })).data;
    const [image, notes] = asking.attachments;
    assert.deepEqual(
      { ...image, id: '' },
      { ...{ id: '', name: 'a.png', mediaType: 'image/png', sizeBytes: PNG.length }, sha256: hash(PNG), tokens: 1600 },
    );
    assert.equal(notes.mediaType, 'text/markdown');
    const { run } = await must('explain_answer', { messageId: message.id });
    assert.deepEqual(run.attachments, [
      { id: image.id, mediaType: 'image/png', sha256: image.sha256, as: 'file' },
      { id: notes.id, mediaType: 'text/markdown', sha256: notes.sha256, as: 'text' },
    ]);
    const fork = await must('fork_thread', { id: threadId });
    const [copied] = (await must('list_messages', { id: fork.id, order: 'oldest' })).data;
    assert.deepEqual(
      copied.attachments.map(({ id: _, ...file }: { id: string }) => file),
      asking.attachments.map(({ id: _, ...file }: { id: string }) => file),
    );
    await must('delete_thread', { id: threadId });
    assert.deepEqual([await isThere(image.id), await isThere(notes.id)], [false, false]);
    assert.equal(
      (await kept()).some((file) => file.threadId === threadId),
      false,
    );
    const { file } = await must('get_thread', { id: fork.id, file: copied.attachments[0].id });
    assert.deepEqual([file.sha256, await isThere(file.id)], [image.sha256, true]);
    assert.equal((await refused('get_thread', { id: fork.id, file: image.id })).code, 'not_found');
    await chat('openai/gpt-5', [], { threadId: fork.id, message: 'And now?' });
    const told = openai.requests.at(-1)?.body.messages;
    assert.equal(told[1].content[0].type, 'image_url');
    assert.match(told[1].content[1].text, /# One/);
  });

  it('stand in later turns byte for byte as in their own, until they are too many', async () => {
    let threadId: string | undefined;
    const bodies: string[][] = [];
    for (let turn = 1; turn <= 24; turn += 1) {
      const files = turn % 2 ? [sent(`${turn}.png`, PNG)] : [sent(`${turn}.txt`, `text ${turn}`)];
      ({ threadId } = await chat('openai/gpt-5', files, { message: `Turn ${turn}`, threadId }));
      bodies.push((openai.requests.at(-1)?.body.messages ?? []).map((message: object) => JSON.stringify(message)));
    }
    const [before, last] = [bodies.at(-2) ?? [], bodies.at(-1) ?? []];
    const context = JSON.stringify('\n\nContext of this turn:').slice(1, -1);
    for (const [at, message] of before.entries()) {
      const end = message.indexOf(context);
      assert.ok(last[at]?.startsWith(end === -1 ? message : message.slice(0, end)), `message ${at}`);
    }
    assert.match(last[1] ?? '', /1\.png.*not shown any more, to save space/);
    assert.ok(last.filter((message) => /image_url/.test(message)).length >= 5);
  });

  it('are sent again with a message that failed, and kept once', async () => {
    openai.play(() => ({ status: 400 }));
    const { threadId } = await refused('send_chat_message', {
      ...{ model: 'openai/gpt-5', message: 'What?', attachments: [sent('a.png', PNG)] },
    });
    openai.play(() => ({ text: 'Hello.' }));
    await chat('openai/gpt-5', [sent('a.png', PNG)], { message: 'What?', threadId });
    assert.equal(userParts()[0].type, 'image_url');
    assert.equal((await kept()).filter((file) => file.threadId === threadId).length, 1);
    await chat(
      'openai/gpt-5',
      [sent('a.png', GIF)].map((file) => ({ ...file, name: 'a.gif' })),
      { message: 'What?', threadId },
    );
    assert.equal((await kept()).filter((file) => file.threadId === threadId).length, 2);
  });

  it('are checked by their bytes, their hash and their number', async () => {
    const code = async (attachments: object[]) => {
      const { code, issues } = await refused('send_chat_message', { model: 'openai/gpt-5', message: 'x', attachments });
      return [code, issues?.[0]?.path];
    };
    const before = (await kept()).length;
    const wrong = ['unsupported_media_type', 'attachments[0]'];
    assert.deepEqual(await code([sent('a.png', 'no picture')]), wrong);
    assert.deepEqual(await code([sent('a.png', JPEG)]), wrong);
    assert.deepEqual(await code([sent('a.pdf', 'x %PDF-')]), wrong);
    assert.deepEqual(await code([sent('a.txt', Buffer.from([1, 0, 2]))]), wrong);
    assert.deepEqual(await code([sent('a.docx', Buffer.from('PK\x03\x04rest'))]), wrong);
    assert.deepEqual(await code([sent('a.txt', '')]), wrong);
    assert.deepEqual(await code([{ ...sent('a', GIF), mediaType: 'image/png' }]), wrong);
    const claimed = {
      model: 'openai/gpt-5',
      message: 'x',
      attachments: [{ ...sent('a.gif', GIF), mediaType: 'image/png' }],
    };
    assert.match(
      (await refused('send_chat_message', claimed)).error,
      /a\.gif is said to be "image\/png" and is image\/gif/,
    );
    assert.deepEqual(await code([{ ...sent('a.png', PNG), sha256: hash(GIF) }]), [
      'invalid_input',
      'attachments[0].sha256',
    ]);
    assert.deepEqual(await code([{ name: 'a.png' }]), ['invalid_input', 'attachments[0]']);
    assert.equal((await code(Array.from({ length: 11 }, () => sent('a.png', PNG))))[0], 'invalid_input');
    assert.equal((await kept()).length, before);
    const svg = await chat('openai/gpt-5', [sent('a.svg', '<svg onload="alert(1)"/>')]);
    const [asking] = (await must('list_messages', { id: svg.threadId, order: 'oldest' })).data;
    assert.equal(asking.attachments[0].mediaType, 'text/plain');
  });

  it('come of artifacts that the caller may read, and of no others', async () => {
    const data = PNG.toString('base64');
    const { id } = await must('create_artifact', { name: 'chart.png', mimeType: 'image/png', data });
    await chat('openai/gpt-5', [{ artifactId: id }]);
    assert.equal(userParts()[0].type, 'image_url');
    const attachments = [{ artifactId: id }];
    const asks = { message: 'What?', model: 'openai/gpt-5', attachments };
    const narrow = principalOf({ type: 'api-key', id: 'key_chat', scopes: ['chat:write'] });
    assert.equal((await world.refused(narrow, 'send_chat_message', asks)).code, 'forbidden');
    const thread = await must('create_thread', { title: 'Secret', visibility: 'restricted' });
    const hidden = await must('create_artifact', {
      name: 'h.txt',
      mimeType: 'text/plain',
      content: 'h',
      threadId: thread.id,
    });
    const other = principalOf({ type: 'api-key', id: 'key_other', scopes: ['chat:write', 'artifacts:read'] });
    const asksHidden = { ...asks, attachments: [{ artifactId: hidden.id }] };
    assert.equal((await world.refused(other, 'send_chat_message', asksHidden)).code, 'not_found');
    assert.equal((await world.must(other, 'send_chat_message', asks)).message.content, 'Hello.');
  });

  it('have the rights of their thread', async () => {
    const { id } = await must('create_thread', { title: 'Secret', visibility: 'restricted' });
    await chat('openai/gpt-5', [sent('a.png', PNG)], { message: 'x', threadId: id });
    const [asking] = (await must('list_messages', { id, order: 'oldest' })).data;
    const reader = principalOf({ type: 'api-key', id: 'key_reader', scopes: ['threads:read'] });
    const file = asking.attachments[0].id;
    assert.equal((await world.refused(reader, 'get_thread', { id, file })).code, 'not_found');
    const open = await must('create_thread', { title: 'Open' });
    assert.equal((await world.refused(reader, 'get_thread', { id: open.id, file })).code, 'not_found');
  });

  it('go with a call that has no thread, and are kept nowhere', async () => {
    await must('create_agent', { name: 'eye', displayName: 'Eye' });
    const before = await kept();
    const { text, runId } = await must('invoke_agent', {
      ...{ agent: 'eye', input: 'What is this?', model: 'openai/gpt-5', attachments: [sent('a.png', PNG)] },
    });
    assert.equal(text, 'Hello.');
    assert.equal(userParts()[0].type, 'image_url');
    const [file] = (await must('get_agent_run', { id: runId })).attachments;
    assert.deepEqual([file.sha256, file.as, await isThere(file.id)], [hash(PNG), 'file', false]);
    assert.deepEqual(await kept(), before);
  });
});
