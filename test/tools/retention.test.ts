import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { startPeriodicTask } from '../../store/periodic-task.ts';
import type { Store } from '../../store/port.ts';
import { startRetention } from '../../tools/retention.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { rest } from '../support/calls.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';
import { dataFolder, openStoreIn, removeFolder } from '../support/store.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

const AGENT_RUN = {
  kind: 'invoke' as const,
  model: 'offline/rehearsal',
  principal: { type: 'api-key', id: 'key_1', name: 'k' },
  steps: 0,
  usage: { inputTokens: 0, outputTokens: 0 },
  accessKeys: ['admin'],
};
const FLOW_RUN = {
  flowId: 'flw_1',
  runAs: { type: 'api-key' as const, id: 'key_1', name: 'k' },
  trigger: { kind: 'manual' as const, by: { type: 'api-key', id: 'key_1', name: 'k' } },
  steps: [],
  plan: [],
  causes: [],
};
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
  const folder = await dataFolder();
  const store = await openStoreIn(folder);
  test.after(async () => {
    await store.close();
    await removeFolder(folder);
  });
  await prepareSettings(store);
  for (const days of daysAgo) store.audit.append(entry(days));
  await store.audit.flush();
  return store;
}

/** Returns how often the settings were read since. */
function looksAtSettings({ settings }: Store): () => number {
  let looks = 0;
  const get = settings.get.bind(settings);
  Object.assign(settings, {
    get(id: string) {
      looks += 1;
      return get(id);
    },
  });
  return () => looks;
}

/** Waits until a timer of the same interval has fired three times: each that began before it has fired twice by then. */
async function passIntervals(everyMs: number): Promise<void> {
  let fired = 0;
  const later = startPeriodicTask(
    async () => {
      fired += 1;
    },
    (cause) => assert.fail(String(cause)),
    everyMs,
  );
  await until(() => fired > 3); // the first comes at once
  await later.close();
}

describe('audit entries', () => {
  it('older than the settings keep them are deleted at start, and again as time goes on', async (test) => {
    const store = await storeWith(test, 400, 367, 30, 0);
    const failures: unknown[] = [];
    const retention = startRetention(store, (cause) => failures.push(cause), 50);
    await until(async () => (await ids(store)).length === 2);
    assert.deepEqual(await ids(store), ['aud_0_days_ago', 'aud_30_days_ago']);
    await writing(store).settings.update('settings', { retentionDays: { audit: 7 } });
    await until(async () => (await ids(store)).length === 1);
    await retention.close();
    store.audit.append(entry(60));
    const looks = looksAtSettings(store);
    await passIntervals(50);
    assert.equal(looks(), 0, 'closed, it looks no more');
    assert.deepEqual(await ids(store), ['aud_0_days_ago', 'aud_60_days_ago'], 'and deletes nothing more');
    assert.deepEqual(failures, []);
  });

  it('are kept for ever where the settings say so', async (test) => {
    const store = await storeWith(test, 4000);
    await writing(store).settings.update('settings', { retentionDays: { audit: null } });
    const failures: unknown[] = [];
    const looks = looksAtSettings(store);
    const retention = startRetention(store, (cause) => failures.push(cause), 20);
    await until(() => looks() >= 3); // the first looks were finished then
    await retention.close();
    assert.deepEqual(await ids(store), ['aud_4000_days_ago']);
    assert.deepEqual(failures, []);
  });

  it('of a running server are pruned without a call', async () => {
    const server = await startTestServer(
      {},
      {
        fill: async (store) => {
          for (const days of [500, 1]) store.audit.append(entry(days));
          await store.audit.flush();
        },
      },
    );
    await until(async () => (await ids(server.store)).length === 1);
    const { body } = await rest(server, 'GET', '/api/v1/settings', { key: server.adminKey });
    assert.deepEqual(body.retentionDays, { audit: 365 });
  });
});

describe('runs and threads', () => {
  it('that ended or were last used longer ago than the settings say are deleted, with their messages', async () => {
    let now = new Date(Date.now() - 60 * DAY_MS);
    const { store, call } = await openTestRegistry(() => now);
    const admin = principalOf({ type: 'api-key', id: 'key_1', scopes: ['admin'] });
    const messages = [{ role: 'user', content: 'Hi' }];
    const threadOf = async (title: string) => {
      const answer = await call(admin, 'create_thread', { title, messages });
      return 'output' in answer ? String(answer.output.id) : assert.fail();
    };
    const [unused, used] = [await threadOf('unused'), await threadOf('used')];
    await store.transaction(async (tx) => {
      for (const status of ['succeeded', 'running'] as const) {
        await tx.agentRuns.insert({ ...AGENT_RUN, status });
        await tx.flowRuns.insert({ ...FLOW_RUN, status });
      }
    });
    now = new Date(Date.now() - 5 * DAY_MS);
    await call(admin, 'update_thread', { id: used, title: 'used again' });
    await call(admin, 'update_settings', { retentionDays: { audit: null, threads: 20 } });
    await startRetention(store, (cause) => assert.fail(String(cause))).close();
    assert.equal(await store.threads.get(unused), undefined);
    assert.equal((await store.threads.get(used))?.title, 'used again');
    assert.equal(await store.messages.count({}), 1);
    for (const runs of [store.agentRuns, store.flowRuns]) {
      assert.deepEqual([await runs.count({}), await runs.count({ where: { status: 'running' } })], [1, 1]);
    }
  });
});
