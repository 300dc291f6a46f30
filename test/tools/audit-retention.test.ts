import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { startAuditRetention } from '../../tools/audit/retention.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { rest } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

function entry(daysAgo: number): AuditEntry {
  return {
    id: `aud_${daysAgo}_days_ago`,
    at: new Date(Date.now() - daysAgo * DAY_MS).toISOString(),
    requestId: 'r',
    door: 'rest',
    principal: { type: 'api-key', id: 'key_1', name: 'k' },
    tool: 'list_agents',
    arguments: {},
    outcome: 'ok',
    durationMs: 1,
  };
}

async function ids(store: Store): Promise<string[]> {
  await store.audit.flush();
  const { records } = await store.audit.find({ tool: 'list_agents', limit: 100 });
  return records.map(({ id }) => id);
}

async function storeWith(test: TestContext, ...daysAgo: number[]): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-admin-'));
  const store = await openLowdbStore({ folder });
  test.after(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  await prepareSettings(store);
  for (const days of daysAgo) store.audit.append(entry(days));
  await store.audit.flush();
  return store;
}

describe('audit entries', () => {
  it('older than the settings keep them are deleted at start, and again as time goes on', async (test) => {
    const store = await storeWith(test, 400, 367, 30, 0);
    const failures: unknown[] = [];
    const retention = startAuditRetention(store, (cause) => failures.push(cause), 50);
    await until(async () => (await ids(store)).length === 2);
    assert.deepEqual(await ids(store), ['aud_0_days_ago', 'aud_30_days_ago']);
    await store.transaction((tx) => tx.settings.update('settings', { retentionDays: { audit: 7 } }));
    await until(async () => (await ids(store)).length === 1);
    await retention.close();
    store.audit.append(entry(60));
    await delay(150);
    assert.deepEqual(await ids(store), ['aud_0_days_ago', 'aud_60_days_ago'], 'closed, it deletes nothing more');
    assert.deepEqual(failures, []);
  });

  it('are kept for ever where the settings say so', async (test) => {
    const store = await storeWith(test, 4000);
    await store.transaction((tx) => tx.settings.update('settings', { retentionDays: { audit: null } }));
    const failures: unknown[] = [];
    const retention = startAuditRetention(store, (cause) => failures.push(cause), 20);
    await delay(100);
    await retention.close();
    assert.deepEqual(await ids(store), ['aud_4000_days_ago']);
    assert.deepEqual(failures, []);
  });

  it('of a running server are pruned without a call', async () => {
    const server = await startTestServer({}, async (store) => {
      for (const days of [500, 1]) store.audit.append(entry(days));
      await store.audit.flush();
    });
    try {
      await until(async () => (await ids(server.store)).length === 1);
      const { body } = await rest(server, 'GET', '/api/v1/settings', { key: server.adminKey });
      assert.deepEqual(body.retentionDays, { audit: 365 });
    } finally {
      await server.close();
    }
  });
});
