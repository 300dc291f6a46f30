import assert from 'node:assert/strict';
import type { RowType } from '../../resources/imported-rows.ts';
import { type CollectionName, collections } from '../../store/collections.ts';
import type { Store, Writer } from '../../store/port.ts';
import type { ImportedRow } from '../../store/rows/records.ts';
import { createSecretBox } from '../../tools/core/sealing/secrets.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { events, subscriptions, users, visits, websites } from '../bench/analytics-rows.ts';
import { auditRecord } from './records.ts';
import { sampleRecord } from './sample-record.ts';

export const SEALING_KEY = Buffer.alloc(32, 7).toString('base64');
const NAMES = Object.keys(collections) as CollectionName[];

/** Two records of each kind, where two may be. */
export async function fillRecords(store: Store, size: { documents: number; entries: number }): Promise<void> {
  await prepareSettings(store);
  for (const name of NAMES.filter((name) => name !== 'moves' && name !== 'settings' && name !== 'botConfigs')) {
    const { schema } = collections[name];
    const { id: _, ...record } = sampleRecord(schema, Object.keys(schema.shape), 1);
    await store.transaction((tx) => (tx[name] as unknown as Writer<object>).insert(record)); // the schema made it
  }
  const { records: files } = await store.documentFiles.find({ limit: 1 });
  for (const { id } of files) await store.files.put(id, Buffer.alloc(1_500_000, 'bytes of a file'));
  const sealed = createSecretBox([SEALING_KEY], '').seal('secret', 'place');
  await store.transaction(async (tx) => {
    for (let at = 0; at < size.documents; at += 1)
      await tx.documents.insert({ title: `Document ${at}`, content: `${'Wörter\u2028 '.repeat(200)}${at}`, tags: [] });
    const [{ id } = assert.fail()] = (await tx.integrations.find({ limit: 1 })).records;
    await tx.integrations.update(id, { headers: { Authorization: sealed } });
  });
  for (let at = 0; at < size.entries; at += 1)
    store.audit.append({ ...auditRecord(), id: `aud_${at}`, at: new Date(Date.now() - at * 60_000).toISOString() });
}

export async function fillRows(store: Store, size: number): Promise<void> {
  const all: readonly (readonly [RowType, string, Iterable<ImportedRow>])[] = [
    ['users', '2026-05-01T00:00:00.000Z', users(50)],
    ['subscriptions', '2026-05-02T00:00:00.000Z', subscriptions(50)],
    ['subscriptions', '2026-05-03T00:00:00.000Z', [...subscriptions(9)].map((row) => ({ ...row, amount: 3100 }))],
    ['websites', '2026-05-02T00:00:00.000Z', websites(30)],
    ['events', '2026-05-02T00:00:00.000Z', events(size / 2, 50)],
    ['visits', '2026-05-02T00:00:00.000Z', visits(size, 20)],
  ];
  for (const [type, at, rows] of all) {
    const staged = await store.rows.stage({ type, rows: [...rows], at });
    await store.transaction(async (tx) => tx.rows.commit(staged));
  }
}
