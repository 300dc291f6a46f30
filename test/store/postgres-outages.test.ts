import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { Database } from '../../store/postgres/database.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { callTool, mustCall, rest } from '../support/calls.ts';
import { type DatabaseProxy, type Member, startDatabaseProxy, startMember } from '../support/cluster.ts';
import { FULL } from '../support/full.ts';
import { pluck } from '../support/pluck.ts';
import {
  databaseAt,
  startPostgres,
  startReplica,
  type TestDatabase,
  testDatabase,
  withoutPostgres,
} from '../support/postgres.ts';
import { until } from '../support/until.ts';

/** Runs statements as the operator of the database does, whatever it is set to. */
async function administer(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: '-c default_transaction_read_only=off' });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

const END_CONNECTIONS =
  'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()';

describe('a server whose database is set read-only', { skip: withoutPostgres }, () => {
  let own: TestDatabase;
  let name = '';
  let member: Member;
  let agent = '';
  before(async () => {
    own = await testDatabase();
    name = new URL(own.url).pathname.slice(1);
    member = await startMember({ database: own.url });
    agent = (await mustCall(member, member.adminKey, 'create_agent', { name: 'ada', displayName: 'Ada' })).id;
  });
  after(async () => {
    await member.close();
    await own.drop();
  });

  const ready = async () => (await fetch(`${member.baseUrl}/readyz`)).status;
  const write = (displayName: string) =>
    rest(member, 'PATCH', `/api/v1/agents/${agent}`, { key: member.adminKey, body: { displayName } });
  const read = () => rest(member, 'GET', `/api/v1/agents/${agent}`, { key: member.adminKey });
  const health = () => rest(member, 'GET', '/api/v1/health', { key: member.adminKey });

  for (const how of ['the connections of before end', 'the connections of before stay as they were']) {
    it(`says so everywhere, refuses writes with the reason, reads on, and recovers by itself; ${how}`, async () => {
      await administer(own.url, `alter database ${name} set default_transaction_read_only = on`, END_CONNECTIONS);
      await until(async () => /read-only/.test((await health()).body.problems?.[0]));
      assert.equal(await ready(), 503);
      const refused = await write('Refused');
      assert.deepEqual([refused.status, refused.body.code], [503, 'unavailable']);
      assert.match(refused.body.error, /^The database is read-only at present/);
      assert.ok(Number(refused.headers.get('retry-after')) > 0);
      assert.ok('output' in (await callTool(member, member.adminKey, 'list_audit_entries')));
      for (let at = 0; at < 3; at += 1) assert.deepEqual([(await read()).status, (await read()).body.id], [200, agent]);
      const { status, body } = await health();
      assert.deepEqual([status, body.status, body.store.writable], [503, 'down', false]);
      assert.match(body.problems[0], /read-only/);
      const { body: system } = await rest(member, 'GET', '/api/v1/agents/health', { key: member.adminKey });
      const store = system.integrations.find((each: { name: string }) => each.name === 'store');
      assert.deepEqual([system.overallStatus, store.status], ['down', 'down']);
      assert.match(store.lastError, /read-only/);
      const end = how === 'the connections of before end' ? [END_CONNECTIONS] : [];
      await administer(own.url, `alter database ${name} reset default_transaction_read_only`, ...end);
      await until(async () => (await ready()) === 200);
      // More than there are connections: none of before is used again.
      const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => write(`Written ${at}`)));
      assert.deepEqual(
        answers.filter(({ status: each }) => each !== 200).map(({ body: each }) => each),
        [],
      );
      assert.equal((await health()).body.status, 'ok');
    });
  }

  it('finds out from a refused write where the connection by which it hears of changes is another', async () => {
    await administer(
      own.url,
      `alter database ${name} set default_transaction_read_only = on`,
      `${END_CONNECTIONS} and application_name <> 'agent-admin changes'`,
    );
    await until(async () => (await write('Refused')).status === 503);
    await until(async () => (await ready()) === 503);
    await administer(own.url, `alter database ${name} reset default_transaction_read_only`);
    await until(async () => (await ready()) === 200);
    assert.equal((await write('Written')).status, 200);
  });
});

describe('a server whose database fails over', { skip: withoutPostgres }, () => {
  if (!FULL) return;

  it('reads on from the hot standby, names it, and takes writes as soon as that is promoted', async () => {
    const primary = await startPostgres({ durable: true });
    closedAtEnd(() => primary.stop());
    const proxy = await startDatabaseProxy(primary.url);
    const member = await startMember({ database: proxy.url });
    const status = async (path: string) => (await rest(member, 'GET', path, { key: member.adminKey })).status;
    const ready = async () => (await fetch(`${member.baseUrl}/readyz`)).status;
    const { id } = await mustCall(member, member.adminKey, 'create_agent', { name: 'ada', displayName: 'Ada' });
    const replica = await startReplica(primary);
    closedAtEnd(() => replica.stop());
    proxy.lead(replica.url);
    await until(async () => (await ready()) === 503 && (await status(`/api/v1/agents/${id}`)) === 200);
    for (let at = 0; at < 5; at += 1) {
      const write = { displayName: `Refused ${at}` };
      const refused = await rest(member, 'PATCH', `/api/v1/agents/${id}`, { key: member.adminKey, body: write });
      assert.deepEqual([refused.status, refused.body.code], [503, 'unavailable']);
      assert.match(refused.body.error, /^The database is read-only at present/);
      for (const path of [`/api/v1/agents/${id}`, '/api/v1/agents']) assert.equal(await status(path), 200, path);
      assert.ok('output' in (await callTool(member, member.adminKey, 'list_audit_entries')));
    }
    await administer(replica.url, 'select pg_promote()');
    await until(async () => (await ready()) === 200);
    assert.ok('output' in (await callTool(member, member.adminKey, 'update_agent', { id, displayName: 'Written' })));
  });
});

describe('a server whose connections to the database swallow all bytes', { skip: withoutPostgres }, () => {
  let own: TestDatabase;
  let proxy: DatabaseProxy;
  let member: Member;
  let agent = '';
  before(async () => {
    own = await testDatabase();
    proxy = await startDatabaseProxy(own.url);
    member = await startMember({ database: proxy.url });
    agent = (await mustCall(member, member.adminKey, 'create_agent', { name: 'ada', displayName: 'Ada' })).id;
  });
  after(async () => {
    proxy.heal();
    await member.close();
    await proxy.close();
    await own.drop();
  });

  const read = () => rest(member, 'GET', `/api/v1/agents/${agent}`, { key: member.adminKey });

  it('answers reads and writes by other connections', async () => {
    proxy.swallow('those there are');
    const answers = await Promise.all([read(), read(), read()]);
    assert.deepEqual(pluck(answers, 'status'), [200, 200, 200]);
    const written = await callTool(member, member.adminKey, 'create_skill', { name: 's', displayName: 'S' });
    assert.ok('output' in written, JSON.stringify(written));
  });

  it('makes a write by another one too, where the connection was used a moment ago', async () => {
    await read();
    proxy.swallow('those there are');
    const name = { name: 'swallowed', displayName: 'S' };
    const written = await callTool(member, member.adminKey, 'create_skill', name);
    assert.ok('output' in written, JSON.stringify(written));
  });

  it('answers 503 with Retry-After where no other connection answers either, and as before when one does', async () => {
    await read();
    proxy.swallow('all');
    const { status, body, headers } = await read();
    assert.deepEqual([status, body.code, Number(headers.get('retry-after')) > 0], [503, 'unavailable', true]);
    proxy.heal();
    await until(async () => (await read()).status === 200);
  });
});

describe('the beginning of a transaction', { skip: withoutPostgres }, () => {
  const LOCK = 'lock table write_gate in row share mode';
  const backend = `select pg_backend_pid() as pid`;
  const begun = (database: Database) =>
    database.useBegun({ begin: 'begin', lock: LOCK }, async (session) => {
      const [row] = await session.query<{ pid: number }>({ text: backend });
      await session.query({ text: 'commit' });
      return row?.pid;
    });

  it('waits for the lock as long as others have it', async () => {
    const { url } = await testDatabase();
    const [holding, waiting] = [databaseAt(url), databaseAt(url)];
    const before = await begun(waiting);
    await holding.use(async (session) => {
      await session.query({ text: 'begin; lock table write_gate in exclusive mode' });
      const other = begun(waiting);
      // It was told once already that it has to wait.
      const text = `select 1 from pg_stat_activity where query like 'rollback; begin%' and wait_event_type = 'Lock'`;
      await until(async () => (await holding.query({ text })).length > 0);
      await session.query({ text: 'rollback' });
      assert.equal(await other, before, 'on the same connection');
    });
  });

  it('is on another connection where its own is silent', async () => {
    const { url } = await testDatabase();
    const proxy = await startDatabaseProxy(url);
    const database = databaseAt(proxy.url);
    const before = await begun(database);
    proxy.swallow('those there are');
    const [pid, other] = await Promise.all([begun(database), begun(database)]);
    assert.ok(pid !== undefined && pid !== before && other !== before);
  });

  if (!FULL) return;

  it('waits for a server that is only slow', async () => {
    const { url } = await testDatabase();
    const proxy = await startDatabaseProxy(url);
    const database = databaseAt(proxy.url);
    const before = await begun(database);
    const { connections } = proxy;
    proxy.stall();
    const slow = begun(database);
    // The first of these was not answered in time.
    await until(() => proxy.connections >= connections + 2);
    proxy.resume();
    assert.ok((await slow) !== undefined && before !== undefined);
  });
});
