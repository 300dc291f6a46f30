import assert from 'node:assert/strict';
import {
  appendFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { StoreDamaged } from '../../store/errors.ts';
import { copySnapshot } from '../../store/lowdb/backup.ts';
import { type Files, realFiles, type WritableFile } from '../../store/lowdb/files/files.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { rounds } from '../support/full.ts';
import { until } from '../support/until.ts';
import { FailingFiles } from './failing-files.ts';
import { testFolder } from './folders.ts';

const row = (id: string) => ({ type: 'visits', at: '2026-03-01T00:00:00.000Z', row: { id } });
const add = (store: Store, ...ids: string[]) => store.transaction(async (tx) => tx.rows.append(ids.map(row)));
const ids = async (store: Store) => (await store.rows.read(0, 1000)).map((found) => found.row.id);

const drop = async (store: Store, ...gone: string[]) => {
  const rows = await store.rows.read(0, 1000);
  await store.rows.drop(rows.filter(({ row }) => gone.includes(String(row.id))).map(({ position }) => position));
};
const rowFiles = (folder: string) => readdirSync(folder).filter((name) => name.startsWith('rows'));

/** The real files; `before` is called before each step that changes the disk. */
function watchedFiles(before: () => void): Files {
  const step = async <Result>(work: () => Promise<Result>) => {
    before();
    return work();
  };
  return {
    open: async (path): Promise<WritableFile> => {
      const file = await step(() => realFiles.open(path));
      return {
        write: (bytes, position) => step(() => file.write(bytes, position)),
        sync: () => step(() => file.sync()),
        truncate: (size) => step(() => file.truncate(size)),
        close: () => file.close(),
      };
    },
    rename: (from, to) => step(() => realFiles.rename(from, to)),
    remove: (path) => step(() => realFiles.remove(path)),
    syncFolder: (path) => step(() => realFiles.syncFolder(path)),
  };
}

describe('the file of imported rows', () => {
  it('keeps nothing of what the disk refused, and takes rows again afterwards', async (test) => {
    for (const path of [/rows\.ndjson/, /journal/]) {
      for (const failure of ['write', 'short write', 'sync'] as const) {
        const folder = await testFolder(test);
        const files = new FailingFiles();
        const store = await openLowdbStore({ folder, files });
        await add(store, 'a');
        Object.assign(files, { failure, path });
        await assert.rejects(add(store, 'lost', 'lost too'), /could not be written/);
        Object.assign(files, { failure: undefined });
        assert.deepEqual(await ids(store), ['a']);
        await add(store, 'b');
        assert.deepEqual(await ids(store), ['a', 'b'], `${path} ${failure}`);
        await store.close();
        const again = await openLowdbStore({ folder });
        assert.deepEqual(await ids(again), ['a', 'b']);
        await again.close();
      }
    }
  });

  it('does not count what a crash left behind the committed end', async (test) => {
    const folder = await testFolder(test);
    const store = await openLowdbStore({ folder });
    await add(store, 'a');
    await store.close();
    appendFileSync(join(folder, 'rows.ndjson'), 'deadbeef visits torn and long enough to outlast the next row by far');
    const again = await openLowdbStore({ folder });
    await add(again, 'b');
    assert.deepEqual(await ids(again), ['a', 'b']);
    await again.close();
  });

  it('refuses to start when committed rows are missing, and to read those that changed', async (test) => {
    const folder = await testFolder(test);
    const store = await openLowdbStore({ folder });
    await add(store, 'a', 'b');
    await store.close();
    const path = join(folder, 'rows.ndjson');
    const bytes = readFileSync(path);
    truncateSync(path, statSync(path).size - 1);
    await assert.rejects(openLowdbStore({ folder }), StoreDamaged);
    writeFileSync(path, bytes.toString().replace('"b"', '"c"'));
    const damaged = await openLowdbStore({ folder });
    await assert.rejects(damaged.rows.read(0, 10), /checksum/);
    await damaged.close();
  });

  it('loses dropped rows whole or not at all, wherever a crash comes', async (test) => {
    const folder = await testFolder(test);
    const images: string[] = [];
    let isWatched = false;
    const files = watchedFiles(() => {
      if (!isWatched) return;
      images.push(`${folder}-${images.length}`);
      cpSync(folder, images.at(-1) ?? '', { recursive: true });
    });
    test.after(() => {
      for (const image of images) rmSync(image, { recursive: true });
    });
    const store = await openLowdbStore({ folder, files });
    await add(store, 'a', 'b', 'c', 'd');
    for (const gone of ['b', 'd']) {
      isWatched = true;
      await drop(store, gone);
      isWatched = false;
      if (gone === 'b') await add(store, 'e');
    }
    await store.close();
    const seen = new Set<string>();
    for (const image of images) {
      rmSync(join(image, 'lock.json'), { force: true });
      const again = await openLowdbStore({ folder: image });
      seen.add((await ids(again)).join(''));
      assert.equal(rowFiles(image).length, 1);
      await add(again, 'f');
      await drop(again, 'a', 'f');
      assert.match((await ids(again)).join(''), /^b?c(d?e?)$/);
      await again.close();
    }
    assert.deepEqual([...seen], ['abcd', 'acd', 'acde', 'ace']);
    assert.ok(images.length > 12);
  });

  it('keeps all rows when the disk refuses to drop some, says so, and drops them later', async (test) => {
    for (const [path, failures] of [
      [/rows-\d/, ['write', 'short write', 'sync']],
      [/journal/, ['write', 'sync', 'sync and truncate']],
    ] as const) {
      for (const failure of failures) {
        const folder = await testFolder(test);
        const files = new FailingFiles();
        const store = await openLowdbStore({ folder, files, probeMs: 5 });
        await add(store, 'a', 'b', 'c');
        Object.assign(files, { failure, path });
        await assert.rejects(drop(store, 'b'), /could not be dropped/);
        assert.match(store.status().lastError ?? '', /dropped|written/);
        assert.deepEqual(await ids(store), ['a', 'b', 'c']);
        if (path.test('journal')) {
          await assert.rejects(drop(store, 'a', 'b'), /could not be dropped/);
          // The journal may hold the first attempt.
          const image = `${folder}-image`;
          test.after(() => rmSync(image, { recursive: true, force: true }));
          cpSync(folder, image, { recursive: true });
          rmSync(join(image, 'lock.json'));
          const crashed = await openLowdbStore({ folder: image });
          assert.match((await ids(crashed)).join(''), /^ab?c$/);
          await crashed.close();
          rmSync(image, { recursive: true });
        }
        Object.assign(files, { failure: undefined });
        await until(() => store.status().writable);
        await add(store, 'd');
        await drop(store, 'b');
        assert.equal(store.status().lastError, undefined);
        assert.deepEqual(await ids(store), ['a', 'c', 'd'], `${path} ${failure}`);
        await store.close();
        const again = await openLowdbStore({ folder });
        assert.deepEqual(await ids(again), ['a', 'c', 'd']);
        assert.equal(rowFiles(folder).length, 1);
        await again.close();
      }
    }
  });

  it('is read whole while rows are dropped', async (test) => {
    const folder = await testFolder(test);
    const store = await openLowdbStore({ folder });
    await add(store, 'a', 'b');
    let isOver = false;
    let reads = 0;
    const reader = async () => {
      for (; !isOver; reads += 1) assert.equal((await ids(store))[0], 'a');
    };
    const readers = [1, 2, 3, 4].map(reader);
    for (let round = 0; round < rounds(20, 60); round += 1) {
      await add(store, `r${round}`);
      await drop(store, `r${round}`, 'b');
    }
    isOver = true;
    await Promise.all(readers);
    assert.ok(reads > rounds(20, 60));
    assert.deepEqual(await ids(store), ['a']);
    await store.close();
  });

  it('ends dropping when the store is closed, and refuses it afterwards', async (test) => {
    const folder = await testFolder(test);
    const store = await openLowdbStore({ folder });
    await add(store, 'a', 'b');
    const dropping = assert.rejects(store.rows.drop([0]), /closing/);
    await Promise.all([dropping, store.close()]);
    await assert.rejects(store.rows.drop([0]), /closed/);
    assert.deepEqual(rowFiles(folder), ['rows.ndjson']);
    const again = await openLowdbStore({ folder });
    assert.deepEqual(await ids(again), ['a', 'b']);
    await again.close();
  });

  it('refuses to drop while a row that stays was changed, and copies it for nobody', async (test) => {
    const folder = await testFolder(test);
    const store = await openLowdbStore({ folder });
    await add(store, 'a', 'b', 'c');
    const path = join(folder, 'rows.ndjson');
    writeFileSync(path, readFileSync(path).toString().replace('"c"', '"x"'));
    await assert.rejects(store.rows.drop([0]), /checksum/);
    assert.deepEqual(rowFiles(folder), ['rows.ndjson']);
    await store.close();
  });

  it('outlives a compaction and is in a backup made while it grows', async (test) => {
    const [folder, target] = [await testFolder(test), `${await testFolder(test)}/copy`];
    const store = await openLowdbStore({ folder, compactBytes: 1 });
    for (let at = 0; at < 20; at += 1) await add(store, `r${at}`);
    const [, ...more] = await Promise.all([
      copySnapshot(folder, target),
      ...Array.from({ length: 20 }, (_, at) => add(store, `s${at}`)),
    ]);
    assert.equal(more.length, 20);
    await store.close();
    const [again, copy] = [await openLowdbStore({ folder }), await openLowdbStore({ folder: target })];
    assert.equal((await ids(again)).length, 40);
    const copied = await ids(copy);
    assert.deepEqual(copied, (await ids(again)).slice(0, copied.length));
    assert.ok(copied.length >= 20);
    await Promise.all([again.close(), copy.close()]);
  });
});
