import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { DiskFull } from '../../store/disk-full.ts';
import { Engine } from '../../store/duckdb/engine.ts';
import { isRowsFile } from '../../store/duckdb/files.ts';
import { StoreDamaged, StoreUncertain } from '../../store/errors.ts';
import { copySnapshot } from '../../store/lowdb/backup.ts';
import { rounds } from '../support/full.ts';
import { nodeArgs } from '../support/node-args.ts';
import { pluck } from '../support/pluck.ts';
import { until } from '../support/until.ts';
import { FailingFiles } from './failing-files.ts';
import { openIn, testFolder } from './folders.ts';
import { auditRecord } from './records.ts';

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
        pluck(kept, 'said'),
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
  });

  it('finds out that rows are lost or damaged, says where, and serves everything else', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    const rows = Array.from({ length: 3000 }, (_, n) => ({ id: `v${n}`, visitorId: `${n}`, at: AT, page: `/${n}` }));
    const staged = await store.rows.stage({ type: 'visits', rows, at: AT });
    await store.transaction(async (tx) => tx.rows.commit(staged));
    await store.close();
    const path = join(folder, 'rows-1.duckdb');
    const bytes = readFileSync(path);
    const damaged = Buffer.from(bytes);
    for (let at = 12_288 + 100; at < damaged.length; at += 4096) damaged[at] = (damaged[at] ?? 0) ^ 1;
    for (const content of [damaged, Buffer.alloc(0), undefined]) {
      if (content) writeFileSync(path, content);
      else rmSync(path);
      const again = await openIn(folder);
      await assert.rejects(
        again.rows.check(),
        (error: Error) => error instanceof StoreDamaged && /backup/.test(error.message),
      );
      assert.equal(await again.agents.count({}), 0);
      await again.close().catch(() => {});
      writeFileSync(path, bytes);
      rmSync(`${path}.wal`, { force: true });
    }
    const whole = await openIn(folder);
    await whole.rows.check();
  });

  it('is in a backup made while rows are imported, with whole imports and all that were acknowledged', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    let isOver = false;
    let count = 0;
    const importing = (async () => {
      for (; !isOver; count += 1) {
        const rows = [1, 2, 3].map((n) => ({ id: `v${count}_${n}`, visitorId: 'v', at: AT, page: '/' }));
        const staged = await store.rows.stage({ type: 'visits', rows, at: AT });
        const id = `aud_${count}`;
        await store.transaction(async (tx) => {
          tx.rows.commit(staged);
          tx.audit.append(auditRecord({ id, requestId: id, tool: 'import_records' }));
        });
      }
    })();
    await until(() => count > 3);
    const before = count;
    const target = join(await testFolder(test), 'copy');
    await copySnapshot(folder, target).finally(() => {
      isOver = true;
    });
    await importing;
    await store.close();
    const copy = await openIn(target);
    const [found] = await copy.rows.query<{ rows: number }>({
      name: 'rows',
      sql: 'select count(*) as rows from visits',
    });
    const imports = (found?.rows ?? 0) / 3;
    assert.ok(Number.isInteger(imports) && imports >= before, `${imports} of ${before}`);
    assert.equal(await copy.audit.count({ tool: 'import_records' }), imports);
  });

  it('takes no space for the same rows again, and that of earlier ones for changed rows', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    const importRound = async (round: number) => {
      const rows = Array.from({ length: 2000 }, (_, n) => {
        const page = `/${createHash('sha512').update(`${round} ${n}`).digest('base64').repeat(5)}`;
        return { id: `v${n}`, visitorId: `${n}`, at: AT, page };
      });
      const staged = await store.rows.stage({ type: 'visits', rows, at: AT });
      await store.transaction(async (tx) => tx.rows.commit(staged));
      return rowsSize(folder);
    };
    const first = await importRound(0);
    for (let again = 0; again < 3; again += 1) assert.equal(await importRound(0), first);
    // A log of 16 MB, and in the file what it held when it was merged the last time and the time before.
    const times = rounds(3, 100);
    for (let round = 1; round <= times; round += 1) assert.ok((await importRound(round)) < 56_000_000);
  });

  it('adds the audit entries that a crash kept from the log', async (test) => {
    const folder = await testFolder(test);
    const files = new FailingFiles();
    const store = await openIn(folder, { files });
    const staged = await store.rows.stage({
      type: 'visits',
      rows: [{ id: 'a', visitorId: 'v', at: AT, page: '/' }],
      at: AT,
    });
    Object.assign(files, { failure: 'write', path: /journal|audit/ });
    const refused = store.transaction(async (tx) => {
      tx.rows.commit(staged);
      tx.audit.append(auditRecord({ id: 'aud_kept', requestId: 'r', tool: 'import_records' }));
    });
    await assert.rejects(refused, StoreUncertain, 'the rows are there');
    const image = `${folder}-image`;
    test.after(() => rmSync(image, { recursive: true, force: true }));
    cpSync(folder, image, { recursive: true });
    rmSync(join(image, 'lock.json'));
    const crashed = await openIn(image);
    await crashed.rows.wake();
    assert.equal(await crashed.audit.count({ tool: 'import_records' }), 1);
    await crashed.close();
    Object.assign(files, { failure: undefined });
    await until(() => store.status().writable);
    await until(async () => (await store.audit.count({ tool: 'import_records' })) === 1);
  });

  it('is busy, not damaged, while the process can open no more files, and works again once it can', async (test) => {
    const folder = await testFolder(test);
    const tried = () => {
      const program = nodeArgs(join(import.meta.dirname, 'rows-file-limit.ts'));
      const args = ['-c', 'ulimit -n 128; exec "$0" "$@"', process.execPath, ...program, folder, '10'];
      const { status, signal, stdout, stderr } = spawnSync('sh', args, { encoding: 'utf8' });
      assert.equal(status, 0, `${signal ?? status}: ${stderr || stdout}`);
      return JSON.parse(stdout);
    };
    for (const state of ['without a file', 'with a file']) {
      const { without, again, damage } = tried();
      const refused = without.filter((outcome: string) => outcome !== 'imported');
      assert.ok(refused.length > 0, state);
      for (const outcome of refused)
        assert.match(outcome, /^StoreBusy: This process can open no more files|^StoreUnavailable: .*could not be/);
      assert.deepEqual([again, damage], ['imported', undefined], state);
    }
  });

  it('goes on with the file there is where a copy without removed rows cannot be opened', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    const importOne = async (id: string) => {
      const rows = [{ id, visitorId: 'v', at: AT, page: '/' }];
      const staged = await store.rows.stage({ type: 'visits', rows, at: AT });
      await store.transaction(async (tx) => tx.rows.commit(staged)).finally(() => staged.discard());
    };
    await importOne('a');
    writeFileSync(join(folder, 'rows-temporary', '2'), 'in the way');
    await store.transaction(async (tx) => tx.rows.erase('nobody'));
    await until(() => /could not be taken out/.test(store.status().lastError ?? ''));
    await importOne('b');
    const count = { name: 'rows', sql: 'select count(*) as rows from visits' };
    assert.deepEqual(await store.rows.query(count), [{ rows: 2 }]);
    await store.close();
    const again = await openIn(folder);
    assert.deepEqual(await again.rows.query(count), [{ rows: 2 }]);
  });

  it('takes no rows while the disk refuses the journal', async (test) => {
    const files = new FailingFiles();
    const store = await openIn(await testFolder(test), { files, probeMs: 20 });
    const importOne = async (id: string) => {
      const rows = [{ id, visitorId: 'v', at: AT, page: '/' }];
      const staged = await store.rows.stage({ type: 'visits', rows, at: AT });
      await store.transaction(async (tx) => tx.rows.commit(staged)).finally(() => staged.discard());
    };
    const count = { name: 'rows', sql: 'select count(*) as rows from visits' };
    Object.assign(files, { failure: 'write', path: /journal/ });
    await assert.rejects(importOne('a'), StoreUncertain);
    for (const id of ['b', 'c'])
      await assert.rejects(importOne(id), (error) => error instanceof DiskFull && /was not made/.test(error.message));
    assert.deepEqual(await store.rows.query(count), [{ rows: 1 }]);
    files.failure = undefined;
    await until(() => store.status().writable);
    await importOne('b');
    assert.deepEqual(await store.rows.query(count), [{ rows: 2 }]);
  });
});

const AT = '2026-03-01T00:00:00.000Z';

function rowsSize(folder: string): number {
  const names = readdirSync(folder).filter(isRowsFile);
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

async function opened(folder: string) {
  const store = await openIn(folder);
  return { tables: store.rows, close: () => store.close() };
}
