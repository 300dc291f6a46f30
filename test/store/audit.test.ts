import assert from 'node:assert/strict';
import { appendFile, cp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { until } from '../support/until.ts';
import { openIn, testFolder, withoutManifest } from './folders.ts';
import { auditRecord } from './records.ts';

const DAY = '2026-03-01';
const SEGMENT = `audit/${DAY}.ndjson`;
const at = (second: number) => `${DAY}T00:00:${String(second).padStart(2, '0')}.000Z`;

/** A closed store with six entries of one day, every second one carried by a transaction. */
async function written(test: TestContext): Promise<string> {
  const folder = await testFolder(test);
  const store = await openIn(folder);
  for (let second = 0; second < 6; second += 1) {
    const entry = auditRecord({ id: `aud_${second}`, at: at(second) });
    if (second % 2 === 0) store.audit.append(entry);
    else await store.transaction(async (tx) => tx.audit.append(entry));
  }
  await store.close();
  return folder;
}

async function found(folder: string): Promise<string[]> {
  const store = await openIn(folder);
  const { records } = await store.audit.find({ limit: 100 });
  await store.close();
  return records.map(({ id }) => id);
}

describe('audit segments', () => {
  it('get the entries of transactions back from the journal, each once', async (test) => {
    const folder = await written(test);
    for (let start = 0; start < 2; start += 1) {
      assert.deepEqual(await found(folder), ['aud_5', 'aud_4', 'aud_3', 'aud_2', 'aud_1', 'aud_0']);
    }
    await rm(join(folder, SEGMENT));
    await withoutManifest(folder);
    for (let start = 0; start < 2; start += 1) assert.deepEqual(await found(folder), ['aud_5', 'aud_3', 'aud_1']);
  });

  it('lose a torn tail, at every byte, and go on behind the last whole line', async (test) => {
    const folder = await written(test);
    const copy = await testFolder(test);
    const { size } = await stat(join(folder, SEGMENT));
    const last = (await readFile(join(folder, SEGMENT))).subarray(0, size - 1).lastIndexOf(10) + 1;
    for (let cut = last; cut < size; cut += 7) {
      await cp(folder, copy, { recursive: true });
      await truncate(join(copy, SEGMENT), cut);
      await withoutManifest(copy);
      for (let start = 0; start < 2; start += 1)
        assert.equal((await found(copy)).length, 6, `cut at ${cut}, start ${start}`);
    }
  });

  it('go on behind the last whole line when the tail is longer than what follows', async (test) => {
    const folder = await written(test);
    await appendFile(join(folder, SEGMENT), 'x'.repeat(2000));
    const store = await openIn(folder);
    store.audit.append(auditRecord({ id: 'aud_6', at: at(6) }));
    await store.close();
    assert.equal((await found(folder)).length, 7);
  });

  it('are refused when a line was changed, naming it', async (test) => {
    const folder = await written(test);
    const text = await readFile(join(folder, SEGMENT), 'utf8');
    await writeFile(join(folder, SEGMENT), text.replace('aud_2', 'aud_9'));
    await assert.rejects(openIn(folder), /2026-03-01\.ndjson, line \d: the checksum .*sed -i \dd/);
  });

  it('hold entries of a day whatever day it is, and find them in order', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    for (const second of [5, 1, 4, 4, 0, 3]) store.audit.append(auditRecord({ at: at(second) }));
    const times = (await store.audit.find({ limit: 10 })).records.map((entry) => entry.at);
    assert.deepEqual(times, [5, 4, 4, 3, 1, 0].map(at));
    store.audit.append(auditRecord({ at: at(2) }));
    assert.equal((await store.audit.find({ limit: 10 })).records[4]?.at, at(2));
    await store.close();
    assert.equal((await found(folder)).length, 7);
  });

  it('are durable within a second without a flush', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    store.audit.append(auditRecord({ at: at(1) }));
    await until(async () => (await readFile(join(folder, SEGMENT), 'utf8').catch(() => '')).split('\n').length === 2);
  });

  it('of pruned days stay away though the journal still has their entries', async (test) => {
    const folder = await written(test);
    const store = await openIn(folder);
    assert.equal(await store.audit.prune('2026-03-02T00:00:00.000Z'), 6);
    await store.close();
    assert.deepEqual(await found(folder), []);
  });
});
