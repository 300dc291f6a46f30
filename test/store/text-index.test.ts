import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collections } from '../../store/collections.ts';
import { StoreUnavailable } from '../../store/errors.ts';
import { Collection } from '../../store/lowdb/records/collection.ts';
import { matcher } from '../../store/lowdb/records/query.ts';
import { MOST_BEGINNINGS } from '../../store/lowdb/text/text-index.ts';
import { search } from '../../store/lowdb/text/text-search.ts';
import type { Row } from '../../store/row.ts';
import { rounds } from '../support/full.ts';
import { workMs } from '../support/processor-time.ts';
import { fc } from '../support/property.ts';
import { countTurns, slowClock } from '../support/turns.ts';
import { writing } from '../support/writing.ts';
import { FailingFiles } from './failing-files.ts';
import { openIn, testFolder } from './folders.ts';
import { memoryRecord } from './records.ts';

const vocabulary = ['ada', 'adamant', 'byron', 'byrom', 'cafe', 'café', 'delta', '咖啡', 'x', 'epsilon'];
const text = fc.array(fc.constantFrom(...vocabulary), { maxLength: 6 }).map((words) => words.join(' '));
const id = fc.integer({ min: 0, max: 7 }).map((at) => `skl_${at}`);
const step = fc.record({
  id,
  gone: fc.boolean(),
  name: text,
  instructions: fc.option(text, { nil: undefined }),
  at: fc.integer({ min: 0, max: 2 }),
});

describe('the index of words', () => {
  it('answers after any changes as one made anew would', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.array(text, { minLength: 3, maxLength: 6 }),
        (steps, queries) => {
          const kept = new Collection('skills', collections.skills);
          kept.indexText();
          for (const { id, gone, at, ...members } of steps) {
            const row: Row = { id, createdAt: `2026-01-0${at + 1}T00:00:00.000Z`, ...members };
            kept.set(id, gone ? undefined : row);
          }
          const anew = new Collection('skills', collections.skills);
          for (const row of kept.rows()) anew.set(row.id, row);
          anew.indexText();
          for (const query of [...queries, ...vocabulary, 'skl_3', 'epsilom']) {
            const asked = { text: query, limit: 3 };
            assert.deepEqual(search(kept, undefined, asked), search(anew, undefined, asked), query);
          }
        },
      ),
      { numRuns: rounds(40, 200) },
    );
  });

  it('finds the word itself and a bounded number of those that begin with it', () => {
    const kept = new Collection('skills', collections.skills);
    kept.indexText();
    const createdAt = '2026-01-01T00:00:00.000Z';
    for (let at = 0; at < MOST_BEGINNINGS + 50; at += 1)
      kept.set(`skl_${at}`, { id: `skl_${at}`, createdAt, name: `zz${at}` });
    kept.set('skl_own', { id: 'skl_own', createdAt, name: 'zz' });
    const { count, hits } = search(kept, undefined, { text: 'zz', limit: 1 });
    assert.deepEqual([count, hits[0]?.record.id], [MOST_BEGINNINGS, 'skl_own']);
  });

  it('filters as looking at each record would, after any changes', () => {
    const change = fc.record({
      id: fc.integer({ min: 0, max: 9 }),
      gone: fc.boolean(),
      content: fc.constantFrom('ada', 'ada byron', 'byron'),
      superseded: fc.boolean(),
      accessKeys: fc.subarray(['admin', 'workspace', 'user:u1']),
      agentId: fc.option(fc.constantFrom('agt_1', 'agt_2'), { nil: undefined }),
      pinned: fc.boolean(),
    });
    const filter = fc.record(
      {
        superseded: fc.boolean(),
        accessKeys: fc.subarray(['workspace', 'user:u1', 'user:u2'], { minLength: 1 }),
        agentId: fc.constantFrom('agt_1', 'agt_2', 'agt_3'),
        pinned: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 40 }),
        filter,
        fc.option(filter, { nil: undefined }),
        (steps, where, or) => {
          const kept = new Collection('memories', collections.memories);
          kept.indexText();
          for (const { id, gone, ...members } of steps) {
            const row = { id: `mem_${id}`, createdAt: '2026-01-01T00:00:00.000Z', ...members } as Row;
            kept.set(row.id, gone && members.pinned ? undefined : row);
          }
          const query = { where, ...(or && { any: [or, { pinned: true }] }) };
          const fits = matcher(query);
          for (const text of ['ada', 'byron', 'ada byron', 'mem_3']) {
            const all = search(kept, undefined, { text, limit: 100 });
            const found = search(kept, undefined, { text, ...query, limit: 100 });
            const expected = all.hits.filter(({ record }) => fits(record));
            assert.deepEqual([found.hits, found.count, found.next], [expected, expected.length, null]);
          }
        },
      ),
      { numRuns: rounds(80, 500) },
    );
  });

  it('does so after thousands of changes too', () => {
    const kept = new Collection('skills', collections.skills);
    kept.indexText();
    const createdAt = '2026-01-01T00:00:00.000Z';
    for (let at = 0; at < 5_000; at += 1) {
      if (at % 1_000 === 500) kept.set(`skl_still_${at}`, { id: `skl_still_${at}`, createdAt, name: `still ${at}` });
      const id = `skl_${(at * 7) % 23}`;
      const name = `${vocabulary[at % 10]} ${vocabulary[(at * 3) % 7]}`;
      kept.set(
        id,
        at % 11 === 0 ? undefined : { id, createdAt: '2026-01-01T00:00:00.000Z', name, instructions: `n${at}` },
      );
    }
    const anew = new Collection('skills', collections.skills);
    for (const row of kept.rows()) anew.set(row.id, row);
    anew.indexText();
    assert.ok(kept.rows().length > 10);
    for (const query of [...vocabulary, 'n4999', 'n1', ...kept.rows().map(({ name }) => String(name))]) {
      const asked = { text: query, limit: 50 };
      assert.deepEqual(search(kept, undefined, asked), search(anew, undefined, asked), query);
    }
  });

  it('takes in many changes bit by bit, and all of them where it is needed at once', async (test) => {
    const memories = new Collection('memories', collections.memories);
    memories.indexText();
    const createdAt = '2026-01-01T00:00:00.000Z';
    const put = (at: number, content: string) => {
      const row: Row = { ...memoryRecord(content), id: `mem_${at}`, createdAt };
      memories.set(row.id, row);
    };
    const size = rounds(3_200, 8_000);
    const many = () => {
      for (let at = 0; at < size; at += 1) put(at, `early ${'some words '.repeat(20)}${at}`);
      for (let at = 0; at < size; at += 2) put(at, 'late');
      for (let at = 0; at < size; at += 4) memories.set(`mem_${at}`, undefined);
    };
    const counts = () => ['early', 'late'].map((text) => search(memories, undefined, { text, limit: 1 }).count);
    slowClock(test);
    many();
    const turns = countTurns(test);
    await memories.textCaughtUp();
    assert.ok(turns() > size / 10, `${turns()} turns`);
    assert.deepEqual(counts(), [size / 2, size / 4]);
    for (let at = 0; at < size; at += 1) memories.set(`mem_${at}`, undefined);
    many();
    assert.deepEqual(counts(), [size / 2, size / 4]);
    await memories.textCaughtUp();
    assert.deepEqual(counts(), [size / 2, size / 4]);
  });

  it('is complete for the first search after the store was opened', async (test) => {
    const folder = await testFolder(test);
    const first = await openIn(folder);
    await first.transaction(async (tx) => {
      for (let at = 0; at < 3_000; at += 1) {
        await tx.memories.insert(
          memoryRecord(`${'some words '.repeat(50)} ${at === 2_998 ? 'xyz' : `word${at}`}`, { id: `mem_${at}` }),
        );
      }
    });
    await first.close();
    const store = await openIn(folder);
    test.after(() => store.close());
    await writing(store).memories.delete('mem_2998');
    const counts = ['some', 'word2999', 'xyz'].map(
      async (text) => (await store.search('memories', { text, limit: 1 })).count,
    );
    assert.deepEqual(await Promise.all(counts), [2_999, 1, 0]);
  });

  it('takes back what the disk refused', async (test) => {
    const files = new FailingFiles();
    const store = await openIn(await testFolder(test), { files, probeMs: 60_000 });
    await writing(store).memories.insert(memoryRecord('walrus', { id: 'mem_kept' }));
    files.failure = 'sync';
    const results = await Promise.allSettled([
      writing(store).memories.update('mem_kept', { content: 'penguin' }),
      writing(store).memories.insert(memoryRecord('penguin')),
    ]);
    for (const result of results) assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable);
    assert.equal((await store.search('memories', { text: 'penguin', limit: 1 })).count, 0);
    assert.equal((await store.search('memories', { text: 'walrus', limit: 1 })).count, 1);
    files.failure = undefined;
  });

  it('does not look at rows that lack every word', () => {
    const looks = [1_000, rounds(4_000, 20_000)].map((size) => {
      let reads = 0;
      const get = (target: Row, member: string | symbol): unknown => {
        reads += 1;
        return Reflect.get(target, member);
      };
      const memories = new Collection('memories', collections.memories);
      for (let at = 0; at < size; at += 1) {
        const content = at < 500 ? 'needle in hay' : 'hay';
        const row = { ...memoryRecord(content), id: `mem_${at}`, createdAt: new Date(at * 1000).toISOString() };
        memories.set(row.id, new Proxy(row, { get }));
      }
      memories.indexText();
      assert.ok(memories.text, 'takes in what waits');
      reads = 0;
      const { count } = search(memories, undefined, { text: 'needle', where: { superseded: false }, limit: 10 });
      assert.equal(count, 500);
      return reads;
    });
    assert.ok(looks[0] !== undefined && looks[0] > 0);
    assert.equal(looks[0], looks[1]);
  });

  it('does not look at each of the rows that have a common word', () => {
    const looks = [1_000, rounds(4_000, 20_000)].map((size) => {
      let reads = 0;
      const get = (target: Row, member: string | symbol): unknown => {
        reads += 1;
        return Reflect.get(target, member);
      };
      const memories = new Collection('memories', collections.memories);
      for (let at = 0; at < size; at += 1) {
        const keys = { accessKeys: ['admin', at % 2 === 0 ? 'workspace' : 'user:usr_1'] };
        const createdAt = new Date(at * 1000).toISOString();
        const row: Row = { ...memoryRecord('hay', keys), id: `mem_${at}`, createdAt };
        memories.set(row.id, new Proxy(row, { get }));
      }
      memories.indexText();
      assert.ok(memories.text, 'takes in what waits');
      reads = 0;
      const where = { superseded: false, accessKeys: ['workspace', 'api-key:key_1'] };
      const { count, hits } = search(memories, undefined, { text: 'hay', where, limit: 10 });
      assert.deepEqual([count, hits.length], [Math.ceil(size / 2), 10]);
      return reads;
    });
    assert.ok(looks[0] !== undefined && looks[0] > 0 && looks[0] < 100, `${looks[0]} reads`);
    assert.equal(looks[0], looks[1]);
  });

  it('takes long and hostile text in reasonable time', () => {
    const skills = new Collection('skills', collections.skills);
    skills.indexText();
    const took = workMs(() => {
      for (const [at, instructions] of [
        'a'.repeat(200_000),
        'ab '.repeat(66_000),
        '咖啡'.repeat(100_000),
        '\u0301'.repeat(200_000),
        Array.from({ length: 30_000 }, (_, word) => `w${word}`).join(' '),
      ].entries()) {
        skills.set(`skl_${at}`, {
          id: `skl_${at}`,
          createdAt: '2026-01-01T00:00:00.000Z',
          name: `s${at}`,
          instructions,
        });
      }
      assert.equal(search(skills, undefined, { text: 'w29999', limit: 1 }).count, 1);
      search(skills, undefined, { text: 'w '.repeat(250), limit: 1 });
    });
    assert.ok(took < 5000, `${took} ms`);
  });
});
