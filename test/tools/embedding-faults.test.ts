import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { Store } from '../../store/port.ts';
import { CircuitOpen, FAILURES } from '../../tools/core/models/circuit.ts';
import { EmbeddingFailure } from '../../tools/core/models/embedding-model.ts';
import { createModels } from '../../tools/core/models/models.ts';
import { Embedder } from '../../tools/embeddings/embedder.ts';
import { EmbeddingIndex } from '../../tools/embeddings/embedding-index.ts';
import { SharedEmbeddingState } from '../../tools/embeddings/embedding-state.ts';
import { closedAtEnd, killedAtEnd } from '../support/at-end.ts';
import { byConcepts, startEmbeddingServer } from '../support/embedding-server.ts';
import { openEmbeddingWorld } from '../support/embedding-world.ts';
import { nodeArgs } from '../support/node-args.ts';
import { databaseOf, dataFolder, onPostgres, openStoreIn, removeFolder } from '../support/store.ts';
import { until } from '../support/until.ts';

const CHILD = fileURLToPath(new URL('embedding-crash-child.ts', import.meta.url));

async function ownFolder(): Promise<string> {
  const folder = await dataFolder();
  closedAtEnd(() => removeFolder(folder));
  return folder;
}

const page = (title: string, content: string) => (must: (tool: string, input: object) => Promise<unknown>) =>
  must('create_document', { title, content }).then(() => {});

/** A world with one document, about a puppy. */
async function openPets({ baseUrl }: { readonly baseUrl: string }) {
  return openEmbeddingWorld({ folder: await ownFolder(), baseUrl, fill: page('Pets', 'The puppy sleeps.') });
}

describe('embedding texts', () => {
  it('leaves the process its turns where another one leads, though something was still to be embedded', async () => {
    const folder = await ownFolder();
    const store = await openStoreIn(folder);
    const { embeddings, documents, memories, skills, messages } = store;
    let isLeader = true;
    const jobs = {
      get isLeader() {
        return isLeader;
      },
    };
    const onCommit: Store['onCommit'] = (listener, named) => store.onCommit(listener, named);
    const seen = { embeddings, documents, memories, skills, messages, jobs, onCommit } as unknown as Store;
    const onFailure = (cause: unknown) => assert.fail(String(cause));
    const index = new EmbeddingIndex(seen, onFailure);
    const { baseUrl } = await startEmbeddingServer();
    const models = createModels({ providers: [{ kind: 'custom', baseUrl }] });
    const model = models.findEmbedding('custom/tiny');
    const state = new SharedEmbeddingState({ store: seen, model: model?.id, now: () => new Date(), onFailure });
    const embedder = new Embedder({ store: seen, index, model, state, onFailure });
    embedder.start();
    await until(() => embedder.isDone);
    isLeader = false; // it does not know yet
    await store.transaction((tx) => tx.documents.insert({ title: 'Late', content: 'x', tags: [] }));
    await delay(100);
    await embedder.close();
    await store.close();
  });

  it('loses nothing and repeats nothing when the process is killed, with the first model and with another one', async () => {
    const folder = await ownFolder();
    if (onPostgres) await databaseOf(folder);
    const provider = await startEmbeddingServer();
    for (const [model, count] of [
      ['tiny', '200'],
      ['other', '0'],
    ] as const) {
      const [requests, embedded] = [provider.requests.length, provider.embedded.length];
      provider.play((_, asked) => (asked > requests + 5 ? 'hang' : undefined));
      const child = killedAtEnd(spawn(process.execPath, [...nodeArgs(CHILD), folder, provider.baseUrl, model, count]));
      await until(() => provider.requests.length > requests + 5);
      child.kill('SIGKILL');
      await once(child, 'exit');
      assert.ok(provider.embedded.length > embedded + 100);
      provider.play(undefined);
      const world = await openEmbeddingWorld({ folder, baseUrl: provider.baseUrl, model });
      await until(world.isEmbedded);
      const texts = provider.embedded.slice(embedded);
      assert.equal(new Set(texts).size, texts.length);
      assert.equal(texts.filter((text) => /Paragraph number \d+\.|long text of part/.test(text)).length, 350);
      const { data, meaning } = await world.search('Paragraph number 77');
      assert.equal(meaning, 'used');
      assert.match(data[0].text, /number 77/);
      await world.close();
    }
  });

  it('goes on with the former vectors while another model embeds all anew', async () => {
    const folder = await ownFolder();
    const provider = await startEmbeddingServer();
    const first = await openEmbeddingWorld({
      folder,
      baseUrl: provider.baseUrl,
      fill: page('Pets', 'The puppy sleeps.'),
    });
    await until(first.isEmbedded);
    await first.close();
    provider.play(({ model, input }) =>
      model === 'other' && input.some((text) => text.includes('puppy')) ? 'hang' : undefined,
    );
    const second = await openEmbeddingWorld({ folder, baseUrl: provider.baseUrl, model: 'other' });
    await until(() => provider.requests.some(({ model }) => model === 'other'));
    const { data, meaning } = await second.search('hound');
    assert.equal(meaning, 'used');
    assert.equal(data[0].title, 'Pets');
    const closing = second.close();
    await closing;
    provider.play(undefined);
    const third = await openEmbeddingWorld({ folder, baseUrl: provider.baseUrl, model: 'other' });
    await until(third.isEmbedded);
    assert.equal((await third.search('hound')).data[0].title, 'Pets');
    const models = new Set<string>();
    await until(async () => {
      models.clear();
      for await (const { rows } of third.store.embeddings.read()) for (const { model } of rows) models.add(model);
      return models.size === 1;
    });
    assert.deepEqual([...models], ['custom/other']);
    await third.close();
  });

  it('waits as long as a busy provider asks for, and says what is wrong', async () => {
    const provider = await startEmbeddingServer();
    provider.play((_, count) => (count <= 3 ? { status: 429, headers: { 'Retry-After': '0.05' } } : undefined));
    const world = await openPets(provider);
    await until(world.isEmbedded);
    provider.play(() => ({ status: 401 }));
    await world.must('create_document', { title: 'Cats', content: 'The cat sits.' });
    await until(async () => (await world.health())?.status === 'degraded');
    assert.match((await world.health())?.lastError ?? '', /refused the key it was given \(401\)/);
    await world.close();
  });

  it('says how many texts of each kind have vectors, of which model, since when, and when it tries again', async () => {
    const provider = await startEmbeddingServer();
    const world = await openPets(provider);
    await until(world.isEmbedded);
    await until(async () => (await world.health())?.texts?.since !== undefined);
    const { texts: before, lastError } = (await world.health()) ?? {};
    assert.deepEqual(
      [lastError, before?.model, before?.failedAt, before?.nextTryAt],
      [undefined, 'custom/tiny', undefined, undefined],
    );
    assert.deepEqual(before?.kinds[0], { type: 'document', records: 1, embedded: 1 });
    provider.play(() => ({ status: 500 }));
    await world.must('create_skill', { name: 'repay', displayName: 'Repay', instructions: 'Send it by mail.' });
    await until(async () => (await world.health())?.texts?.failedAt !== undefined);
    const { texts: failing, status } = (await world.health()) ?? {};
    assert.equal(status, 'degraded');
    assert.deepEqual(failing?.kinds.slice(0, 3), [
      { type: 'document', records: 1, embedded: 1 },
      { type: 'memory', records: 0, embedded: 0 },
      { type: 'skill', records: 1, embedded: 0 },
    ]);
    assert.ok((failing?.since ?? '') > (before?.since ?? ''), 'it says since when it fails');
    assert.ok((failing?.nextTryAt ?? '') > (failing?.failedAt ?? ''));
    provider.play(undefined);
    await until(async () => (await world.isEmbedded()) && (await world.health())?.status === 'ok');
    const after = (await world.health())?.texts;
    assert.deepEqual([after?.failedAt, after?.nextTryAt], [undefined, undefined]);
    assert.ok((after?.since ?? '') >= (failing?.failedAt ?? ''));
    await world.close();
  });

  it('asks a provider that wants weeks of rest no more for now', async () => {
    const provider = await startEmbeddingServer();
    provider.play(() => ({ status: 429, headers: { 'Retry-After': String(60 * 24 * 60 * 60) } }));
    const world = await openPets(provider);
    await until(async () => (await world.health())?.status === 'degraded');
    for (let at = 0; at < 20; at += 1) await world.must('create_document', { title: `Cat ${at}`, content: 'It sits.' });
    assert.equal(provider.requests.length, 1);
    await world.close();
  });

  it('lets searches go on by words where the provider never answers', async () => {
    const provider = await startEmbeddingServer();
    const world = await openPets(provider);
    await until(world.isEmbedded);
    provider.play(() => 'hang');
    const asked = provider.requests.length;
    for (const q of ['puppy', 'where the puppy sleeps']) {
      const { data, meaning } = await world.search(q);
      assert.deepEqual([data[0]?.title, meaning], ['Pets', 'unavailable']);
    }
    assert.equal(provider.requests.length, asked + 1); // the second waits for nothing
    assert.match((await world.health())?.lastError ?? '', /did not answer in time/);
    await world.close();
  });

  it('is left alone where it fails again and again, apart from the conversations of its provider', async () => {
    const provider = await startEmbeddingServer();
    provider.play(() => ({ status: 501, headers: { 'x-should-retry': 'false' } }));
    const models = createModels({ providers: [{ kind: 'custom', baseUrl: provider.baseUrl, models: ['talks'] }] });
    const embed = () => models.findEmbedding('custom/tiny')?.embed(['puppy'], AbortSignal.timeout(5000));
    for (let at = 0; at < FAILURES; at += 1) await assert.rejects(async () => embed(), /failed \(501\)/);
    const asked = provider.requests.length;
    await assert.rejects(
      async () => embed(),
      (error: unknown) =>
        error instanceof EmbeddingFailure &&
        (error.retryAfterMs ?? 0) > 20_000 &&
        /^The embedding model custom\/tiny is not asked before 2/.test(error.message),
    );
    assert.equal(provider.requests.length, asked);
    assert.equal((await models.health()).find(({ name }) => name === 'custom')?.status, 'ok');
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
    const talk = () => models.find('custom/talks')?.doStream({ prompt });
    for (let at = 0; at < FAILURES; at += 1)
      await assert.rejects(
        async () => talk(),
        (error) => !(error instanceof CircuitOpen),
      );
    assert.equal(provider.requests.length, asked + FAILURES);
    await assert.rejects(async () => talk(), CircuitOpen);
  });

  it('does not have a provider asked again whose conversations fail', async () => {
    const provider = await startEmbeddingServer();
    const models = createModels({ providers: [{ kind: 'custom', baseUrl: provider.baseUrl, models: ['talks'] }] });
    provider.play(({ model }) =>
      model === 'talks' ? { status: 500, headers: { 'x-should-retry': 'false' } } : undefined,
    );
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
    const talk = () => models.find('custom/talks')?.doStream({ prompt });
    for (let at = 0; at < FAILURES; at += 1) {
      await assert.rejects(
        async () => talk(),
        (error) => !(error instanceof CircuitOpen),
      );
      await models.findEmbedding('custom/tiny')?.embed(['puppy'], AbortSignal.timeout(5000));
    }
    await assert.rejects(async () => talk(), CircuitOpen);
  });

  it('removes the vectors of a record that is purged', async () => {
    const provider = await startEmbeddingServer();
    const world = await openEmbeddingWorld({ folder: await ownFolder(), baseUrl: provider.baseUrl });
    const keep = await world.must('create_document', { title: 'Cats', content: 'The cat sits.' });
    const { id } = await world.must('create_document', { title: 'Pets', content: 'The puppy sleeps.' });
    await until(world.isEmbedded);
    const kept = async () => {
      const ids: string[] = [];
      for await (const { rows } of world.store.embeddings.read()) ids.push(...rows.map((row) => row.id));
      return ids.filter((each) => each === id || each === keep.id);
    };
    assert.deepEqual(new Set(await kept()), new Set([id, keep.id]));
    await world.must('delete_document', { id });
    await world.must('purge_record', { entityType: 'document', id });
    await until(async () => (await kept()).length === 1);
    assert.deepEqual(await kept(), [keep.id]);
    await world.close();
  });

  it('gives texts in smaller parts to a provider that refuses many, and leaves out what it refuses alone', async () => {
    const provider = await startEmbeddingServer();
    provider.play(({ input }) =>
      input.length > 20 || input.some((text) => text.includes('unspeakable')) ? { status: 400 } : undefined,
    );
    const content = Array.from(
      { length: 50 },
      (_, at) => `## Part ${at}\n\n${at === 30 ? 'unspeakable' : `puppy ${at}`}`,
    );
    const world = await openEmbeddingWorld({
      folder: await ownFolder(),
      baseUrl: provider.baseUrl,
      fill: page('Long', content.join('\n\n')),
    });
    await until(world.isEmbedded);
    assert.equal((await world.search('hound')).meaning, 'used');
    await world.close();
  });

  it('asks for few long vectors at once, so that nobody waits for them to be parsed', async () => {
    const provider = await startEmbeddingServer((text) => new Array<number>(4096).fill(0).with(text.length, 1));
    const content = Array.from({ length: 30 }, (_, at) => `## Part\n\n${'x'.repeat(at + 1)}`).join('\n\n');
    const { close, isEmbedded } = await openEmbeddingWorld({
      folder: await ownFolder(),
      baseUrl: provider.baseUrl,
      fill: page('Long', content),
    });
    await until(isEmbedded);
    const texts = provider.requests.slice(1).map(({ input }) => input.length); // behind those of the calibration
    assert.ok(texts.length > 3 && Math.max(...texts) <= 9, texts.join());
    await close();
  });

  it('does not mix vectors of different lengths', async () => {
    const provider = await startEmbeddingServer();
    const world = await openPets(provider);
    await until(world.isEmbedded);
    provider.play(({ input }) => ({ vectors: input.map((text) => byConcepts(text).slice(0, 20)) }));
    await world.must('create_document', { title: 'Cats', content: 'The cat sits.' });
    await until(async () => (await world.health())?.status === 'degraded');
    assert.match((await world.health())?.lastError ?? '', /vectors of 20 numbers/);
    assert.equal((await world.search('puppy')).meaning, 'unavailable');
    provider.play(({ input }) => ({ vectors: input.slice(1).map(byConcepts) }));
    assert.equal((await world.search('sleeps')).meaning, 'unavailable');
    await world.close();
  });
});

function testTwoProcesses(): void {
  it('two processes on one database embed each text once, and both find it', async () => {
    const folder = await ownFolder();
    const provider = await startEmbeddingServer();
    const one = await openEmbeddingWorld({
      folder,
      baseUrl: provider.baseUrl,
      fill: page('Pets', 'The puppy sleeps.'),
    });
    const other = await openEmbeddingWorld({ folder, baseUrl: provider.baseUrl });
    await until(async () => (await one.isEmbedded()) && (await other.isEmbedded()));
    await other.must('create_document', { title: 'Trips', content: 'Hand over invoices.' });
    for (const world of [one, other]) {
      await until(async () => (await world.search('bills')).data[0]?.title === 'Trips');
      await until(async () => (await world.search('hound')).data[0]?.title === 'Pets');
    }
    provider.play(() => ({ status: 401 }));
    await other.must('create_document', { title: 'Cats', content: 'The cat sits.' });
    const told = async (world: typeof one) => {
      const { status, lastError, texts } = (await world.health()) ?? {};
      return [status, /refused the key/.test(lastError ?? ''), texts?.failedAt, texts?.since];
    };
    // The one that does not embed says the same.
    for (const world of [one, other]) await until(async () => (await world.health())?.texts?.failedAt !== undefined);
    await until(async () => isDeepStrictEqual(await told(one), await told(other)));
    assert.deepEqual((await told(other)).slice(0, 2), ['degraded', true]);
    provider.play(undefined);
    for (const world of [one, other]) await until(async () => (await world.health())?.status === 'ok');
    const texts = provider.embedded.filter((text) => /puppy|invoices/.test(text));
    assert.equal(texts.length, 2);
    await one.close();
    await other.close();
  });
}

// The second part of a full run is on PostgreSQL.
if (onPostgres) testTwoProcesses();
