import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ThreadRecord } from '../../resources/thread.ts';
import type { Store } from '../../store/port.ts';
import { addUp, countTableOf } from '../../store/postgres/counts.ts';
import type { Database } from '../../store/postgres/database.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { tableNamed } from '../../store/postgres/records/tables.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { rounds } from '../support/full.ts';
import { databaseAt, storeAt, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { fc } from '../support/property.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';
import { artifactRecord, memoryRecord, runRecord, threadRecord, time, versionOf } from './records.ts';

const STATUSES = ['active', 'archived'] as const;
const SOURCES = ['api', "it's, {chat}", 'NULL'];
const KEY_SETS = [['admin', 'workspace'], ['admin', 'user usr_1', 'key key_1'], ['admin', 'user usr_1'], ['admin'], []];
const QUARTER = 15 * 60;

const threads = countTableOf(tableNamed('threads'));
const messages = countTableOf(tableNamed('messages'));

describe('kept counts', { skip: withoutPostgres }, () => {
  it('are those of the records, whoever writes, fails and adds up meanwhile', async () => {
    const { url } = await testDatabase();
    const store = await storeAt(url);
    const database = databaseAt(url);
    const ids: string[] = [];
    const change = async ({ what, at, keys, source, status, seconds, fails }: Step) => {
      const values = { accessKeys: KEY_SETS[keys] ?? [], source: SOURCES[source] ?? '', status };
      const id = ids[at % (ids.length || 1)];
      const made: string[] = [];
      const work = store.transaction(async (tx) => {
        made.length = 0;
        if (what === 'make' || !id) made.push((await tx.threads.insert(threadRecord('t', values))).id);
        else if (what === 'change' && (await tx.threads.get(id))) await tx.threads.update(id, values);
        else if (what === 'remove' && (await tx.threads.get(id))) await tx.threads.delete(id);
        else await tx.messages.insert({ threadId: id, role: 'user', content: 'x', createdAt: time(seconds) });
        if (fails) throw new Error('given up');
      });
      await (fails ? assert.rejects(work, /given up/) : work.then(() => ids.push(...made)));
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
        const [one, other] = [steps.slice(0, steps.length >> 1), steps.slice(steps.length >> 1)];
        const inTurn = async (own: readonly Step[]) => {
          for (const each of own) await change(each);
        };
        await Promise.all([inTurn(one), inTurn(other), addUpAll(database)]);
        await agree(store);
      }),
      { numRuns: rounds(8, 60), endOnFailure: true },
    );
    await addUpAll(database);
    await agree(store);
    const kept = await database.query<{ records: string }>({ text: `select records from ${threads?.sql}` });
    assert.ok(kept.length <= KEY_SETS.length * SOURCES.length * STATUSES.length, 'one row for each combination');
    assert.ok(kept.every(({ records }) => Number(records) > 0));
  });

  it('need no look at the records', async () => {
    const { url } = await testDatabase();
    const store = await storeAt(url);
    const database = databaseAt(url);
    const { id } = await writing(store).threads.insert(threadRecord('t', { accessKeys: ['admin'] }));
    await writing(store).messages.insert({
      threadId: id,
      role: 'user',
      content: 'x',
      createdAt: time(5 * QUARTER + 7),
    });
    const accessKeys = ['admin', 'user usr_1'];
    await store.transaction(async (tx) => {
      await tx.agentRuns.insert(runRecord({ accessKeys, status: 'failed' }));
      await tx.artifacts.insert(artifactRecord({ accessKeys, mimeType: 'text/csv' }));
    });
    await database.use(async (session) => {
      await session.query({
        text: 'begin; lock table threads, messages, agent_runs, artifacts in access exclusive mode',
      });
      const either = { any: [{ accessKeys: ['user usr_1', 'admin'] }] };
      assert.equal(await store.agentRuns.count(either), 1);
      assert.equal(await store.agentRuns.count({ ...either, where: { status: 'running' } }), 0);
      assert.equal(await store.artifacts.count({ ...either, where: { mimeType: 'text/csv' } }), 1);
      assert.equal(await store.threads.count({ where: { accessKeys: 'admin' } }), 1);
      assert.equal(await store.threads.count({ where: { accessKeys: 'admin', status: 'archived' } }), 0);
      const day = { from: time(0), to: time(5 * QUARTER) };
      assert.equal(await store.messages.count(day), 0);
      assert.equal(await store.messages.count({ ...day, to: time(6 * QUARTER) }), 1);
      await session.query({ text: 'rollback' });
    });
  });

  it('of records that expire are those of the records that did not', async () => {
    const { url } = await testDatabase();
    let now = time(0);
    const store = await openPostgresStore({ url, now: () => new Date(now) });
    const database = databaseAt(url);
    closedAtEnd(async () => {
      await store.close();
      await database.close();
    });
    const accessKeys = ['admin'];
    const make = (over: object) => writing(store).memories.insert(memoryRecord('m', { accessKeys, ...over }));
    const agreeAt = async (seconds: number, wanted: number) => {
      now = time(seconds);
      for (const where of [{ accessKeys }, { accessKeys, superseded: false }, { accessKeys, kind: 'fact' as const }]) {
        assert.equal(await store.memories.count({ where }), wanted, `${seconds} s: ${JSON.stringify(where)}`);
        assert.equal((await store.memories.find({ where, limit: 10 })).records.length, wanted);
      }
    };
    const lasting = await make({ kind: 'fact', superseded: false });
    await make({ kind: 'fact', superseded: false, expiresAt: time(60) });
    await agreeAt(0, 2);
    await agreeAt(60, 1);
    await writing(store).memories.update(lasting.id, { expiresAt: time(90) });
    await agreeAt(0, 2);
    await agreeAt(100, 0);
    const memories = countTableOf(tableNamed('memories'));
    assert.ok(memories);
    await addUp(memories, database);
    assert.deepEqual(await database.query({ text: `select 1 from ${memories.sql}` }), [], 'they are not kept');
  });

  it('are added up by the process that leads', async () => {
    const { url } = await testDatabase();
    const first = await openPostgresStore({ url });
    await writing(first).threads.insert(threadRecord('t', { accessKeys: ['admin'] }));
    await first.close();
    const database = databaseAt(url);
    await database.query({ text: 'delete from threads' });
    const waiting = { text: `select 1 from ${threads?.sql} where added_up is null` };
    assert.ok((await database.query(waiting)).length > 0);
    const second = await storeAt(url);
    await until(async () => (await database.query(waiting)).length === 0);
    await agree(second);
  });

  it('have the same bytes once they are added up, and when they are made of the records that are there', async () => {
    const { url } = await testDatabase();
    const store = await openPostgresStore({ url });
    const database = databaseAt(url);
    const payers = [undefined, 'key_1', 'key_2', 'key_1'];
    const all = payers.map((principalId, at) => versionOf('agt_1', at + 1, { size: 10 ** at, principalId }));
    const made = await writing(store).versions.insertAll(all);
    const sizes = async (from = store) =>
      Object.fromEntries((await from.sizes('versions')).map(({ values, bytes }) => [values.principalId ?? '', bytes]));
    const expected = { '': 1, key_1: 1010, key_2: 100 };
    assert.deepEqual(await sizes(), expected);
    const versions = countTableOf(tableNamed('versions'));
    assert.ok(versions);
    await addUp(versions, database);
    assert.deepEqual(await sizes(), expected);
    await writing(store).versions.delete(made[2]?.id ?? '');
    await addUp(versions, database);
    assert.deepEqual(await sizes(), { '': 1, key_1: 1010 });
    const functions = ['insert', 'update', 'delete'].map((event) => versions.sql.replace(/"$/, `_${event}"`));
    await database.query({
      text: `drop table ${versions.sql}; ${functions.map((name) => `drop function ${name} cascade`).join('; ')};
        delete from record_tables`,
    });
    await store.close();
    const later = await storeAt(url);
    assert.deepEqual(await sizes(later), { '': 1, key_1: 1010 });
  });

  it('are made of the records that a version without them left', async () => {
    const { url } = await testDatabase();
    const store = await openPostgresStore({ url });
    const { id } = await writing(store).threads.insert(threadRecord('t', { accessKeys: ['admin'] }));
    const database = databaseAt(url);
    for (const table of [threads, messages]) {
      const functions = ['insert', 'update', 'delete'].map((event) => table?.sql.replace(/"$/, `_${event}"`));
      await database.query({
        text: `drop table ${table?.sql}; ${functions.map((name) => `drop function ${name} cascade`).join('; ')}`,
      });
    }
    await database.query({ text: 'delete from record_tables' });
    const later = await storeAt(url);
    assert.equal(await later.threads.count({ where: { accessKeys: 'admin' } }), 1);
    // The version without them goes on.
    await writing(store).threads.update(id, { status: 'archived' });
    await store.close();
    await agree(later);
  });
});

interface Step {
  readonly what: 'make' | 'change' | 'remove' | 'say';
  readonly at: number;
  readonly keys: number;
  readonly source: number;
  readonly status: ThreadRecord['status'];
  readonly seconds: number;
  readonly fails: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('make', 'make', 'change', 'change', 'remove', 'say', 'say'),
  at: fc.nat(40),
  keys: fc.nat(KEY_SETS.length - 1),
  source: fc.nat(SOURCES.length - 1),
  status: fc.constantFrom(...STATUSES),
  seconds: fc.nat(3 * QUARTER),
  fails: fc.nat(4).map((one) => one === 0),
});

async function addUpAll(database: Database): Promise<void> {
  for (const counts of [threads, messages]) if (counts) await addUp(counts, database);
}

/** A transaction counts the records themselves. */
async function agree(store: Store): Promise<void> {
  const wheres = [undefined, ...KEY_SETS.flat(), ['user usr_1', 'workspace']].flatMap((accessKeys) =>
    [undefined, ...STATUSES].flatMap((status) =>
      [undefined, ...SOURCES].map((source) => ({ accessKeys, status, source })),
    ),
  );
  const spans = [0, 1, 2].map((at) => ({ from: time(at * QUARTER), to: time((at + 1) * QUARTER) }));
  const counted = await store.transaction(async (tx) => ({
    threads: await inOrder(wheres, (where) => tx.threads.count({ where })),
    messages: await inOrder([{}, ...spans, { from: time(3) }], (span) => tx.messages.count(span)),
  }));
  assert.deepEqual(
    {
      threads: await inOrder(wheres, (where) => store.threads.count({ where })),
      messages: await inOrder([{}, ...spans, { from: time(3) }], (span) => store.messages.count(span)),
    },
    counted,
  );
}

async function inOrder<Given, Found>(all: readonly Given[], ask: (one: Given) => Promise<Found>): Promise<Found[]> {
  const found: Found[] = [];
  for (const one of all) found.push(await ask(one));
  return found;
}
