import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Engine } from '../../store/duckdb/engine.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { testFolder } from './folders.ts';

describe('the engine of imported rows', () => {
  it('reaches no file outside, no extension and no setting', async (test) => {
    const folder = await testFolder(test);
    const secret = join(await testFolder(test), 'secret.csv');
    writeFileSync(secret, 'a,b\n1,2\n');
    const { tables, close } = await opened(folder);
    for (const sql of [
      `select * from read_csv('${secret}')`,
      `copy (select 1) to '${secret}'`,
      `attach '${secret}.duckdb' as other`,
      'install httpfs',
      "select * from read_csv('https://127.0.0.1:9/x.csv')",
      'set enable_external_access = true',
      "set memory_limit = '1GB'",
      'reset lock_configuration',
    ]) {
      await assert.rejects(tables.query({ name: 'probe', sql }), /disabled|locked|Cannot|not exist|Error/, sql);
    }
    await close();
  });

  it('changes nothing for a question', async (test) => {
    const { tables, close } = await opened(await testFolder(test));
    for (const sql of ["insert into users (uid) values ('a')", 'drop table users', 'create table other (a text)']) {
      await assert.rejects(tables.query({ name: 'probe', sql }), /read-only/, sql);
    }
    await close();
  });

  it('writes the texts of this time, however often a statement runs', async () => {
    const engine = await Engine.open({ path: undefined, temporary: undefined, memoryMb: 128 });
    const connection = await engine.connect();
    await connection.run('create table given (a bigint, said text)');
    await connection.run('create table kept (a bigint, said text, before bigint)');
    const statement = `insert into kept
      with told as (select a, coalesce(said, 'unknown') as said from given)
      select told.a, told.said, lag(told.a) over (partition by told.a, told.said order by told.a)
      from told left join (select distinct a from given where a % 7 = 0) as other on other.a = told.a`;
    const texts = ['Direct', undefined, 'DE', undefined, 'mobile'];
    for (let round = 0; round < 10; round += 1) {
      const given = Array.from({ length: round }, (_, a) => texts[(a + round) % texts.length]);
      await connection.run('delete from given');
      await connection.run('delete from kept');
      for (const [a, text] of given.entries())
        await connection.run('insert into given values ($1, $2)', [a, text ?? null]);
      await connection.run(statement);
      const kept = await connection.query<{ said: string }>({ name: 'kept', sql: 'select said from kept order by a' });
      assert.deepEqual(
        kept.map(({ said }) => said),
        given.map((text) => text ?? 'unknown'),
      );
    }
    connection.close();
    engine.close();
  });

  it('is not loaded before it is needed, and empties its temporary folder when it is', async (test) => {
    const folder = await testFolder(test);
    const { tables, close } = await opened(folder);
    const temporary = join(folder, 'rows-temporary');
    assert.ok(!existsSync(temporary) && !readdirSync(folder).some((name) => name.endsWith('.duckdb')));
    await tables.ready();
    writeFileSync(join(temporary, 'left over'), '');
    writeFileSync(join(folder, 'rows-2.duckdb.tmp'), '');
    await close();
    const again = await opened(folder);
    await again.tables.ready();
    assert.deepEqual(readdirSync(temporary, { recursive: true }), ['1']);
    assert.ok(!existsSync(join(folder, 'rows-2.duckdb.tmp')));
    await again.close();
  });
});

async function opened(folder: string) {
  const store = await openLowdbStore({ folder });
  return { tables: store.tables, close: () => store.close() };
}
