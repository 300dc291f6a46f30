import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
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
