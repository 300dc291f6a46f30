import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { StoreDamaged } from '../../store/errors.ts';
import { copySnapshot } from '../../store/lowdb/backup.ts';
import { sealLine } from '../../store/lowdb/journal/line.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { until } from '../support/until.ts';
import { testFolder } from './folders.ts';
import { agentRecord } from './records.ts';

const at = '2026-03-01T00:00:00.000Z';
const later = '2026-04-01T00:00:00.000Z';
const user = (uid: string, email = 'x@example.com') => ({ uid, email, status: 'PRO', createdAt: at });
const terms = { plan: 'p', currency: 'EUR', interval: 'month', intervalCount: 1, quantity: 1, status: 'active' };
const event = (id: string, uid: string, more: object = {}) => ({ id, uid, name: 'x', at, ...more });

/** What an earlier version logged: rows that replace others, and users who were removed. */
const log: [type: string, at: string, row: object][] = [
  ['users', at, user('u')],
  ['users', at, user('gone')],
  ['users', at, user('u', 'new@example.com')],
  ['subscriptions', at, { id: 's', uid: 'u', ...terms, amount: 100, startedAt: at }],
  ['subscriptions', later, { id: 's', uid: 'u', ...terms, amount: 200, startedAt: at }],
  ['events', at, event('e', 'u', { properties: { b: 1, a: 'ä' } })],
  ['events', at, event('f', 'gone')],
  ['visits', at, { id: 'v', visitorId: 'w', uid: 'gone', at, page: '/' }],
  ['visits', at, { id: 'w', visitorId: 'w', at, page: '/', channel: 'Search' }],
  ['purge', later, { uid: 'gone' }],
  ['websites', at, { id: 'w', uid: 'u', url: 'https://x.example', name: '', state: 'draft', createdAt: at }],
  ['invoices', at, { id: 'i', uid: 'u', total: 1, tax: 0, currency: 'EUR', status: 'paid', issuedAt: at }],
  ['events', later, event('f', 'u')],
];

/** A folder as an earlier version left it. */
async function formerFolder(test: TestContext): Promise<string> {
  const folder = await testFolder(test);
  const store = await openLowdbStore({ folder });
  await store.transaction((tx) => tx.agents.insert(agentRecord('a')));
  await store.close();
  const text = log.map(([type, time, row]) => sealLine(type, JSON.stringify([time, row]), 0).text).join('');
  writeFileSync(join(folder, 'rows.ndjson'), text);
  const journal = join(folder, readdirSync(folder).find((name) => name.startsWith('journal')) ?? '');
  const last = readFileSync(journal, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  const [crc = '', sequence = ''] = last.split(' ');
  const extent = { file: 1, end: Buffer.byteLength(text), head: 0, shift: 0 };
  const record = { id: 'rof_rows', ...extent, createdAt: at, updatedAt: at, revision: 1 };
  const json = JSON.stringify({ put: { rowFiles: [record] } });
  appendFileSync(journal, sealLine(String(Number(sequence) + 1), json, Number.parseInt(crc, 16)).text);
  return folder;
}

const all = (store: Store, sql: string) => store.rows.query<Record<string, unknown>>({ name: 'all', sql });

describe('rows of an earlier version', () => {
  it('are moved into the tables once, and their log goes afterwards', async (test) => {
    const folder = await formerFolder(test);
    const store = await openLowdbStore({ folder });
    await store.rows.wake();
    assert.deepEqual(await all(store, 'select uid, email from users'), [{ uid: 'u', email: 'new@example.com' }]);
    assert.deepEqual(await all(store, 'select id, uid from events order by id'), [
      { id: 'e', uid: 'u' },
      { id: 'f', uid: 'u' },
    ]);
    assert.deepEqual(await all(store, 'select id, channel from visits'), [{ id: 'w', channel: 'Search' }]);
    assert.deepEqual(await all(store, 'select amount from subscription_terms order by place'), [
      { amount: 100 },
      { amount: 200 },
    ]);
    for (const { table, equal } of await store.rows.rebuild()) assert.ok(equal, table);
    await until(() => !existsSync(join(folder, 'rows.ndjson')));
    await store.close();
    const again = await openLowdbStore({ folder });
    assert.deepEqual(await all(again, 'select count(*) as count from events'), [{ count: 2 }]);
    await again.close();
  });

  it('stay in their log where it is damaged, which is said', async (test) => {
    const folder = await formerFolder(test);
    const path = join(folder, 'rows.ndjson');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('new@', 'old@'));
    const store = await openLowdbStore({ folder });
    await assert.rejects(
      store.rows.ready(),
      (error: Error) => error instanceof StoreDamaged && /checksum/.test(error.message),
    );
    assert.equal(await store.agents.count({}), 1);
    await store.close();
    assert.ok(existsSync(path));
    writeFileSync(path, text);
    const again = await openLowdbStore({ folder });
    assert.deepEqual(await all(again, 'select count(*) as count from users'), [{ count: 1 }]);
    await again.close();
  });

  it('are in a backup before they were moved', async (test) => {
    const folder = await formerFolder(test);
    const target = join(await testFolder(test), 'copy');
    await copySnapshot(folder, target);
    const copy = await openLowdbStore({ folder: target });
    assert.deepEqual(await all(copy, 'select count(*) as count from events'), [{ count: 2 }]);
    await copy.close();
  });
});
