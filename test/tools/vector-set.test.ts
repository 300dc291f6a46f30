import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CALIBRATION } from '../../tools/embeddings/calibration.ts';
import { VectorSet } from '../../tools/embeddings/vector-set.ts';
import { cosine, hashOf, packParts, type Vector, vectorOf } from '../../tools/embeddings/vectors.ts';
import { randomFrom } from '../support/random.ts';

const NUMBERS = 96;
const TOPICS = 50;
const RECORDS = 6000;
const random = randomFrom(11);
const numbers = () => Array.from({ length: NUMBERS }, () => random() - 0.5);
const topics = Array.from({ length: TOPICS }, numbers);

/** Near to a topic, as texts are. */
const about = (topic: number) => vectorOf((topics[topic] ?? []).map((number) => number + (random() - 0.5) * 0.8));
const nearest = async (set: VectorSet, query: Vector) => {
  const found: string[] = [];
  for await (const batch of set.nearest(query)) found.push(...batch.map(({ id }) => id));
  return found;
};
const record = (id: string, ...vectors: readonly Vector[]) => ({
  ...{ collection: 'documents', id, model: 'a/b', state: '1' },
  parts: packParts(vectors.map((vector, at) => ({ hash: hashOf(`${id} ${at}`), ...vector }))),
});

describe('VectorSet', () => {
  it('finds by signs first what comparing all numbers finds', async () => {
    const set = new VectorSet('a/b');
    const all = Array.from({ length: RECORDS }, (_, at) => ({ id: `doc_${at}`, vector: about(at % TOPICS) }));
    for (const { id, vector } of all) set.put(record(id, vector));
    for (let topic = 0; topic < TOPICS; topic += 10) {
      const query = about(topic);
      const wanted = all
        .map(({ id, vector }) => ({ id, is: cosine(query, vector) }))
        .sort((one, other) => other.is - one.is);
      const found = await nearest(set, query);
      assert.deepEqual(
        found.slice(0, 40),
        wanted.slice(0, 40).map(({ id }) => id),
      );
      const positive = wanted.filter(({ is }) => is > 0).map(({ id }) => id);
      assert.deepEqual(new Set(found), new Set(positive));
      assert.equal(found.length, positive.length);
    }
  });

  it('finds a record once, by its best part, and nothing of what was replaced or removed', async () => {
    const set = new VectorSet('a/b');
    const [one, other, third] = [about(1), about(2), about(3)];
    set.put(record('doc_1', one, other));
    set.put(record('doc_2', third));
    assert.deepEqual(
      (await nearest(set, other)).filter((id) => id === 'doc_1'),
      ['doc_1'],
    );
    assert.equal((await nearest(set, third))[0], 'doc_2');
    set.put(record('doc_1', third));
    set.remove({ collection: 'documents', id: 'doc_2' });
    assert.deepEqual(await nearest(set, third), ['doc_1']);
    set.remove({ collection: 'documents', id: 'doc_1' });
    assert.deepEqual(await nearest(set, third), []);
  });

  it('takes nothing of another width', async () => {
    const set = new VectorSet('a/b');
    set.put(record('doc_1', about(1)));
    set.put(record('doc_2', vectorOf([1, 2, 3])));
    assert.equal(set.records.size, 1);
    set.put({ ...record('x', about(1), about(2)), ...CALIBRATION });
    assert.ok(set.nearFrom !== undefined);
  });
});
