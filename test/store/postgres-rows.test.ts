import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { StoreBusy, StoreUnavailable } from '../../store/errors.ts';
import type { Store } from '../../store/port.ts';
import { Database } from '../../store/postgres/database.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import type { ClientSession } from '../../store/postgres/session.ts';
import type { ImportedRow } from '../../store/rows/records.ts';
import type { StagedRows } from '../../store/rows-port.ts';
import { derivedTables } from '../../store/sql/derived-tables.ts';
import { createTable, exchangeRates, ratesInUse, rawTables } from '../../store/sql/raw-tables.ts';
import { rounds } from '../support/full.ts';
import { databaseAt, type TestDatabase, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { auditRecord } from './records.ts';

describe('imported rows on PostgreSQL', { skip: withoutPostgres }, () => {
  let own: TestDatabase;
  let database: Database;
  before(async () => {
    own = await testDatabase();
    database = new Database({ url: own.url });
  });
  after(async () => {
    await database.close();
    await own.drop();
  });

  it('have the tables of the definitions, column by column', async () => {
    const definitions = [
      ...Object.entries({ ...rawTables, exchange_rates: exchangeRates, rates_in_use: ratesInUse }).map(
        ([name, columns]) => createTable(name, columns),
      ),
      ...derivedTables.flatMap(({ ddl }) => ddl),
    ];
    await database.use(async (session) => {
      await session.query({ text: 'create schema defined; set search_path = defined' });
      for (const text of definitions) await session.query({ text });
      await session.query({ text: 'reset search_path' });
      const { state: _, ...migrated } = await columnsOf(session, 'imported');
      assert.deepEqual(migrated, await columnsOf(session, 'defined'));
    });
  });
});

const AT = '2026-03-01T00:00:00.000Z';

describe('imported rows of several processes on one database', { skip: withoutPostgres }, () => {
  let own: TestDatabase;
  let stores: readonly [Store, Store];
  before(async () => {
    own = await testDatabase();
    stores = await Promise.all([openPostgresStore({ url: own.url }), openPostgresStore({ url: own.url })]);
  });
  after(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await own.drop();
  });

  it('are written by a transaction that runs again where another one changed rows since it began', async () => {
    const [first, second] = stores;
    let runs = 0;
    await first.transaction(async (tx) => {
      runs += 1;
      await tx.agents.count({}); // its view of the data begins here
      if (runs === 1) await second.transaction(async (other) => other.rows.erase('somebody'));
      tx.rows.erase('somebody else');
    });
    assert.equal(runs, 2);
  });

  const visits = (round: number) =>
    Array.from({ length: 20 }, (_, n) => ({ id: `${round}-${n}`, visitorId: `v${n}`, at: AT, page: '/' }));
  async function importInto(store: Store, rows: readonly ImportedRow[], requestId = 'r'): Promise<StagedRows> {
    const staged = await store.rows.stage({ type: 'visits', rows, at: AT });
    try {
      await store.transaction(async (tx) => {
        tx.rows.commit(staged);
        tx.audit.append(auditRecord({ tool: 'import_records', requestId }));
      });
      return staged;
    } finally {
      await staged.discard();
    }
  }
  async function countIn(store: Store, sql: string): Promise<number> {
    const [found] = await store.rows.query<{ n: number }>({ name: 'count', sql: `select count(*) as n from ${sql}` });
    return found?.n ?? 0;
  }

  it('are there once each when both import the same at once, and are new to one of them', async () => {
    const rounds = [0, 1, 2, 3];
    const imports = rounds.flatMap((round) => stores.map((store) => importInto(store, visits(round))));
    const staged = await Promise.all(imports);
    const sum = (member: 'created' | 'updated' | 'unchanged') => staged.reduce((all, one) => all + one[member], 0);
    assert.deepEqual([sum('created'), sum('updated'), sum('unchanged')], [80, 0, 80]);
    assert.equal(await countIn(stores[0], 'visits'), 80);
    for (const { equal } of await stores[1].rows.rebuild()) assert.ok(equal);
  });

  it('are known to all: a question asks what version the rows have', async () => {
    const [one, other] = stores;
    await other.rows.useRates([]);
    const { version } = other.rows;
    await importInto(one, visits(10));
    await other.rows.useRates([]);
    assert.ok(other.rows.version > version);
    assert.equal(other.rows.version, one.rows.version);
    const rates = [{ currency: 'USD', fromMs: 0, toMs: 1, factor: 0.5 }];
    await Promise.all(stores.map((store) => store.rows.useRates(rates)));
    assert.equal(other.rows.version, one.rows.version);
  });

  it('go with their user while another imports, and those that came before the removal do not stay', async () => {
    const [one, other] = stores;
    const rows = visits(11).map((row) => ({ ...row, uid: 'gone' }));
    await importInto(one, rows.slice(0, 10));
    const staged = await one.rows.stage({ type: 'visits', rows, at: AT });
    await other.transaction(async (tx) => tx.rows.erase('gone'));
    // What was said about the rows, 10 of them known, has become wrong.
    const late = one.transaction(async (tx) => tx.rows.commit(staged)).finally(() => staged.discard());
    await assert.rejects(late, (error) => error instanceof StoreBusy);
    assert.equal(await countIn(other, "visits where uid = 'gone'"), 0);
    assert.equal((await importInto(other, rows)).created, 20);
  });

  it('are refused with the reason where there is no room to compare them, and taken once there is', async () => {
    const { url } = await testDatabase();
    const store = await openPostgresStore({ url });
    const operator = databaseAt(url);
    // A temporary table is the first that needs room.
    await operator.query({
      text: `create function no_room() returns event_trigger language plpgsql as
        $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
        create event trigger no_room on ddl_command_start when tag in ('CREATE TABLE') execute function no_room()`,
    });
    const stage = () => store.rows.stage({ type: 'visits', rows: visits(9), at: AT });
    await assert.rejects(stage, StoreUnavailable);
    await operator.query({ text: 'drop event trigger no_room' });
    await (await stage()).discard();
    await store.close();
  });

  it('are there with their audit entry or not at all, whichever connection is lost in the middle of an import', async () => {
    const [one, other] = stores;
    const killing = new Database({ url: own.url, poolSize: 1 });
    const kill = `select count(pg_terminate_backend(pid)) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`;
    let isOver = false;
    const outcomes: { readonly id: string; readonly isDone: boolean }[] = [];
    const importing = (async () => {
      for (let round = 100; !isOver; round += 1) {
        const id = `kill-${round}`;
        const done = importInto(one, visits(round), id).then(
          () => true,
          (error) => {
            assert.ok(error instanceof StoreUnavailable, error);
            return false;
          },
        );
        outcomes.push({ id, isDone: await done });
      }
    })();
    for (let kills = 0; kills < rounds(6, 40); kills += 1) {
      const before = outcomes.length;
      await until(() => outcomes.length > before);
      await killing.query({ text: kill });
    }
    isOver = true;
    await importing;
    await killing.close();
    assert.ok(outcomes.some(({ isDone }) => isDone));
    for (const { id, isDone } of outcomes) {
      const entries = await other.audit.count({ requestId: id });
      const rows = await countIn(other, `visits where id like '${id.slice(5)}-%'`);
      assert.deepEqual([entries, rows], entries === 1 ? [1, 20] : [0, 0], id);
      if (isDone) assert.equal(entries, 1, id);
    }
    for (const { equal } of await other.rows.rebuild()) assert.ok(equal);
  });
});

async function columnsOf(session: ClientSession, schema: string): Promise<Record<string, string>> {
  const text = `select table_name as name, string_agg(column_name || ' ' || data_type, ', ' order by ordinal_position) as columns
    from information_schema.columns where table_schema = $1 group by table_name`;
  const found = await session.query<{ name: string; columns: string }>({ text, values: [schema] });
  return Object.fromEntries(found.map(({ name, columns }) => [name, columns]));
}
