import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collections } from '../../store/collections.ts';
import { OrderedSet } from '../../store/lowdb/ordered-set.ts';
import { Collection } from '../../store/lowdb/records/collection.ts';
import { find } from '../../store/lowdb/records/find.ts';
import { count } from '../../store/lowdb/records/query.ts';
import type { Row } from '../../store/row.ts';
import { rounds } from '../support/full.ts';
import { writing } from '../support/writing.ts';
import { FailingFiles } from './failing-files.ts';
import { openIn, testFolder } from './folders.ts';
import { agentRecord } from './records.ts';

describe('the cost of a write', () => {
  it('is the same with few and with many records, counted in bytes, writes and syncs', async (test) => {
    const costs = [];
    for (const size of [1_000, rounds(10_000, 100_000)]) {
      const files = new FailingFiles();
      const store = await openIn(await testFolder(test), { files, compactBytes: 1e12 });
      await store.transaction(async (tx) => {
        for (let at = 0; at < size; at += 1) await tx.skills.insert({ id: `skl_${at}`, name: `s${at}` });
      });
      Object.assign(files, { bytesWritten: 0, writes: 0, syncs: 0 });
      for (let at = 0; at < 10; at += 1) {
        await writing(store).agents.insert(agentRecord(`a${at}`, { id: `agt_${at}` }));
        await writing(store).skills.update('skl_0', { description: `${at}` });
      }
      const { bytesWritten, writes, syncs } = files;
      // The sequence numbers are as long in both.
      costs.push({ bytesWritten, writes, syncs });
      await store.close();
    }
    assert.deepEqual(costs[0], costs[1]);
    assert.deepEqual([costs[0]?.writes, costs[0]?.syncs], [20, 20]);
  });

  it('is one write and one sync for 64 callers at a time', async (test) => {
    const files = new FailingFiles();
    const store = await openIn(await testFolder(test), { files });
    const { writes, syncs } = files;
    await Promise.all(Array.from({ length: 64 }, (_, at) => writing(store).agents.insert(agentRecord(`a${at}`))));
    assert.ok(files.syncs - syncs <= 3, `${files.syncs - syncs} syncs`);
    assert.ok(files.writes - writes <= 3, `${files.writes - writes} writes`);
  });
});

it('the cost of a query does not grow with the records that do not match', () => {
  const looks = [1_000, rounds(10_000, 100_000)].map((size) => {
    let reads = 0;
    const get = (target: Row, member: string | symbol): unknown => {
      reads += 1;
      return Reflect.get(target, member);
    };
    const collection = new Collection('agents', collections.agents);
    for (let at = 0; at < size; at += 1) {
      const createdAt = new Date(at * 1000).toISOString();
      const status = at % 2 === 0 ? 'active' : 'paused';
      const row = {
        ...agentRecord(`a${at}`, { status, skillIds: [at % 500 === 0 ? 'skl_rare' : 'skl_often'] }),
        id: `agt_${at}`,
        createdAt,
      };
      collection.set(row.id, new Proxy(row, { get }));
    }
    const looked: Record<string, number> = {};
    const measure = (name: string, work: () => unknown) => {
      reads = 0;
      work();
      looked[name] = reads;
    };
    measure('first page', () => find(collection, { limit: 20 }));
    measure('first page by status', () => find(collection, { where: { status: 'paused' }, limit: 20 }));
    measure('first page by two skills', () =>
      find(collection, { where: { skillIds: ['skl_often', 'skl_rare'] }, limit: 20 }),
    );
    measure('first page of any', () => find(collection, { any: [{ status: 'active' }, { name: 'a7' }], limit: 20 }));
    measure('page from the middle', () =>
      find(collection, { after: { createdAt: new Date(500_000).toISOString(), id: '' }, limit: 20 }),
    );
    measure('count by status', () => count(collection, { where: { status: ['active', 'paused'] } }));
    measure('count of a time', () =>
      count(collection, { where: { status: 'active' }, from: '1970-01-01T00:01', to: '1970-01-01T00:09' }),
    );
    measure('unique check', () => collection.uniques[0]?.holder('["a7"]'));
    return looked;
  });
  assert.deepEqual(looks[0], looks[1]);
});

it('an ordered set is what a sorted array is', () => {
  const set = new OrderedSet();
  const model: string[] = [];
  let state = 7;
  const random = (below: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
  const entry = (id: string) => ({ id, createdAt: 't' });
  for (let step = 0; step < rounds(5_000, 20_000); step += 1) {
    const id = String(random(9000) + 10_000);
    const at = model.indexOf(id);
    if (at >= 0) {
      set.delete(entry(id));
      model.splice(at, 1);
    } else {
      set.add(entry(id));
      model.push(id);
    }
  }
  model.sort();
  assert.equal(set.size, model.length);
  assert.deepEqual(
    Array.from(set.ascending(0, set.size), ({ id }) => id),
    model,
  );
  for (let step = 0; step < rounds(60, 200); step += 1) {
    const low = random(model.length);
    const high = random(model.length + 10);
    assert.deepEqual(
      Array.from(set.ascending(low, high), ({ id }) => id),
      model.slice(low, high),
    );
    assert.deepEqual(
      Array.from(set.descending(low, high), ({ id }) => id),
      model.slice(low, high).reverse(),
    );
    const id = String(random(9000) + 10_000);
    assert.equal(set.rank({ createdAt: 't', id }), model.filter((other) => other < id).length);
    assert.equal(set.rankAfter({ createdAt: 't', id }), model.filter((other) => other <= id).length);
  }
});
