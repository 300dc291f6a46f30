import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFile, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ServerBackups } from '../../facade/backups/backups.ts';
import { ConfigError, readConfig } from '../../facade/config/config.ts';
import { checkBackups } from '../../facade/doctor/data-checks.ts';
import type { Backup } from '../../resources/backup.ts';
import { copySnapshot, pruneBackups } from '../../store/lowdb/backup.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { catalog } from '../../tools/catalog.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { agentRecord, auditRecord } from '../store/records.ts';
import { callsOf, callTool, rest } from '../support/calls.ts';
import { runFile, startProcess, withFolder } from '../support/child.ts';
import { deferred } from '../support/deferred.ts';
import { pluck } from '../support/pluck.ts';
import { openTestRegistry, principalOf, testFacts, toolAnswer } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';
import { dataFolder, removeFolder } from '../support/store.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

const HOUR = 3_600_000;
const KEY = `ak_backups0_${'k'.repeat(40)}`;

/** Backups of a small data folder at times that the test sets, copied within this process. */
async function withBackups(
  work: (parts: {
    readonly data: string;
    readonly folder: string;
    readonly clock: { now: Date };
    /** A server that starts now. Its copies wait for what is given. */
    begin(options?: { readonly keep?: number; readonly copy?: typeof copySnapshot }): ServerBackups;
    readonly failures: unknown[];
  }) => Promise<void>,
): Promise<void> {
  await withFolder(async (root) => {
    const [data, folder] = [join(root, 'data'), join(root, 'kept/backups')];
    const store = await openLowdbStore({ folder: data });
    await writing(store).agents.insert(agentRecord('a'));
    store.audit.append(auditRecord());
    await store.close();
    const clock = { now: new Date(2026, 2, 10, 12) };
    const failures: unknown[] = [];
    const begin = ({ keep = 7, copy = copySnapshot } = {}) =>
      new ServerBackups({
        folder,
        schedule: 'daily',
        keep,
        dataDir: data,
        now: () => clock.now,
        onFailure: (cause) => failures.push(cause),
        copy: (from, to) => copy(from, to),
      });
    await work({ data, folder, clock, begin, failures });
  });
}

const namesOf = async (backups: ServerBackups) => (await backups.list()).map(({ name }) => name);
const later = (date: Date, hours: number) => new Date(date.getTime() + hours * HOUR);

describe('backups by schedule', () => {
  it('are made at the first start, at their times, and at a start after a time that was missed', async () => {
    await withBackups(async ({ clock, begin, folder }) => {
      const first = begin();
      await first.look();
      await first.look();
      const [made, ...others] = await first.list();
      assert.deepEqual(
        [made?.at, made?.records, made?.auditEntries, others.length],
        [clock.now.toISOString(), 1, 1, 0],
      );
      assert.ok(made?.verified && made.bytes > 0);
      assert.equal((await stat(join(folder, made.name))).mode & 0o077, 0);
      clock.now = new Date(2026, 2, 11, 2, 59);
      await first.look();
      assert.equal((await first.list()).length, 1);
      clock.now = new Date(2026, 2, 11, 3, 0, 10);
      await first.look();
      assert.equal((await first.list()).length, 2);
      clock.now = new Date(2026, 2, 13, 9);
      const second = begin();
      await second.look();
      await second.look();
      assert.equal((await second.list()).length, 3);
      assert.equal(second.state().last?.at, clock.now.toISOString());
      clock.now = new Date(2025, 2, 13, 9);
      for (const each of [second, begin()]) {
        await each.look();
        assert.equal((await each.list()).length, 4, 'the clock was ahead');
      }
      await removeFolder(folder);
      await second.look();
      assert.equal((await second.list()).length, 1, 'somebody removed all of them');
    });
  });

  it('are removed when they are older than the newest ones, after a new one was verified and never before', async () => {
    await withBackups(async ({ clock, begin, folder, data, failures }) => {
      const refuse = async () => {
        throw new Error('ENOSPC: no space left on device\n    at copy');
      };
      let full = false;
      const backups = begin({ keep: 2, copy: (...args) => (full ? refuse() : copySnapshot(...args)) });
      for (let day = 0; day < 3; day += 1) {
        clock.now = later(clock.now, 24);
        await backups.look();
      }
      const kept = await namesOf(backups);
      assert.equal(kept.length, 2);
      full = true;
      clock.now = later(clock.now, 24);
      await backups.look();
      assert.deepEqual(await namesOf(backups), kept);
      assert.deepEqual((await readdir(folder)).length, 2, 'nothing is left of it');
      assert.equal(backups.state().status, 'failed');
      assert.match(backups.state().problem ?? '', /ENOSPC.*Make room/);
      assert.equal(failures.length, 1);
      full = false;
      await backups.look();
      assert.deepEqual(await namesOf(backups), kept, 'not again at once');
      clock.now = later(clock.now, 0.3);
      await backups.look();
      assert.deepEqual([(await namesOf(backups)).slice(1), backups.state().status], [kept.slice(0, 1), 'ok']);
      await appendFile(join(folder, kept[0] ?? '', 'db.json'), ' ');
      const elsewhere = new ServerBackups({
        folder,
        schedule: 'never',
        keep: 1,
        dataDir: join(data, '../other'),
        now: () => later(clock.now, 1),
        onFailure: (cause) => failures.push(cause),
        copy: (_, target) => copySnapshot(data, target),
      });
      await elsewhere.make();
      const all = await backups.list();
      assert.deepEqual(pluck(all, 'verified'), [true, true, false]);
    });
  });

  it('count as kept only once they are verified, and one that a server runs on stays', async () => {
    await withBackups(async ({ clock, begin, folder, data }) => {
      const backups = begin({ keep: 9 });
      const made: string[] = [];
      for (let day = 0; day < 4; day += 1) {
        clock.now = later(clock.now, 24);
        made.push((await backups.make()).name);
      }
      const [oldest = '', second = '', third = '', newest = ''] = made;
      await appendFile(join(folder, third, 'db.json'), ' ');
      const server = await openLowdbStore({ folder: join(folder, oldest) });
      const left = async (keep: number) => {
        await pruneBackups({ folder, source: data }, keep);
        return (await namesOf(backups)).sort();
      };
      assert.deepEqual(await left(2), [oldest, second, third, newest], 'the damaged one is none of the two');
      assert.deepEqual(await left(1), [oldest, newest], 'a server runs on the oldest');
      await server.close();
      assert.deepEqual(await left(1), [newest]);
    });
  });

  it('end before the server has closed', async () => {
    await withBackups(async ({ begin }) => {
      const { promise: gate, resolve: go } = deferred();
      const order: string[] = [];
      const copy = async (source: string, target: string) => {
        await gate;
        await copySnapshot(source, target);
        order.push('copied');
      };
      const backups = begin({ copy });
      const making = backups.make();
      const closing = backups.close().then(() => order.push('closed'));
      await setImmediate(); // who does not wait has closed by now
      go();
      await Promise.all([making, closing]);
      assert.deepEqual(order, ['copied', 'closed']);
    });
  });

  it('are old when none was made for two periods, which is told', async () => {
    await withBackups(async ({ clock, begin }) => {
      const backups = begin();
      await backups.look();
      clock.now = new Date(2026, 2, 12, 2, 59);
      assert.equal(backups.state().status, 'ok');
      clock.now = new Date(2026, 2, 12, 3, 1);
      assert.equal(backups.state().status, 'old');
      const [entry] = await backups.health();
      assert.equal(entry?.status, 'degraded');
      assert.match(entry?.lastError ?? '', /No backup was made since 2026-03-10.*call create_backup/);
    });
  });

  it('are made one at a time, and what a killed one left is removed by the next', async () => {
    await withBackups(async ({ folder, begin, data }) => {
      const { promise: gate, resolve: go } = deferred();
      const backups = begin({ copy: (...args) => gate.then(() => copySnapshot(...args)) });
      const first = backups.make();
      assert.ok(backups.state().makingSince);
      await backups.look();
      go();
      const { name } = await first;
      assert.deepEqual(await namesOf(backups), [name]);
      const killed = begin({
        copy: async (_, target) => {
          await mkdir(target);
          await writeFile(join(target, 'db.json'), 'half');
          return new Promise<never>(() => {});
        },
      });
      void killed.make();
      await until(async () => (await readdir(folder)).length === 2);
      assert.deepEqual(await namesOf(backups), [name]);
      const next = begin();
      await next.make();
      assert.equal((await readdir(folder)).length, 2);
      assert.equal((await stat(data)).isDirectory(), true);
    });
  });

  it('are looked at by the doctor', async () => {
    await withBackups(async ({ data, folder, begin, clock }) => {
      const env = { DATA_DIR: data, BACKUP_FOLDER: folder };
      const said = async (given: Record<string, string>) =>
        (await checkBackups(readConfig(given))).map(({ level, text }) => `${level}: ${text}`).join('\n');
      assert.match(await said({ DATA_DIR: data }), /^warn: None are made: set BACKUP_FOLDER/);
      assert.match(
        await said({ ...env, DATABASE_URL: 'postgres://x@y/z' }),
        /^warn: BACKUP_FOLDER has no effect.*pg_dump/,
      );
      assert.match(await said(env), /^warn: .* holds none of .* yet/);
      clock.now = later(new Date(), -1);
      await begin().make();
      assert.match(await said(env), /^ok: The last one is 1 h old .*1 records\) and was checked; next: daily/);
      assert.match(await said(env), /^warn: .* is on the disk of the data/m);
      clock.now = later(new Date(), -72);
      await removeFolder(folder);
      await begin().make();
      assert.match(await said(env), /^warn: The last one is 72 h old .*older than it should be/);
    });
  });

  it('take their settings from the environment, in words or as cron', () => {
    assert.equal(readConfig({}).backups, undefined);
    const given = { BACKUP_FOLDER: '/backups' };
    assert.deepEqual(readConfig(given).backups, { folder: '/backups', schedule: 'daily', keep: 7 });
    const { backups } = readConfig({ ...given, BACKUP_SCHEDULE: '30 2 * * 1-5', BACKUP_KEEP: '30' });
    assert.deepEqual(backups, { folder: '/backups', schedule: '30 2 * * 1-5', keep: 30 });
    for (const wrong of [{ BACKUP_SCHEDULE: 'sometimes' }, { BACKUP_SCHEDULE: '0 0 30 2 *' }, { BACKUP_KEEP: '0' }])
      assert.throws(() => readConfig({ ...given, ...wrong }), ConfigError);
  });
});

describe('a server with BACKUP_FOLDER', () => {
  let folder = '';
  before(async () => {
    folder = await dataFolder();
  });
  after(() => removeFolder(folder));

  it('makes one by create_backup that holds all records and metrics, and shows its age', async () => {
    const server = await startTestServer({ BACKUP_FOLDER: folder, BACKUP_SCHEDULE: 'never' });
    const { must, refused } = callsOf(server);
    for (const name of ['ada', 'bob']) await must('create_agent', { name, displayName: name });
    const terms = { plan: 'pro', amount: 1000, currency: 'EUR', interval: 'month', status: 'active' };
    const startedAt = '2026-01-01';
    await must('import_records', { type: 'subscriptions', records: [{ id: 's1', uid: 'u1', ...terms, startedAt }] });
    assert.deepEqual((await must('check_health')).backup, { status: 'ok', at: null, ageSeconds: null });

    const both = await Promise.all([1, 2].map(() => callTool(server, server.adminKey, 'create_backup')));
    const [made] = both.flatMap((answer) => ('output' in answer ? [answer.output as Backup] : []));
    const [busy] = both.flatMap((answer) => ('error' in answer ? [answer.error] : []));
    assert.ok(made);
    assert.deepEqual([busy?.code, /^A backup is being made since/.test(busy?.error ?? '')], ['conflict', true]);
    assert.deepEqual([made.verified, (await must('list_backups')).data], [true, [made]]);
    server.clock.pass(2 * HOUR);
    const { backup } = await must('check_health');
    assert.deepEqual([backup.status, backup.at, Math.floor(backup.ageSeconds / 3600)], ['ok', made.at, 2]);
    const page = await must('list_backups', { limit: 1 });
    assert.equal(page.nextCursor, null);
    const reader = await must('create_api_key', { name: 'reader', scopes: ['read', 'write'] });
    for (const tool of ['list_backups', 'create_backup'])
      assert.equal((await refused(tool, {}, reader.secret)).code, 'forbidden');

    const restored = await startTestServer({}, { copyOf: join(folder, made.name) });
    const there = callsOf({ baseUrl: restored.baseUrl, adminKey: server.adminKey });
    const asks = [
      ['list_agents', {}],
      ['get_mrr', { from: '2026-01-01', to: '2026-04-01', timezone: 'UTC' }],
      ['list_versions', { entityType: 'agent', entityId: (await must('list_agents')).data[0].id }],
    ] as const;
    for (const [tool, input] of asks) {
      const { asOf: _, ...before } = await must(tool, input);
      const { asOf: __, ...after } = await there.must(tool, input);
      assert.deepEqual(after, before, tool);
    }
    assert.equal((await restored.store.audit.find({ tool: 'import_records', limit: 2 })).records.length, 1);
    await restored.close();
  });
});

describe('a backup that cannot be made', () => {
  it('leaves nothing on a full disk or after kill -9, and the next one is complete', async () => {
    await withFolder(async (root) => {
      const [data, folder] = [join(root, 'data'), join(root, 'backups')];
      const store = await openLowdbStore({ folder: data });
      for (let at = 0; at < 50; at += 1)
        await writing(store).agents.insert(agentRecord(`a${at}`, { instructions: 'x'.repeat(100_000) }));
      await store.close();
      const server = await startProcess(data, {
        BACKUP_FOLDER: folder,
        BACKUP_SCHEDULE: 'never',
        BOOTSTRAP_API_KEY: KEY,
        LOG_LEVEL: 'silent',
      });
      const { must, refused } = callsOf({ baseUrl: server.baseUrl, adminKey: KEY });
      const limit = (size: string) =>
        spawnSync('prlimit', ['--pid', String(server.process.pid), `--fsize=${size}`]).status === 0;
      if (limit('1000000:unlimited')) {
        const { code, error } = await refused('create_backup');
        assert.deepEqual([code, /(EFBIG|file too large).*Make room/.test(error)], ['unavailable', true], error);
        assert.deepEqual(await readdir(folder), []);
        assert.equal((await must('check_health')).backup.status, 'failed');
        limit('unlimited');
      }
      const unanswered = rest(server, 'POST', '/api/v1/mcp', {
        key: KEY,
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'create_backup', arguments: {} } },
      }).catch(() => {});
      const half = async () =>
        (await readdir(folder)).length === 1 && (await readdir(join(folder, ...(await readdir(folder))))).length > 0;
      await until(() => half().catch(() => false));
      await server.stop('SIGKILL');
      await unanswered;
      const again = await startProcess(data, { BACKUP_FOLDER: folder, LOG_LEVEL: 'silent' });
      const calls = callsOf({ baseUrl: again.baseUrl, adminKey: KEY });
      await until(async () => (await calls.must('list_backups')).data.length === 1);
      const [{ verified, records }] = (await calls.must('list_backups')).data;
      assert.ok(verified && records > 50);
      await again.stop('SIGTERM');
      assert.equal((await readdir(folder)).length, 1, 'only the complete one is there');
    });
  });

  it('is told by health, the tools and the doctor where the folder cannot be written', async () => {
    await withFolder(async (root) => {
      await writeFile(join(root, 'file'), '');
      const BACKUP_FOLDER = join(root, 'file/backups');
      const server = await startTestServer({ BACKUP_FOLDER });
      const { must, refused } = callsOf(server);
      await until(async () => (await must('check_health')).backup.status === 'failed');
      const { integrations } = await must('get_system_health');
      const entry = integrations.find(({ name }: { name: string }) => name === 'backups');
      assert.deepEqual([entry.status, /ENOTDIR.*let the server write/.test(entry.lastError)], ['degraded', true]);
      assert.equal((await refused('create_backup')).code, 'unavailable');
      assert.match((await refused('list_backups')).error, /cannot be read \(ENOTDIR/);
      const { code, stdout } = await runFile('facade/commands/doctor.ts', {
        env: { DATA_DIR: server.folder, BACKUP_FOLDER },
      });
      assert.equal(code, 1);
      assert.match(stdout, /^fail +backups +\S+ is not a folder; set BACKUP_FOLDER/m);
      await server.close();
    });
  });
});

it('a server without BACKUP_FOLDER says how to have backups, by its store, and its health is silent', async () => {
  const { store, call, close } = await openTestRegistry(undefined, undefined, undefined, 'lowdb');
  const admin = principalOf({ type: 'api-key', id: 'key_1', scopes: ['admin'] });
  const facts = testFacts(store, { now: () => new Date(), catalog, storeKind: 'postgres' });
  const onPostgres = createRegistry({ store, server: facts, onFailure: assert.fail });
  for (const tool of ['list_backups', 'create_backup']) {
    const answer = await call(admin, tool);
    assert.match('error' in answer ? answer.error.error : '', /start it with BACKUP_FOLDER/);
    const other = toolAnswer(
      await onPostgres.call({ principal: admin, tool, input: {}, door: 'mcp', requestId: 'test' }),
    );
    assert.match('error' in other ? other.error.error : '', /pg_dump/);
  }
  const health = await call(admin, 'check_health');
  assert.ok('output' in health && !('backup' in health.output));
  await close();
});
