import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OperatorError } from '../../store/errors.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { startPgbouncer, withoutPgbouncer } from '../support/pgbouncer.ts';
import { databaseAt, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { agentRecord } from './records.ts';

describe('a store behind PgBouncer', { skip: withoutPostgres ?? withoutPgbouncer }, () => {
  it('says where the pooler works by transaction, and leaves no lock behind', async () => {
    const { url } = await testDatabase();
    const pooled = await startPgbouncer(url, 'transaction');
    for (let start = 0; start < 3; start += 1)
      await assert.rejects(
        openPostgresStore({ url: pooled }),
        (error) => error instanceof OperatorError && /PgBouncer: pool_mode=session/.test(error.message),
      );
    const text = `select * from pg_locks where locktype = 'advisory' and database =
      (select oid from pg_database where datname = current_database())`;
    const locks = await databaseAt(url).query({ text });
    assert.deepEqual(locks, []);
  });

  it('hears of the writes of another process where the pooler works by session, and has its limits of time', async () => {
    const { url } = await testDatabase();
    const pooled = await startPgbouncer(url, 'session');
    const one = await openPostgresStore({ url: pooled });
    const other = await openPostgresStore({ url: pooled });
    try {
      const heard: string[] = [];
      other.onCommit(({ changes }) => heard.push(...changes.map(({ record }) => record.id)));
      const { id } = await one.transaction((tx) => tx.agents.insert(agentRecord('ada')));
      await until(() => heard.includes(id));
      const database = databaseAt(pooled);
      const [limits] = await database.query({
        text: `select current_setting('statement_timeout') as statement, current_setting('idle_in_transaction_session_timeout') as idle`,
      });
      assert.deepEqual({ ...limits }, { statement: '30s', idle: '30s' });
    } finally {
      await one.close();
      await other.close();
    }
  });
});
