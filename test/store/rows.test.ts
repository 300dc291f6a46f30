import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { StoreDamaged } from '../../store/errors.ts';
import { copySnapshot } from '../../store/lowdb/backup.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { FailingFiles } from './failing-files.ts';
import { testFolder } from './folders.ts';

const row = (id: string) => ({ type: 'visits', at: '2026-03-01T00:00:00.000Z', row: { id } });
const add = (store: Store, ...ids: string[]) => store.transaction(async (tx) => tx.rows.append(ids.map(row)));
const ids = async (store: Store) => (await store.rows.read(0, 1000)).map((found) => found.row.id);

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
