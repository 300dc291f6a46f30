import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { closedAtEnd } from '../support/at-end.ts';
import { withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { FaultedDatabase } from './database.ts';

describe('a database in which everything can break', { skip: withoutPostgres }, () => {
  let database: FaultedDatabase;
  before(async () => {
    database = await FaultedDatabase.open(1);
    closedAtEnd(() => database.close());
    await database.administer('create table things (name text)');
  });
  after(() => database.close());

  async function session(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: database.addressOf(0) });
    client.on('error', () => {});
    await client.connect();
    closedAtEnd(() => client.end());
    return client;
  }
  const codeOf = (error: unknown) => (error as { code?: string }).code;
  const add = (client: pg.Client, name = 'x') => client.query('insert into things values ($1)', [name]);

  for (const how of ['fast', 'immediate'] as const) {
    it(`restarts, ${how}: sessions end, and what was committed is there`, async () => {
      const client = await session();
      await add(client, how);
      await database.restart(how);
      await assert.rejects(client.query('select 1'));
      const again = await session();
      assert.equal((await again.query('select from things where name = $1', [how])).rowCount, 1);
    });
  }

  it('ends sessions', async () => {
    const client = await session();
    await client.query('select 1');
    assert.ok((await database.endSessions()) >= 1);
    await assert.rejects(client.query('select 1'), /terminat|connection/i);
  });

  it('ends sessions in the midst of a transaction', async () => {
    const [idle, busy] = [await session(), await session()];
    await busy.query('begin');
    assert.equal(await database.endTransactions(1, 10_000), 1);
    await assert.rejects(busy.query('commit'), /terminat|connection/i);
    await idle.query('select 1');
  });

  it('takes no writes, and takes them again', async () => {
    const client = await session();
    await database.setReadOnly(true);
    await until(
      async () =>
        (await client.query('show default_transaction_read_only')).rows[0].default_transaction_read_only === 'on',
    );
    await assert.rejects(add(client), { code: '25006' });
    await database.setReadOnly(false);
    await until(() =>
      add(client).then(
        () => true,
        () => false,
      ),
    );
  });

  it('has no connection left for others', async () => {
    const { count, free } = await database.takeConnections();
    assert.ok(count > 10);
    await assert.rejects(session(), { code: '53300' });
    await free();
    await until(() =>
      session().then(
        () => true,
        (error) => codeOf(error) !== '53300',
      ),
    );
  });

  it('holds a lock that others wait for', async () => {
    const unlock = await database.lock('things');
    const client = await session();
    await client.query(`set lock_timeout = '50ms'`);
    await assert.rejects(add(client), { code: '55P03' });
    await unlock();
    await add(client);
  });

  it('has no room on its disk', async (t) => {
    const { disk } = database;
    if (!disk) return t.skip('needs mount and unshare');
    const client = await session();
    disk.fill();
    const large = 'x'.repeat(5_000_000);
    const written = async () => {
      for (let at = 0; at < 20; at += 1)
        await client.query(
          `insert into things select md5(random()::text) || repeat(md5(random()::text), 200) from generate_series(1, 1000)`,
        );
    };
    await assert.rejects(written(), (error) => codeOf(error) === '53100' || /terminat|connection/i.test(String(error)));
    disk.free();
    await until(async () => {
      const again = await session().catch(() => undefined);
      return (
        again !== undefined &&
        add(again, large).then(
          () => true,
          () => false,
        )
      );
    });
  });

  it('fails over to a standby, with all that was acknowledged', async () => {
    await add(await session(), 'before the failover');
    await database.failOver();
    const client = await session();
    assert.equal((await client.query(`select from things where name = 'before the failover'`)).rowCount, 1);
    await add(client);
    await database.failOver();
    await add(await session());
    assert.equal(database.failovers, 2);
  });
});
