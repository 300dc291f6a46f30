import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { OperatorError, StoreUnavailable, UniqueTaken } from '../../store/errors.ts';
import { noProgress } from '../../store/open-progress.ts';
import { Database } from '../../store/postgres/database.ts';
import { migrate } from '../../store/postgres/migrate.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { closedAtEnd, killedAtEnd, stoppedAtEnd } from '../support/at-end.ts';
import { FULL } from '../support/full.ts';
import { nodeArgs } from '../support/node-args.ts';
import { databaseAt, startPostgres, storeAt, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';
import { auditRecord } from './records.ts';

const LOCKER = fileURLToPath(new URL('postgres-locker.ts', import.meta.url));

describe('the database', { skip: withoutPostgres }, () => {
  it('is brought to the newest state once, however many processes start together', async () => {
    const { url } = await testDatabase('template0');
    const databases = Array.from({ length: 4 }, () => new Database({ url }));
    await Promise.all(databases.map((database) => migrate(database)));
    const names = await databases[0]?.query<{ name: string }>({
      text: 'select name from schema_migrations order by name',
    });
    assert.equal(names?.[0]?.name, '001-records');
    await Promise.all(databases.map((database) => database.close()));
  });

  it('says from which to which state it is brought, before it is changed, and only then', async () => {
    const { url } = await testDatabase();
    const database = databaseAt(url);
    const heard: string[] = [];
    const opening = { ...noProgress, notice: (text: string) => heard.push(text) };
    await migrate(database, undefined, opening);
    await migrate(databaseAt((await testDatabase('template0')).url), undefined, opening);
    assert.deepEqual(heard, []);
    const forget = `delete from schema_migrations where name = (select max(name) from schema_migrations) returning name`;
    const [newest] = await database.query<{ name: string }>({ text: forget });
    const left = await database.query<{ name: string }>({ text: 'select max(name) as name from schema_migrations' });
    await assert.rejects(migrate(database, () => Promise.reject(new Error('planted')), opening));
    assert.match(
      heard.join(),
      new RegExp(`^The tables of the database are brought from ${left[0]?.name} to ${newest?.name}\\. `),
    );
    assert.match(heard.join(), /going back needs a dump \(pg_dump\) made before\.$/);
  });

  it('is refused where a newer version changed it', async () => {
    const { url } = await testDatabase();
    const database = databaseAt(url);
    await database.query({ text: `insert into schema_migrations (name) values ('999-of-tomorrow')` });
    await assert.rejects(migrate(database), (error: Error) => {
      assert.ok(error instanceof OperatorError);
      assert.match(
        error.message,
        /has migration 999-of-tomorrow of a newer version; this version knows those up to \d{3}-[\w-]+\./,
      );
      assert.match(error.message, /Start the newer version, or restore a dump \(pg_dump\) made with this one\./);
      return true;
    });
  });

  it('compiles no statements, which takes longer than it saves', async () => {
    const { url } = await testDatabase();
    const owner = databaseAt(url);
    const [{ name } = { name: '' }] = await owner.query<{ name: string }>({
      text: 'select current_database() as name',
    });
    await owner.query({ text: `alter database "${name}" set jit = on` });
    const database = databaseAt(url);
    const asked = { text: `select current_setting('jit') as jit` };
    assert.deepEqual(await database.query(asked), [{ jit: 'off' }]);
    assert.deepEqual(await database.patiently((session) => session.query(asked)), [{ jit: 'off' }]);
  });

  it('is opened while an import of another process holds the rows', async () => {
    const { url } = await testDatabase();
    const importing = databaseAt(url);
    await importing.use(async (session) => {
      await session.query({ text: 'begin; select from imported.state for update' });
      const opening = openPostgresStore({ url });
      const waits = `select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like 'select derivation%'`;
      const isHeldUp = until(async () => (await importing.query({ text: waits })).length > 0).then(() => undefined);
      const opened = await Promise.race([opening, isHeldUp.catch(() => undefined)]);
      await session.query({ text: 'rollback' });
      await (await opening).close();
      assert.ok(opened, 'it did not wait');
    });
  });

  it('is free of the locks of a process that was killed, whatever statement it was in', async () => {
    const { url } = await testDatabase();
    const database = databaseAt(url);
    const child = killedAtEnd(
      spawn(process.execPath, [...nodeArgs(LOCKER), url], { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    await once(child.stdout, 'data');
    const text = `select 1 from pg_locks where mode = 'ExclusiveLock' and relation = 'write_gate'::regclass`;
    const isHeld = async () => (await database.query({ text })).length > 0;
    await until(isHeld);
    child.kill('SIGKILL');
    await until(async () => !(await isHeld()));
  });

  it('is changed by a later version while transactions of others go from table to table', async () => {
    const { url } = await testDatabase();
    const serving = await openPostgresStore({ url });
    const { id } = await writing(serving).skills.insert({ name: 'weaving' });
    const database = databaseAt(url);
    await database.query({ text: 'delete from record_tables' }); // as a version that indexes another member finds it
    let later: Promise<Awaited<ReturnType<typeof openPostgresStore>>> | undefined;
    let runs = 0;
    await serving.transaction(async (tx) => {
      runs += 1;
      await tx.skills.update(id, { description: 'Of baskets' });
      later ??= openPostgresStore({ url });
      await until(async () => {
        const text = 'select 1 from pg_locks where not granted';
        return (await database.query({ text })).length > 0;
      });
      await tx.agents.count({});
    });
    assert.equal(runs, 1, 'the transaction was not in the way');
    await (await later)?.close();
    await serving.close();
  });

  it('fills what is unique and searched in records of versions in which it was not', async () => {
    const { url } = await testDatabase();
    const first = await openPostgresStore({ url });
    for (let at = 0; at < 3; at += 1)
      await writing(first).skills.insert({ name: `weaving ${at}`, description: 'Of baskets' });
    await first.close();
    const database = databaseAt(url);
    const forget = async (more: string) => {
      await database.query({
        text: `update skills set unique_name = null, words = null, words_length = null; delete from text_words; ${more};
          delete from record_tables where state like 'skills %'`,
      });
    };
    await forget('select 1');
    const second = await openPostgresStore({ url });
    assert.equal((await second.search('skills', { text: 'baskets', limit: 5 })).count, 3);
    assert.equal((await second.search('skills', { text: 'basketz', limit: 5 })).count, 3, 'spelled nearly so');
    await assert.rejects(writing(second).skills.insert({ name: 'weaving 1' }), UniqueTaken);
    await second.close();
    await forget(`update skills set record = jsonb_set(record::jsonb, '{name}', '"weaving 1"')::json`);
    await assert.rejects(openPostgresStore({ url }), (error: Error) => {
      assert.ok(error instanceof OperatorError);
      assert.match(error.message, /^Some skills are equal in name, .*Start the version before/);
      return true;
    });
  });

  for (const code of ['40001', '40P01']) {
    it(`runs a statement or a transaction again that PostgreSQL refused because of another one (${code})`, async () => {
      const { url } = await testDatabase();
      const database = databaseAt(url);
      const refusals = 2;
      // The values of a sequence stay when the transaction is undone.
      await database.query({
        text: `create sequence attempts;
          create function refused_at_first() returns integer language plpgsql as $$ begin
            if nextval('attempts') % ${refusals + 1} > 0 then raise exception 'refused' using errcode = '${code}'; end if;
            return 1;
          end $$`,
      });
      const statement = { text: 'select refused_at_first() as one' };
      assert.deepEqual(await database.query(statement), [{ one: 1 }]);
      let runs = 0;
      const work = database.patiently((session) => {
        runs += 1;
        return session.query(statement);
      });
      assert.deepEqual([await work, runs], [[{ one: 1 }], refusals + 1]);
      const always = `do $$ begin raise exception 'refused' using errcode = '${code}'; end $$`;
      await assert.rejects(database.query({ text: always }), StoreUnavailable);
    });
  }

  it('uses no connection again whose transaction failed as it began', async () => {
    const { url } = await testDatabase();
    const database = databaseAt(url);
    const failing = { begin: 'begin', lock: 'select 1 / 0' };
    await assert.rejects(database.useBegun(failing, async () => assert.fail('it has not begun')));
    assert.equal((await database.query({ text: 'select 1' })).length, 1);
  });

  it('takes a connection back once from a library that gives it back twice', async () => {
    const { url } = await testDatabase();
    const pool = databaseAt(url).pool(1);
    await new Promise<void>((resolve, reject) => {
      pool.connect((error, _, release) => {
        if (error) return reject(error);
        release(true);
        release();
        resolve();
      });
    });
    assert.equal((await pool.query('select 1')).rowCount, 1);
    await pool.end();
    await new Promise<void>((resolve) => {
      pool.connect((error, _, release) => {
        assert.ok(error);
        release();
        resolve();
      });
    });
  });

  it('answers again after its connections were ended, idle ones and busy ones', async () => {
    const { url } = await testDatabase();
    const database = new Database({ url });
    const other = new Database({ url });
    closedAtEnd(() => Promise.all([database.close(), other.close()]));
    const end = () =>
      other.query({
        text: 'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
      });
    const one = async () => (await database.query<{ one: number }>({ text: 'select 1 as one' }))[0]?.one;
    assert.equal(await one(), 1);
    await end();
    assert.equal(await one(), 1);
    const busy = database.use((session) => session.query({ text: 'select pg_sleep(60)' }));
    const refused = assert.rejects(busy, StoreUnavailable);
    while (
      (await other.query({ text: "select 1 from pg_stat_activity where query like 'select pg_sleep%'" })).length === 0
    );
    await end();
    await refused;
    assert.equal(await one(), 1);
  });
});

type Lost = 'question' | 'answer';

/** Stands before the database. `loseCommit`: the next COMMIT does not arrive there, or its answer does not arrive here, as the connection ends. */
async function startLossyProxy(database: string) {
  const { hostname, port } = new URL(database);
  let lost: Lost | undefined;
  const server = stoppedAtEnd(
    createServer((client) => {
      const upstream = connect({ host: hostname, port: Number(port) });
      const end = () => {
        for (const socket of [client, upstream]) socket.destroy();
      };
      let isCut = false;
      for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
      client.on('data', (bytes) => {
        const isLost = lost !== undefined && bytes.includes('commit\0');
        if (isLost && lost === 'question') end();
        else upstream.write(bytes);
        if (isLost) [isCut, lost] = [true, undefined];
      });
      upstream.on('data', (bytes) => (isCut ? end() : client.write(bytes)));
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(database);
  url.port = String((server.address() as AddressInfo).port); // listening on TCP
  return {
    url: url.href,
    loseCommit(what: Lost) {
      lost = what;
    },
  };
}

const skill = (name: string) => ({ name, instructions: 'x' });

async function openStore(url: string) {
  const store = await storeAt(url, { poolSize: 4 });
  return store;
}

describe('the store in the database', { skip: withoutPostgres }, () => {
  it('finds out whether a transaction was committed whose connection ended then, and does it once', async () => {
    const proxy = await startLossyProxy((await testDatabase()).url);
    const store = await openStore(proxy.url);
    const insert = (name: string) => writing(store).skills.insert(skill(name));
    const count = (name: string) => store.skills.count({ where: { name } });
    proxy.loseCommit('answer');
    assert.equal((await insert('done')).name, 'done');
    proxy.loseCommit('question');
    await assert.rejects(insert('undone'), StoreUnavailable);
    assert.deepEqual([await count('done'), await count('undone')], [1, 0]);
    assert.equal((await insert('undone')).name, 'undone');
  });

  it('drops months of the audit log whole, which no process misses that knew them', async () => {
    const { url } = await testDatabase();
    const [one, other] = await Promise.all([openStore(url), openStore(url)]);
    const database = new Database({ url, poolSize: 1 });
    closedAtEnd(() => database.close());
    const months = async () => {
      const text = `select relname from pg_class where relname ~ '^audit_entries_2025_\\d\\d$' and relkind = 'r' order by relname`;
      return (await database.query<{ relname: string }>({ text })).map(({ relname }) => relname.slice(-2));
    };
    const write = (store: typeof one, day: string) =>
      store.transaction(async (tx) => tx.audit.append(auditRecord({ at: `${day}T12:00:00.000Z` })));
    for (const day of ['2025-01-31', '2025-02-01', '2025-03-05', '2025-03-06']) {
      await write(one, day);
      await write(other, day);
    }
    assert.deepEqual(await months(), ['01', '02', '03']);
    assert.equal(await one.audit.prune('2025-03-06T00:00:00.000Z'), 6);
    assert.deepEqual(await months(), ['03']);
    await write(other, '2025-01-31');
    other.audit.append(auditRecord({ at: '2025-02-01T00:00:00.000Z' }));
    await other.audit.flush();
    assert.equal(await one.audit.count({}), 4);
  });

  if (FULL)
    it('is unavailable while the database starts again, and has all that was acknowledged afterwards', async () => {
      let server = await startPostgres({ durable: true });
      closedAtEnd(() => server.stop());
      const store = await openStore(server.url);
      const acknowledged: string[] = [];
      let refused = 0;
      let isOver = false;
      const write = async (writer: number) => {
        for (let at = 0; !isOver; at += 1) {
          const name = `${writer} ${at}`;
          await store
            .transaction((tx) => tx.skills.insert(skill(name)))
            .then(
              () => acknowledged.push(name),
              (error) => {
                assert.ok(error instanceof StoreUnavailable, String(error));
                refused += 1;
              },
            );
        }
      };
      const writers = [1, 2, 3].map(write);
      await until(() => acknowledged.length > 20);
      server = await server.restart();
      const before = acknowledged.length;
      await until(() => acknowledged.length > before + 20);
      isOver = true;
      await Promise.all(writers);
      assert.ok(refused > 0);
      for (const name of acknowledged) assert.equal(await store.skills.count({ where: { name } }), 1, name);
      assert.equal(store.status().writable, true);
    });
});
