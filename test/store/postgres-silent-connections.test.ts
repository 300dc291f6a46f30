import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { StoreUnavailable } from '../../store/errors.ts';
import { Database } from '../../store/postgres/database.ts';
import { asStoreError } from '../../store/postgres/failures.ts';
import { FaultedDatabase } from '../faults/database.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { type DatabaseProxy, startDatabaseProxy } from '../support/cluster.ts';
import { FULL } from '../support/full.ts';
import { databaseAt, storeAt, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { writing } from '../support/writing.ts';

/** Longer than a test may take: what ends earlier did not wait for it. */
const statementTimeoutMs = 3_600_000;

async function proxied(): Promise<{
  readonly proxy: DatabaseProxy;
  readonly database: Database;
  readonly url: string;
}> {
  const { url } = await testDatabase();
  const proxy = await startDatabaseProxy(url);
  const database = new Database({ url: proxy.url, statementTimeoutMs });
  closedAtEnd(() => database.close());
  return { proxy, database, url };
}

describe('a database that cannot be reached for now', () => {
  for (const code of ['ECONNREFUSED', 'EAI_AGAIN', 'ENOTFOUND', 'EMFILE'])
    it(`is unavailable and no failure of the server: ${code}`, () => {
      const cause = Object.assign(new Error(`getaddrinfo ${code} database`), { code });
      assert.ok(asStoreError(cause, 'the database cannot be reached') instanceof StoreUnavailable);
    });
});

describe('a connection that goes silent while a statement is under way', { skip: withoutPostgres }, () => {
  it('is given up, and the statement runs on another one where it may', async () => {
    const { proxy, database } = await proxied();
    const text = 'select 1 as one';
    await database.query({ text });
    proxy.swallow('those there are');
    assert.deepEqual(await database.query({ text }), [{ one: 1 }]);
  });

  it('leaves no lock behind', async () => {
    const { proxy, database, url } = await proxied();
    const lock = 'lock table write_gate in exclusive mode';
    const lost = database.use(async (session) => {
      await session.query({ text: `begin; ${lock}` });
      proxy.swallow('those there are');
      await session.query({ text: 'select 1' });
    });
    await assert.rejects(lost, StoreUnavailable);
    await databaseAt(url).use((session) => session.query({ text: `begin; ${lock}; rollback` }));
  });

  it('is given up by what has no time limit too', async () => {
    const { proxy, database } = await proxied();
    const lost = database.patiently(async (session) => {
      proxy.swallow('those there are');
      await session.query({ text: 'select 1' });
    });
    await assert.rejects(lost, StoreUnavailable);
  });

  if (!FULL) return;

  it('is waited for while the server works', async () => {
    const { database } = await proxied();
    assert.deepEqual(await database.query({ text: 'select pg_sleep(6)::text as slept' }), [{ slept: '' }]);
  });
});

describe('a COMMIT whose answer got lost', { skip: withoutPostgres }, () => {
  it('is not taken for done because another transaction got its number after a failover', async () => {
    // The log is not written before it must be, so that a crash loses the number.
    const own = await FaultedDatabase.open(1, ['wal_writer_delay=10s']);
    closedAtEnd(() => own.close());
    const store = await storeAt(own.addressOf(0), { poolSize: 2 });
    await writing(store).skills.insert({ name: 'before', instructions: 'x' });
    const [proxy] = own.proxies;
    own.cutter.begin(() => {
      proxy?.treat({ kind: 'refuse' });
      return 'before';
    });
    const lost = writing(store).skills.insert({ name: 'lost', instructions: 'x' });
    const rejected = assert.rejects(lost, StoreUnavailable);
    while (own.cutter.cut.before === 0) await delay(5);
    own.cutter.end();
    await own.restart('immediate');
    const other = new pg.Client({ connectionString: own.url });
    closedAtEnd(() => other.end());
    await other.connect();
    for (let at = 0; at < 20; at += 1) await other.query('select pg_current_xact_id()');
    proxy?.pass();
    await rejected;
    assert.equal(await store.skills.count({ where: { name: 'lost' } }), 0);
  });
});
