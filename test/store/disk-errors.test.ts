import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailable, UniqueTaken } from '../../store/errors.ts';
import { type FileSystem, nodeFileSystem } from '../../store/lowdb/files/file-system.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';
import { FailingFiles } from './failing-files.ts';
import { openIn, testFolder } from './folders.ts';
import { agentRecord, auditRecord } from './records.ts';

describe('a failing disk', () => {
  it('has what a failed batch left cut off, and that on disk, before anything is written behind it', async (test) => {
    const folder = await testFolder(test);
    const files = new FailingFiles();
    const store = await openIn(folder, { files, probeMs: 60_000 });
    await writing(store).agents.insert(agentRecord('kept'));
    files.operations.length = 0;
    files.failure = 'short write';
    await assert.rejects(writing(store).agents.insert(agentRecord('lost')), StoreUnavailable);
    files.failure = undefined;
    await writing(store).agents.insert(agentRecord('next'));
    const cut = files.operations.indexOf('truncate');
    assert.deepEqual(files.operations.slice(cut, cut + 4), ['truncate', 'sync', 'write', 'sync']);
  });

  for (const failure of ['write', 'short write', 'sync', 'sync and truncate'] as const) {
    it(`takes every change of the batch and behind it back (${failure})`, async (test) => {
      const folder = await testFolder(test);
      const files = new FailingFiles();
      const store = await openIn(folder, { files, probeMs: 60_000 });
      const kept = await writing(store).agents.insert(agentRecord('kept', { id: 'agt_kept', skillIds: ['skl_1'] }));
      const gone = await writing(store).agents.insert(agentRecord('gone'));
      files.failure = failure;
      const results = await Promise.allSettled([
        writing(store).agents.update(kept.id, { name: 'renamed', skillIds: ['skl_2'], instructions: 'x'.repeat(5000) }),
        writing(store).agents.insert(agentRecord('kept', { id: 'agt_new' })),
        writing(store).agents.delete(gone.id),
        ...Array.from({ length: 30 }, (_, at) => writing(store).agents.update(kept.id, { description: `${at}` })),
      ]);
      for (const result of results)
        assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable);
      assert.equal(store.status().writable, false);
      assert.match(store.status().lastError ?? '', /injected/);
      assert.deepEqual(await store.agents.get(kept.id), kept);
      assert.deepEqual(await store.agents.get(gone.id), gone);
      assert.equal(await store.agents.count({ where: { skillIds: 'skl_1' } }), 1);
      assert.equal(await store.agents.count({ where: { skillIds: 'skl_2' } }), 0);
      assert.equal(await store.agents.count({}), 2);
      files.failure = undefined;
      await assert.rejects(writing(store).agents.insert(agentRecord('gone')), UniqueTaken);
      await writing(store).agents.insert(agentRecord('renamed'));
      await until(() => store.status().lastError === undefined); // the manifest is written a turn later
      await store.close();
      const again = await openIn(folder);
      assert.deepEqual((await again.agents.find({ limit: 10 })).records.map(({ name }) => name).sort(), [
        'gone',
        'kept',
        'renamed',
      ]);
      await again.close();
    });
  }

  it('refuses a transaction in flight that saw changes taken back', async (test) => {
    const files = new FailingFiles();
    const store = await openIn(await testFolder(test), { files, probeMs: 60_000 });
    const agent = await writing(store).agents.insert(agentRecord('a'));
    files.failure = 'sync';
    const failing = writing(store).agents.update(agent.id, { name: 'b' });
    const settled = failing.catch((error: unknown) => error);
    let seen: string | undefined;
    const inFlight = store.transaction(async (tx) => {
      seen = (await tx.agents.get(agent.id))?.name;
      assert.ok((await settled) instanceof StoreUnavailable);
      files.failure = undefined;
      await tx.skills.insert({ name: `made for ${seen}` });
    });
    await assert.rejects(inFlight, StoreUnavailable);
    assert.equal(seen, 'b');
    assert.equal(await store.skills.count({}), 0);
  });

  it('fails a transaction that only read, if the changes that it saw could not be kept', async (test) => {
    const files = new FailingFiles();
    const store = await openIn(await testFolder(test), { files, probeMs: 60_000 });
    files.failure = 'sync';
    const failing = writing(store).agents.insert(agentRecord('a', { id: 'agt_a' }));
    const looking = writing(store).agents.get('agt_a');
    await Promise.all([assert.rejects(failing, StoreUnavailable), assert.rejects(looking, StoreUnavailable)]);
    files.failure = undefined;
    const { syncs } = files;
    assert.equal(await writing(store).agents.get('agt_a'), undefined);
    assert.equal(files.syncs, syncs);
  });

  it('keeps journals and tries again when a snapshot fails', async (test) => {
    for (const failure of ['write', 'sync', 'rename'] as const) {
      const folder = await testFolder(test);
      const files = new FailingFiles();
      files.path = /db\.json/;
      const store = await openIn(folder, { files, compactBytes: 1000, compactRetryMs: 20 });
      files.failure = failure;
      for (let at = 0; at < 30; at += 1) await writing(store).agents.insert(agentRecord(`a${at}`));
      await until(() => store.status().lastError !== undefined);
      assert.match(store.status().lastError ?? '', /could not be merged into a snapshot: injected/);
      assert.equal(store.status().writable, true);
      files.failure = undefined;
      await until(() => store.status().lastError === undefined);
      const journals = (await readdir(folder)).filter((name) => name.startsWith('journal-'));
      assert.equal(journals.length, 1);
      await store.close();
      const again = await openIn(folder);
      assert.equal(await again.agents.count({}), 30);
      await again.close();
    }
  });

  it('goes on in the old journal when a new one cannot be begun', async (test) => {
    const folder = await testFolder(test);
    const files = new FailingFiles();
    const store = await openIn(folder, { files, compactBytes: 1000, compactRetryMs: 20 });
    files.path = /journal-00000002/;
    files.failure = 'sync';
    for (let at = 0; at < 30; at += 1) await writing(store).agents.insert(agentRecord(`a${at}`));
    assert.match(store.status().lastError ?? '', /merged into a snapshot: injected/);
    const crashed = await openedCopy(test, folder);
    assert.equal(await crashed.agents.count({}), 30);
    await crashed.close();
    files.failure = undefined;
    await until(() => store.status().lastError === undefined);
    await store.close();
    const again = await openIn(folder);
    assert.equal(await again.agents.count({}), 30);
  });

  it('leaves changes that are not durable out of a snapshot', async (test) => {
    const folder = await testFolder(test);
    const files = new FailingFiles();
    const store = await openIn(folder, { files, compactBytes: 500, probeMs: 60_000 });
    const kept = await writing(store).agents.insert(agentRecord('kept'));
    const deleted = await writing(store).skills.insert({ name: 'deleted' });
    let late = Promise.resolve<unknown>(undefined);
    files.beforeSyncFolder = async () => {
      files.beforeSyncFolder = undefined;
      // In memory and in the queue when the next journal has begun; then the disk fails.
      late = store.transaction(async (tx) => {
        await tx.agents.insert(agentRecord('late'));
        await tx.agents.update(kept.id, { name: 'renamed late' });
        await tx.skills.delete(deleted.id);
      });
      late.catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 20));
      files.path = /journal-/;
      files.failure = 'write';
    };
    const last = await writing(store).agents.insert(agentRecord('last', { instructions: 'x'.repeat(500) }));
    await until(() => files.beforeSyncFolder === undefined);
    await assert.rejects(late, StoreUnavailable);
    await until(() => !existsSync(join(folder, 'journal-00000001.ndjson')));
    const crashed = await openedCopy(test, folder);
    const names = (await crashed.agents.find({ limit: 10 })).records.map(({ name }) => name);
    assert.deepEqual(names.sort(), [kept.name, last.name]);
    assert.deepEqual(await crashed.skills.get(deleted.id), deleted);
    await crashed.close();
    files.failure = undefined;
  });

  it('keeps audit entries of reads until the disk takes them, and says how many it could not', async (test) => {
    const folder = await testFolder(test);
    const files = new FailingFiles();
    const store = await openIn(folder, { files, auditBufferLimit: 50 });
    files.path = /audit/;
    files.failure = 'short write';
    for (let at = 0; at < 60; at += 1) store.audit.append(auditRecord({ tool: `t${at}` }));
    await assert.rejects(store.audit.flush(), StoreUnavailable);
    assert.match(store.status().lastError ?? '', /10 audit entries of reads were lost/);
    assert.equal((await store.audit.find({ limit: 100 })).records.length, 50);
    await store.transaction(async (tx) => tx.audit.append(auditRecord({ tool: 'write' })));
    files.failure = undefined;
    await store.audit.flush();
    await store.close();
    const again = await openIn(folder);
    assert.equal((await again.audit.find({ limit: 100 })).records.length, 51);
  });

  it('that is slow has all that was begun before the end', async (test) => {
    const folder = await testFolder(test);
    const open: FileSystem['open'] = async (path) => {
      const file = await nodeFileSystem.open(path);
      return { ...file, sync: () => delay(20).then(file.sync) };
    };
    const store = await openIn(folder, { files: { ...nodeFileSystem, open } });
    const written = Promise.all(['a', 'b', 'c'].map((name) => writing(store).agents.insert(agentRecord(name))));
    await Promise.all([written, store.close()]);
    const again = await openIn(folder);
    assert.equal(await again.agents.count({}), 3);
  });
});

/** The files that a crash at this moment would leave. At the next one, where the store removes a file while it is copied. */
async function openedCopy(test: Parameters<typeof testFolder>[0], folder: string) {
  let copy = '';
  await until(async () => {
    copy = await testFolder(test);
    return isCopied(folder, copy);
  });
  return openIn(copy);
}

async function isCopied(folder: string, copy: string): Promise<boolean> {
  try {
    await cp(folder, copy, { recursive: true, filter: (path) => !path.endsWith('lock.json') });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
