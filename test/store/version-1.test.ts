import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import pg from 'pg';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { writing } from '../support/writing.ts';
import { openIn, testFolder } from './folders.ts';
import { databaseDump, partsOf, storedParts, unpackFolder } from './version-1.ts';

/** Later versions may know more members, never fewer, and change none. */
function assertKept(found: unknown, kept: unknown, place: string): void {
  if (typeof kept !== 'object' || kept === null) {
    assert.deepEqual(found, kept, place);
    return;
  }
  if (Array.isArray(kept)) assert.equal((found as unknown[])?.length, kept.length, place);
  for (const [name, value] of Object.entries(kept))
    assertKept((found as Record<string, unknown>)?.[name], value, `${place}.${name}`);
}

/** The store holds what it held, takes changes, and holds them when it is opened again. */
async function assertGoesOn(kind: 'folder' | 'database', open: () => Promise<Store>): Promise<void> {
  const store = await open();
  assertKept(await partsOf(store), storedParts(kind), kind);
  const [first = assert.fail()] = (await store.documents.find({ limit: 1 })).records;
  const document = await writing(store).documents.update(first.id, { title: 'Changed' });
  assert.equal(document.revision, first.revision + 1);
  await store.close();
  const again = await open();
  assert.deepEqual(await again.documents.get(first.id), document);
  await again.close();
}

describe('stores that version 1 left', () => {
  it('are opened in a data folder', async (test) => {
    const folder = await testFolder(test);
    unpackFolder(folder);
    await assertGoesOn('folder', () => openIn(folder));
  });

  it('are opened in a database', { skip: withoutPostgres }, async () => {
    const { url } = await testDatabase('template0');
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(databaseDump());
    await client.end();
    await assertGoesOn('database', () => openPostgresStore({ url }));
  });
});
