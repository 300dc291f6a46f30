import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { StoreUnavailable } from '../../store/errors.ts';
import { createModels } from '../../tools/core/models/models.ts';
import { StorageMeter } from '../../tools/usage/storage-meter.ts';
import { ApprovalWorld } from '../support/approval-world.ts';
import { startModelServer } from '../support/model-server.ts';
import { openTestRegistry, principalOf, registryOn } from '../support/registry.ts';
import { PNG, sent } from '../support/small-files.ts';

const provider = await startModelServer();
const models = createModels({
  providers: [
    {
      ...{ kind: 'openai-compatible', name: 'seeing', baseUrl: provider.baseUrl },
      models: [{ name: 'eye', inputs: ['text', 'image'] }],
    },
  ],
});
const world = await openTestRegistry(undefined, undefined, models);
const { store } = world;
after(() => Promise.all([world.close(), provider.close()]));

const ann = principalOf({ type: 'session', id: 'usr_ann', ownerId: 'usr_ann', scopes: ['*'] });
// biome-ignore lint/suspicious/noExplicitAny: the tests look into outputs freely
const must = (tool: string, input: object): Promise<any> => world.must(ann, tool, input);
const asked = (attachments: object[]) => ({ model: 'seeing/eye', message: 'What is this?', attachments });
const chat = (attachments: object[]) => must('send_chat_message', asked(attachments));
await must('create_agent', { name: 'iris', displayName: 'Iris', modelPreference: 'seeing/eye' });
const artifact = (content: string) =>
  must('create_artifact', { name: 'notes.txt', mimeType: 'text/plain', content }).then(({ id }) => id as string);
const prompt = () => provider.requests.at(-1)?.body.messages ?? [];
const isThere = async (id: string) => {
  for await (const _ of store.files.read(id)) return true;
  return false;
};

/** A process on the same store, and which files it has put. Its disk may refuse each second one. */
function processOn(facts: object = {}, isFull = false) {
  const put: string[] = [];
  const files: typeof store.files = {
    read: (id) => store.files.read(id),
    discard: (ids) => store.files.discard(ids),
    async put(id, bytes) {
      if (isFull && put.length % 2 === 1) throw new StoreUnavailable('the disk is full');
      await store.files.put(id, bytes);
      put.push(id);
    },
  };
  const left = async () => (await Promise.all(put.map(isThere))).filter(Boolean).length;
  return { put, left, ...registryOn(store, { models, files, ...facts }, () => {}) };
}

describe('files that a fork copies', () => {
  it('do not stay where only a part of them could be copied', async () => {
    const { threadId } = await chat([sent('a.txt', 'one'), sent('b.txt', 'two')]);
    const threads = await store.threads.count({});
    const full = processOn({}, true);
    assert.equal((await full.refused(ann, 'fork_thread', { id: threadId })).code, 'unavailable');
    assert.deepEqual([full.put.length, await full.left()], [1, 0]);
    assert.equal(await store.threads.count({}), threads);
  });

  it('are not more than a thousand, so that others do not wait', async () => {
    const { threadId } = await chat([sent('a.txt', 'one')]);
    const { records } = await store.messages.find({ where: { threadId }, limit: 10 });
    const { attachments = [] } = records.find(({ role }) => role === 'user') ?? assert.fail();
    await store.transaction(async (tx) => {
      const many = Array.from({ length: 1000 }, () => ({ threadId, role: 'user' as const, content: '', attachments }));
      await tx.messages.insertAll(many);
    });
    const copying = processOn();
    const { code, error } = await copying.refused(ann, 'fork_thread', { id: threadId });
    assert.equal(code, 'conflict');
    assert.match(error, /at most 1,000 files of 200 MB; name an earlier messageId, or give `latest`/);
    assert.equal(copying.put.length, 0);
    const { id } = await copying.must(ann, 'fork_thread', { id: threadId, latest: 5 });
    assert.equal((await store.documentFiles.find({ where: { threadId: id }, limit: 10 })).records.length, 1);
    assert.equal(copying.put.length, 1);
  });
});

describe('files of a thread', () => {
  it('go with its purge, and those of its fork stay', async () => {
    const keeping = processOn();
    const { threadId } = await keeping.must(
      ann,
      'send_chat_message',
      asked([sent('a.txt', 'one'), sent('a.png', PNG)]),
    );
    const { id } = await keeping.must(ann, 'fork_thread', { id: threadId });
    assert.equal(await keeping.left(), 4);
    await must('purge_record', { entityType: 'thread', id: threadId });
    assert.deepEqual(await Promise.all(keeping.put.map(isThere)), [false, false, true, true]);
    await must('purge_record', { entityType: 'thread', id });
    assert.equal(await keeping.left(), 0);
    const where = { threadId: [threadId, id] };
    assert.deepEqual((await store.documentFiles.find({ where, limit: 10 })).records, []);
  });

  it('sent by many at once are those of the one message that is taken', async () => {
    const { id } = await must('create_thread', { title: 'Busy' });
    const keeping = processOn();
    const send = (at: number) =>
      keeping.codeOf(ann, 'send_chat_message', { ...asked([sent(`${at}.txt`, `text ${at}`)]), threadId: id });
    const codes = await Promise.all(Array.from({ length: 8 }, (_, at) => send(at)));
    const taken = codes.filter((code) => code === 'ok').length;
    assert.deepEqual([taken > 0, new Set(codes).size <= 2], [true, true], codes.join());
    assert.deepEqual([keeping.put.length, await keeping.left()], [8, taken]);
  });
});

describe('files within a quota of storage', () => {
  it('are kept as far as there is room, and nothing stays of those beyond', async () => {
    const bob = principalOf({ type: 'api-key', id: 'key_bob', scopes: ['*'] });
    const limited = processOn({ storage: new StorageMeter(store, { workspace: 0, caller: 100_000 }) });
    const file = sent('a.txt', 'x'.repeat(60_000));
    const { threadId } = await limited.must(bob, 'send_chat_message', asked([file]));
    const { code, error } = await limited.refused(bob, 'send_chat_message', asked([file]));
    assert.equal(code, 'too_large');
    assert.match(error, /The storage of key_bob .* STORAGE_LIMIT_PER_CALLER_MB/);
    assert.deepEqual([limited.put.length, await limited.left()], [2, 1]);
    assert.equal((await limited.refused(bob, 'fork_thread', { id: threadId })).code, 'too_large');
    assert.equal(limited.put.length, 2, 'nothing is copied for which there is no room');
    const unkept = { agent: 'iris', input: 'What?', attachments: [file] };
    await limited.must(bob, 'invoke_agent', unkept);
    assert.equal(await limited.left(), 1);
    await limited.must(bob, 'delete_thread', { id: threadId });
    await limited.must(bob, 'send_chat_message', asked([file]));
  });
});

describe('files of earlier messages', () => {
  it('go with a call without a thread as far as they are the newest twenty, and the others are told of', async () => {
    const said = (at: number, files: number) => ({
      ...{ role: 'user', content: `Message ${at}` },
      attachments: Array.from({ length: files }, (_, file) => sent(`${at}-${file}.png`, PNG)),
    });
    const yes = { role: 'assistant', content: 'Yes.' };
    const history = [said(0, 10), yes, said(1, 4), yes, said(2, 10), yes, said(3, 9), yes];
    const counting = processOn();
    const input = { agent: 'iris', input: 'And this?', history, attachments: [sent('last.png', PNG)] };
    await counting.must(ann, 'invoke_agent', input);
    assert.deepEqual([counting.put.length, await counting.left()], [21, 0]);
    const users = prompt().filter(({ role }: { role: string }) => role === 'user');
    const note = (files: number) => `(${files} files that came with this are not shown any more, to save space.)`;
    assert.equal(users[0].content, `Message 0\n\n${note(10)}`);
    assert.equal(users[1].content.at(-1).text, `Message 1\n\n${note(3)}`);
    const images = users.map(({ content }: { content: string | readonly { type: string }[] }) =>
      typeof content === 'string' ? 0 : content.filter(({ type }) => type === 'image_url').length,
    );
    assert.deepEqual(images, [0, 1, 10, 9, 1]);
  });

  it('that come beside the input are left out too, and no other stands in their place', async () => {
    const bytes = Array.from({ length: 23 }, (_, at) => Buffer.from(`the text of ${at}`));
    const item = (at: number) => ({ name: `${at}.txt` });
    const of = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => item(from + at));
    const history = [
      { role: 'user', content: '', attachments: of(0, 10) },
      { role: 'user', content: 'More', attachments: of(10, 20) },
      { role: 'user', content: 'More', attachments: of(20, 22) },
    ];
    const attached = { bytes, release() {} };
    const answer = await world.registry.call({
      ...{ principal: ann, tool: 'invoke_agent', door: 'rest', requestId: 'test', attached: () => attached },
      input: { agent: 'iris', input: 'And this?', history, attachments: [item(22)] },
    });
    assert.equal(answer.ok, true, JSON.stringify(answer));
    const told = JSON.stringify(prompt());
    for (const at of bytes.keys())
      assert.equal(new RegExp(`title=..${at}\\.txt..>.nthe text of ${at}.n`).test(told), at > 1, `${at}`);
    assert.match(told, /2 files that came with this/);
  });
});

describe('an artifact that goes with a message', () => {
  it('that cannot be read leaves nothing behind, and is tried again only where that may help', async () => {
    const before = await Promise.all([store.threads.count({}), store.agentRuns.count({})]);
    const missing = { artifactId: 'art_00000000000000000000000000' };
    const counting = processOn();
    const ask = () =>
      counting.registry.call({
        ...{ principal: ann, tool: 'send_chat_message', door: 'mcp', requestId: 'test' },
        input: asked([sent('a.png', PNG), missing]),
      });
    const answer = await ask();
    assert.deepEqual(
      [answer.ok, !answer.ok && answer.error.code, !answer.ok && answer.notMade],
      [false, 'not_found', undefined],
    );
    assert.deepEqual([counting.put.length, await counting.left()], [1, 0]);
    assert.deepEqual(await Promise.all([store.threads.count({}), store.agentRuns.count({})]), before);
  });

  it('is read by a capsule within its constraints alone', async () => {
    const people = new ApprovalWorld(store, world);
    const owner = await people.person('owner');
    const [own, other] = [await artifact('for the partner'), await artifact('for nobody else')];
    const capsule = await people.capsule(owner, {
      allowedTools: ['send_chat_message', 'get_artifact'],
      constraints: { get_artifact: { id: own } },
    });
    await world.must(capsule, 'send_chat_message', asked([{ artifactId: own }]));
    assert.match(JSON.stringify(prompt()), /for the partner/);
    const before = provider.requests.length;
    for (const artifactId of [other, 'art_00000000000000000000000000'])
      assert.equal(await world.codeOf(capsule, 'send_chat_message', asked([{ artifactId }])), 'invalid_input');
    const without = await people.capsule(owner, { allowedTools: ['send_chat_message'] });
    assert.equal(await world.codeOf(without, 'send_chat_message', asked([{ artifactId: own }])), 'forbidden');
    assert.equal(provider.requests.length, before);
  });

  it('of a thread that the caller may not see is not told of where a person is asked', async () => {
    const people = new ApprovalWorld(store, world);
    const [owner, decider] = [await people.person('owner'), await people.person('decider')];
    const thread = await must('create_thread', { title: 'Secret', visibility: 'restricted' });
    const input = { name: 'h.txt', mimeType: 'text/plain', content: 'h', threadId: thread.id };
    const hidden = await must('create_artifact', input);
    const key = await people.key(owner, { askFirst: ['send_chat_message'] });
    for (const artifactId of [hidden.id, 'art_00000000000000000000000000']) {
      const id = await people.asked(key, 'send_chat_message', asked([{ artifactId }]));
      assert.equal((await world.must(decider, 'get_approval', { id })).reaches, `the content of ${artifactId}`);
    }
  });

  it('goes as it was when a person said yes, else the call asks anew', async () => {
    const people = new ApprovalWorld(store, world);
    const [owner, decider] = [await people.person('owner'), await people.person('decider')];
    const key = await people.key(owner, { askFirst: ['send_chat_message', 'invoke_agent'] });
    const calls: readonly [string, (attached: object[]) => object][] = [
      ['send_chat_message', asked],
      ['invoke_agent', (attachments) => ({ agent: 'iris', input: 'What?', attachments })],
      [
        'invoke_agent',
        (attachments) => ({ agent: 'iris', input: 'What?', history: [{ role: 'user', content: 'x', attachments }] }),
      ],
    ];
    for (const [tool, inputOf] of calls) {
      const artifactId = await artifact('harmless');
      const input = inputOf([{ artifactId }]);
      const first = await people.asked(key, tool, input);
      assert.match(
        (await world.must(decider, 'get_approval', { id: first })).reaches,
        new RegExp(`${artifactId} \\(revision 1\\)`),
      );
      await people.approve(decider, first);
      await must('update_artifact', { id: artifactId, content: 'harmful' });
      const before = provider.requests.length;
      assert.equal((await world.refused(key, tool, input)).code, 'conflict');
      const second = await people.asked(key, tool, input);
      assert.notEqual(second, first);
      assert.equal(provider.requests.length, before);
      await people.approve(decider, second);
      await world.must(key, tool, input);
      assert.match(JSON.stringify(prompt()), /harmful/);
    }
  });
});
