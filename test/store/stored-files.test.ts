import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { newId } from '../../store/ids.ts';
import { copySnapshot } from '../../store/lowdb/backup.ts';
import { STORED_FILES } from '../../store/lowdb/files/folder.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { Database } from '../../store/postgres/database.ts';
import { PostgresFiles } from '../../store/postgres/stored-files.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { databaseOf, dataFolder, onPostgres, openStoreIn, removeFolder } from '../support/store.ts';
import { FailingFiles } from './failing-files.ts';

const folder = await dataFolder();
const store = await openStoreIn(folder);
closedAtEnd(async () => {
  await store.close();
  await removeFolder(folder);
});

async function ownFolder(): Promise<string> {
  const own = await dataFolder();
  closedAtEnd(() => removeFolder(own));
  return own;
}

async function bytesOf({ files }: Pick<Store, 'files'>, id: string): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  for await (const piece of files.read(id)) pieces.push(piece);
  return pieces.length === 0 ? undefined : Buffer.concat(pieces);
}

const recordOf = (id: string) => ({ id, documentId: newId('doc'), sha256: 'ab', sizeBytes: 3 });

describe('stored files', () => {
  it('are read as they were put, whatever their size, and replaced', async () => {
    for (const size of [0, 1, 1024 * 1024, 3_500_001]) {
      const [id, bytes] = [newId('fil'), Buffer.alloc(size, 'some bytes ')];
      await store.files.put(id, bytes);
      assert.ok((await bytesOf(store, id))?.equals(bytes), `${size}`);
      await store.files.put(id, Buffer.from('new'));
      assert.equal(String(await bytesOf(store, id)), 'new');
    }
    assert.equal(await bytesOf(store, newId('fil')), undefined);
  });

  it('go with their record, and stay where its removal is undone', async () => {
    const id = newId('fil');
    await store.files.put(id, Buffer.from('abc'));
    await store.transaction((tx) => tx.documentFiles.insert(recordOf(id)));
    const undone = store.transaction(async (tx) => {
      await tx.documentFiles.delete(id);
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
    assert.equal(String(await bytesOf(store, id)), 'abc');
    await store.transaction((tx) => tx.documentFiles.delete(id));
    assert.equal(await bytesOf(store, id), undefined);
  });

  it('are removed where they never had a record', async () => {
    const id = newId('fil');
    await store.files.put(id, Buffer.from('abc'));
    await store.files.discard([id]);
    assert.equal(await bytesOf(store, id), undefined);
  });
});

function testDeadProcesses(): void {
  it('without a record are swept once the process that put them has ended', async () => {
    const database = new Database({ url: await databaseOf(folder) });
    closedAtEnd(() => database.close());
    const dead = new PostgresFiles(database, 'of no process');
    const [left, withRecord, ofOne] = [newId('fil'), newId('fil'), newId('fil')];
    for (const id of [left, withRecord]) await dead.put(id, Buffer.from('abc'));
    await store.transaction((tx) => tx.documentFiles.insert(recordOf(withRecord)));
    await store.files.put(ofOne, Buffer.from('abc'));
    await dead.sweep();
    const there = await Promise.all([left, withRecord, ofOne].map((id) => bytesOf(store, id)));
    assert.deepEqual(there.map(String), ['undefined', 'abc', 'abc']);
  });
}

// The second part of a full run is on PostgreSQL.
if (onPostgres) testDeadProcesses();

describe('the folder of stored files', () => {
  it('loses at the next start what has no record, and a draft; what has one stays, also in a backup', async () => {
    const own = await ownFolder();
    const first = await openLowdbStore({ folder: own });
    const [kept, lost] = [newId('fil'), newId('fil')];
    for (const id of [kept, lost]) await first.files.put(id, Buffer.from(id));
    await first.transaction((tx) => tx.documentFiles.insert(recordOf(kept)));
    await first.files.put(`${newId('fil')}`, Buffer.from('x'));
    const copy = join(await ownFolder(), 'copy');
    await copySnapshot(own, copy);
    assert.deepEqual(readdirSync(join(copy, STORED_FILES)), [kept]);
    await first.close();
    const second = await openLowdbStore({ folder: own });
    assert.deepEqual(readdirSync(join(own, STORED_FILES)), [kept]);
    assert.equal(String(await bytesOf(second, kept)), kept);
    await second.close();
  });

  it('has nothing of a file that the disk refuses, and says why', async () => {
    const own = await ownFolder();
    const files = new FailingFiles();
    const opened = await openLowdbStore({ folder: own, files });
    closedAtEnd(() => opened.close());
    files.path = /\/files\/fil_/;
    for (const failure of ['write', 'short write', 'sync', 'rename'] as const) {
      const id = newId('fil');
      files.failure = failure;
      await assert.rejects(
        opened.files.put(id, Buffer.from('abc')),
        /There is no room for the change in .*files.*Make room on that disk/,
      );
      files.failure = undefined;
      assert.equal(await bytesOf(opened, id), undefined);
      assert.deepEqual(existsSync(join(own, STORED_FILES)) ? readdirSync(join(own, STORED_FILES)) : [], []);
    }
  });
});
