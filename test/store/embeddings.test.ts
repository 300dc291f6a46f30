import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { StoredEmbedding } from '../../store/embeddings-port.ts';
import { EMBEDDINGS } from '../../store/lowdb/embeddings/embedding-file.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { dataFolder, openStoreIn, removeFolder } from '../support/store.ts';

const folder = await dataFolder();
const store = await openStoreIn(folder);
closedAtEnd(async () => {
  await store.close();
  await removeFolder(folder);
});

function embedding(id: string, over: Partial<StoredEmbedding> = {}): StoredEmbedding {
  return {
    collection: 'documents',
    id,
    model: 'custom/one',
    state: '1.1',
    parts: Buffer.from(`parts of ${id}`),
    ...over,
  };
}

async function kept({ embeddings }: Pick<Store, 'embeddings'>, after?: number) {
  const all: string[] = [];
  let place = after ?? 0;
  for await (const batch of embeddings.read(after)) {
    for (const { id, model, state, parts } of batch.rows) all.push(`${model} ${id} ${state} ${Buffer.from(parts)}`);
    place = batch.place;
  }
  return { all: all.sort(), place };
}

describe('embeddings', () => {
  it('are kept by record and model, and replaced', async () => {
    assert.deepEqual((await kept(store)).all, []);
    await store.embeddings.remove([{ collection: 'documents', id: 'doc_none' }]);
    await store.embeddings.put([embedding('doc_1'), embedding('doc_2'), embedding('doc_1', { model: 'custom/two' })]);
    await store.embeddings.put([embedding('doc_1', { state: '1.2', parts: Buffer.from('anew') })]);
    assert.deepEqual((await kept(store)).all, [
      'custom/one doc_1 1.2 anew',
      'custom/one doc_2 1.1 parts of doc_2',
      'custom/two doc_1 1.1 parts of doc_1',
    ]);
  });

  it('are read on from a place', async () => {
    const { place } = await kept(store);
    assert.deepEqual(await kept(store, place), { all: [], place });
    await store.embeddings.put([embedding('doc_2', { state: '1.9' }), embedding('doc_3')]);
    assert.deepEqual((await kept(store, place)).all, [
      'custom/one doc_2 1.9 parts of doc_2',
      'custom/one doc_3 1.1 parts of doc_3',
    ]);
  });

  it('go with their record or their model', async () => {
    await store.embeddings.remove([{ collection: 'documents', id: 'doc_1' }]);
    assert.deepEqual(
      (await kept(store)).all.map((line) => line.split(' ')[1]),
      ['doc_2', 'doc_3'],
    );
    await store.embeddings.put([embedding('doc_4', { model: 'custom/two' })]);
    await store.embeddings.removeModel('custom/one');
    assert.deepEqual((await kept(store)).all, ['custom/two doc_4 1.1 parts of doc_4']);
  });
});

describe('the file of embeddings', () => {
  it('is read without what a crash cut, what is damaged and what was removed, and none of that stays', async () => {
    const own = await dataFolder();
    closedAtEnd(() => removeFolder(own));
    const path = join(own, EMBEDDINGS);
    const open = () => openLowdbStore({ folder: own });
    const reopened = async () => {
      const opened = await open();
      const { all } = await kept(opened);
      await opened.close();
      return all.map((line) => line.split(' ')[1]);
    };
    const first = await open();
    await first.embeddings.put([embedding('doc_1'), embedding('doc_2')]);
    const { size } = statSync(path);
    await first.embeddings.put([embedding('doc_3', { parts: Buffer.from('secret words') })]);
    await first.embeddings.remove([{ collection: 'documents', id: 'doc_3' }]);
    assert.ok(!readFileSync(path).includes('secret words'));
    await first.embeddings.put([embedding('doc_4')]);
    await first.close();
    assert.deepEqual(await reopened(), ['doc_1', 'doc_2', 'doc_4']);
    truncateSync(path, statSync(path).size - 3);
    assert.deepEqual(await reopened(), ['doc_1', 'doc_2']);
    const bytes = readFileSync(path);
    bytes[size - 1] = (bytes[size - 1] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    assert.deepEqual(await reopened(), ['doc_1']);
    appendFileSync(path, Buffer.alloc(50));
    assert.deepEqual(await reopened(), ['doc_1']);
  });

  it('is written again without what was removed when that is most of it', async () => {
    const own = await dataFolder();
    const opened = await openLowdbStore({ folder: own });
    closedAtEnd(async () => {
      await opened.close();
      await removeFolder(own);
    });
    const parts = Buffer.alloc(600_000, 'x');
    for (const id of ['doc_1', 'doc_2', 'doc_3', 'doc_4']) await opened.embeddings.put([embedding(id, { parts })]);
    await opened.embeddings.remove(['doc_1', 'doc_2', 'doc_3'].map((id) => ({ collection: 'documents', id })));
    assert.ok(statSync(join(own, EMBEDDINGS)).size < 700_000);
    await opened.embeddings.put([embedding('doc_5')]);
    assert.deepEqual(
      (await kept(opened)).all.map((line) => line.split(' ')[1]),
      ['doc_4', 'doc_5'],
    );
  });
});
