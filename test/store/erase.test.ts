import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SegmentedAudit } from '../../store/lowdb/audit/log.ts';
import { Manifest } from '../../store/lowdb/files/manifest.ts';
import type { LowdbOptions } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';
import { FailingFiles } from './failing-files.ts';
import { openIn, testFolder } from './folders.ts';
import { auditRecord } from './records.ts';

const MARKER = 'what nobody may read any more';
const ID = 'skl_erased';

async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  const held = await Promise.all(paths.map(async (path) => (await readFile(path).catch(() => '')).includes(text)));
  return paths.filter((_, at) => held[at]);
}

const nowhere = (folder: string) => until(async () => (await filesWith(folder, MARKER)).length === 0);

/** A store with a skill that holds the marker, and with audit entries about it on two days. */
async function filled(folder: string, options: Partial<LowdbOptions> = {}): Promise<Store> {
  const store = await openIn(folder, options);
  const at = '2026-03-01T00:00:00.000Z';
  store.audit.append(auditRecord({ id: 'aud_a', at, arguments: { id: 'skl_other', text: 'stays' } }));
  store.audit.append(auditRecord({ id: 'aud_b', at, arguments: { id: ID, text: MARKER } }));
  store.audit.append(auditRecord({ id: 'aud_c', at, arguments: { id: 'skl_last', text: 'stays too' } }));
  await store.transaction(async (tx) => {
    await tx.skills.insert({ id: ID, name: 'x', instructions: MARKER });
    tx.audit.append(auditRecord({ id: 'aud_d', arguments: { instructions: MARKER }, recordIds: [ID] }));
  });
  await store.audit.flush();
  return store;
}

const erase = (store: Store) =>
  store.transaction(async (tx) => {
    await tx.skills.delete(ID);
    tx.erase([ID]);
    tx.audit.append(auditRecord({ id: 'aud_e', arguments: { id: ID, kept: 'of its own call' } }));
  });

async function argumentsOf(store: Store): Promise<unknown[]> {
  const { records } = await store.audit.find({ limit: 10 });
  return records.map((entry) => [entry.id, entry.arguments]).sort();
}

const left = [
  ['aud_a', { id: 'skl_other', text: 'stays' }],
  ['aud_b', {}],
  ['aud_c', { id: 'skl_last', text: 'stays too' }],
  ['aud_d', {}],
  ['aud_e', { id: ID, kept: 'of its own call' }],
];

describe('what a transaction erases', () => {
  it('leaves snapshot, journals and audit log at once, and other entries where they were', async (test) => {
    const folder = await testFolder(test);
    const store = await filled(folder);
    assert.ok((await filesWith(folder, MARKER)).length >= 3);
    await erase(store);
    await nowhere(folder);
    assert.deepEqual(await argumentsOf(store), left);
    store.audit.append(auditRecord({ id: 'aud_f', at: '2026-03-01T01:00:00.000Z', arguments: {} }));
    await store.close();
    const again = await openIn(folder);
    assert.deepEqual(await argumentsOf(again), [...left, ['aud_f', {}]]);
    assert.equal(await again.skills.get(ID), undefined);
  });

  it('goes also when it is written while a snapshot is', async (test) => {
    const folder = await testFolder(test);
    const store = await filled(folder, { compactBytes: 1 });
    await Promise.all([
      ...Array.from({ length: 20 }, (_, n) => writing(store).skills.insert({ name: `other ${n}` })),
      erase(store),
    ]);
    await nowhere(folder);
  });

  it('is erased also if it is audited and erased while earlier entries are being written', async (test) => {
    const folder = await testFolder(test);
    const files = new FailingFiles();
    const audit = new SegmentedAudit({ folder, files, manifest: new Manifest(folder, files), bufferLimit: 10 });
    await audit.load({ auditEntries: [], firstSequence: 1, prunedBefore: '', erasures: [] });
    audit.append(auditRecord({ arguments: { name: 'before' } }), '1.0');
    files.beforeSync = () => {
      files.beforeSync = undefined;
      audit.append(auditRecord({ arguments: { name: MARKER }, recordIds: [ID] }), '2.0');
      audit.erase({ sequence: 3, ids: [ID] });
    };
    await audit.settle();
    await audit.settle();
    await audit.close();
    assert.equal(files.beforeSync, undefined);
    assert.deepEqual(await filesWith(folder, MARKER), []);
    assert.equal((await filesWith(folder, ID)).length, 1);
  });

  it('goes from calls that were under way and end after it', async (test) => {
    const folder = await testFolder(test);
    const store = await filled(folder);
    await erase(store);
    const late = auditRecord({ id: 'aud_f', arguments: { id: ID, text: MARKER }, outcome: 'failed' });
    store.audit.append(late);
    await nowhere(folder);
    store.audit.append({ ...late, id: 'aud_g' });
    await store.close();
    assert.deepEqual(await filesWith(folder, MARKER), []);
    const again = await openIn(folder);
    assert.deepEqual(await argumentsOf(again), [...left, ['aud_f', {}], ['aud_g', {}]]);
  });

  for (const [name, path] of [
    ['snapshot', /db\.json$/],
    ['audit log', /audit.*ndjson$/],
  ] as const) {
    it(`goes after a restart when the ${name} could not be written`, async (test) => {
      const folder = await testFolder(test);
      const files = new FailingFiles();
      const store = await filled(folder, { files });
      files.path = path;
      files.failure = 'rename';
      await erase(store);
      await until(async () => store.status().lastError !== undefined);
      await store.close();
      assert.ok((await filesWith(folder, MARKER)).length > 0);
      await writeFile(join(folder, 'audit', '2026-03-01.ndjson.tmp'), MARKER);
      const again = await openIn(folder);
      await nowhere(folder);
      assert.deepEqual(await argumentsOf(again), left);
      await again.close();
    });

    it(`goes when the ${name} can be written again`, async (test) => {
      const folder = await testFolder(test);
      const files = new FailingFiles();
      const store = await filled(folder, { files, compactRetryMs: 50 });
      files.path = path;
      files.failure = 'rename';
      await erase(store);
      await until(async () => store.status().lastError !== undefined);
      files.failure = undefined;
      await nowhere(folder);
      await store.close();
    });
  }

  it('stays when the transaction fails', async (test) => {
    const folder = await testFolder(test);
    const store = await filled(folder);
    const failing = store.transaction(async (tx) => {
      tx.erase([ID]);
      throw new Error('half way');
    });
    await assert.rejects(failing, /half way/);
    const other = await writing(store).skills.insert({ name: 'other', instructions: 'A WITNESS' });
    await store.transaction(async (tx) => {
      await tx.skills.delete(other.id);
      tx.erase([other.id]);
    });
    await until(async () => (await filesWith(folder, 'A WITNESS')).length === 0);
    assert.equal((await store.skills.get(ID))?.instructions, MARKER);
    assert.deepEqual((await argumentsOf(store))[1], ['aud_b', { id: ID, text: MARKER }]);
  });
});
