import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import type { SealedBatch } from '../../store/audit-proof/sealer.ts';
import type { Store } from '../../store/port.ts';
import { UnsureBatches } from '../../store/postgres/audit/unsure-batches.ts';
import { databaseAt, storeAt, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { fc } from '../support/property.ts';
import { databaseOf, onPostgres, openStoreIn } from '../support/store.ts';
import { testFolder } from './folders.ts';
import { auditRecord } from './records.ts';

const auditSecret = 'the secret of these tests';
const RECORD = 'mem_01jt00000000000000000000ab';
const at = (day: number, second = 0) => `2026-03-0${day}T00:00:${String(second).padStart(2, '0')}.000Z`;

async function verdictOf(store: Store, range?: { from?: string; to?: string }) {
  const verdict = await store.audit.proof?.verify(range);
  assert.ok(verdict);
  const { intact, entries, firstProblem } = verdict;
  assert.equal(intact, firstProblem === undefined);
  return firstProblem ? `${firstProblem.kind} ${firstProblem.id ?? ''}`.trim() : `intact ${entries}`;
}

function append(store: Store, ...entries: Partial<AuditEntry>[]): void {
  for (const entry of entries) store.audit.append(auditRecord(entry));
}

it('entries whose transaction was not answered are taken for kept once the database has them, else for undone', {
  skip: withoutPostgres,
}, async () => {
  const { url } = await testDatabase();
  const store = await storeAt(url, { auditSecret });
  append(store, {}, {});
  await store.audit.flush();
  const database = databaseAt(url);
  const rows = await database.query<{ entry: SealedBatch['entries'][number] }>({
    text: 'select entry from audit_entries',
  });
  const [there] = rows.map(({ entry }) => entry);
  assert.ok(there?.proof);
  const told: string[] = [];
  const batch = (name: string, entry: SealedBatch['entries'][number]): SealedBatch => {
    return { entries: [entry], kept: () => told.push(`${name} kept`), undone: () => told.push(`${name} undone`) };
  };
  const early = new UnsureBatches(database);
  early.add(batch('early', there));
  await early.settle();
  assert.deepEqual(told, [], 'the transaction may still end');
  const unsure = new UnsureBatches(database, 0);
  unsure.add(batch('there', there));
  unsure.add(batch('missing', { ...there, id: 'aud_missing' }));
  unsure.add(batch('of another chain', { ...there, proof: 'another' }));
  await setTimeout(1);
  await unsure.settle();
  await unsure.settle();
  assert.deepEqual(told, ['there kept', 'missing undone', 'of another chain undone']);
});

describe('the proof of the audit log', () => {
  it('covers entries of reads and of transactions, also after the next start', async (test) => {
    const folder = await testFolder(test);
    const first = await openStoreIn(folder, { auditSecret });
    for (let number = 0; number < 30; number += 1) {
      const entry = auditRecord({
        arguments: { name: 'a \u0000 b \ud800', id: RECORD, deep: { '2': 1, '1': [null] } },
      });
      if (number % 2 === 0) first.audit.append(entry);
      else await first.transaction(async (tx) => tx.audit.append(entry));
    }
    await assert.rejects(
      first.transaction(async (tx) => {
        tx.audit.append(auditRecord());
        throw new Error('refused');
      }),
    );
    append(first, {});
    assert.equal(await verdictOf(first), 'intact 31');
    await first.close();
    const next = await openStoreIn(folder, { auditSecret });
    append(next, {}, {});
    assert.equal(await verdictOf(next), 'intact 33');
    const { records } = await next.audit.find({ limit: 1 });
    assert.deepEqual(
      Object.keys(records[0] ?? {}).filter((name) => name === 'proof' || name === 'salt'),
      [],
    );
    await next.close();
  });

  it('begins in a log that has entries already, and finds no more of them than there were', async (test) => {
    const folder = await testFolder(test);
    const before = await openStoreIn(folder);
    append(before, { at: at(1) }, { at: at(2) });
    await before.close();
    const store = await openStoreIn(folder, { auditSecret });
    append(store, {});
    const verdict = await store.audit.proof?.verify();
    assert.deepEqual([verdict?.intact, verdict?.entries, verdict?.older], [true, 1, 2]);
    await store.close();
  });

  it('names an entry that was added without a proof', async (test) => {
    const folder = await testFolder(test);
    const store = await openStoreIn(folder, { auditSecret });
    append(store, { at: at(1) });
    await store.close();
    const other = await openStoreIn(folder);
    append(other, { id: 'aud_forged', at: at(1, 5) });
    await other.close();
    const again = await openStoreIn(folder, { auditSecret });
    assert.equal(await verdictOf(again), 'added aud_forged');
    await again.close();
  });

  it('goes on where content was withdrawn, and keeps nothing of it', async (test) => {
    const folder = await testFolder(test);
    const store = await openStoreIn(folder, { auditSecret });
    append(store, { arguments: { id: RECORD, text: 'secret' } }, { arguments: { text: 'other' } });
    await store.audit.flush();
    await store.transaction(async (tx) => {
      tx.erase([RECORD]);
      tx.audit.append(auditRecord({ tool: 'purge_record', arguments: { id: RECORD, reason: 'asked' } }));
    });
    append(store, { arguments: { id: RECORD, text: 'secret' } });
    assert.equal(await verdictOf(store), 'intact 4');
    await store.close();
    const next = await openStoreIn(folder, { auditSecret });
    assert.equal(await verdictOf(next), 'intact 4');
    const { records } = await next.audit.find({ limit: 10, recordId: RECORD, sealed: true });
    const withdrawn = records.filter(({ tool }) => tool !== 'purge_record');
    assert.equal(withdrawn.length, 2);
    for (const entry of withdrawn) assert.deepEqual([entry.arguments, 'salt' in entry], [{ id: RECORD }, false]);
    await next.close();
  });

  it('goes on where old entries were pruned, also of heads that stay', async (test) => {
    const folder = await testFolder(test);
    const store = await openStoreIn(folder, { auditSecret });
    append(store, { at: at(1) }, { at: at(1, 1) });
    await store.audit.proof?.sign();
    append(store, { at: at(1, 2) }, { at: at(3) }, { at: at(2) }, { at: at(3, 1) });
    await store.audit.proof?.sign();
    append(store, { at: at(4) });
    assert.equal(await store.audit.prune(at(3)), 4);
    assert.equal(await verdictOf(store), 'intact 3');
    assert.equal(await store.audit.prune(at(4)), 2);
    assert.equal(await verdictOf(store), 'intact 1');
    await store.close();
    const next = await openStoreIn(folder, { auditSecret });
    append(next, { at: at(5) });
    assert.equal(await verdictOf(next), 'intact 2');
    await next.close();
  });

  it('looks at a range of time', async (test) => {
    const store = await openStoreIn(await testFolder(test), { auditSecret });
    append(store, { at: at(1) }, { at: at(2) }, { at: at(3) });
    assert.equal(await verdictOf(store, { from: at(2) }), 'intact 2');
    assert.equal(await verdictOf(store, { to: at(2) }), 'intact 1');
    assert.equal(await verdictOf(store, { from: at(2), to: at(3) }), 'intact 1');
    await store.close();
  });

  it('signs a head for each thousand entries', async (test) => {
    const store = await openStoreIn(await testFolder(test), { auditSecret });
    const { proof } = store.audit;
    assert.ok(proof);
    for (let number = 0; number < 2500; number += 1) append(store, {});
    assert.equal(await verdictOf(store), 'intact 2500');
    const counts: number[] = [];
    for await (const { head } of proof.heads()) if (head?.span) counts.push(head.span.count);
    assert.deepEqual(counts, [1000, 1000, 500]);
    await store.close();
  });
});

const MEMBERS = ['tool', 'outcome', 'door', 'principal_id', 'request_id', 'duration_ms', 'session_id', 'api_key_id'];

if (onPostgres)
  describe('the proof in a database', () => {
    it('finds what anybody does to rows', async (test) => {
      const folder = await testFolder(test);
      const store = await openStoreIn(folder, { auditSecret });
      for (let number = 0; number < 12; number += 1)
        append(store, { id: `aud_${number}`, at: at(1, number), arguments: { name: `Ada ${number}` } });
      await store.audit.proof?.sign();
      const client = new pg.Client({ connectionString: await databaseOf(folder) });
      await client.connect();
      test.after(() => client.end());
      const after = async (...statements: string[]) => {
        await client.query('create table if not exists kept_entries as select * from audit_entries');
        await client.query('create table if not exists kept_heads as select * from audit_heads');
        for (const statement of statements) await client.query(statement);
        const found = await verdictOf(store);
        await client.query('delete from audit_entries; insert into audit_entries select * from kept_entries');
        await client.query('delete from audit_heads; insert into audit_heads select * from kept_heads');
        return found;
      };
      assert.equal(await after(), 'intact 12');
      const place = fc.record({
        number: fc.nat({ max: 11 }),
        by: fc.integer({ min: 1, max: 9 }),
        share: fc.double({ min: 0, max: 0.999, noNaN: true }),
      });
      await fc.assert(
        fc.asyncProperty(place, async ({ number, by, share }) => {
          const { rows } = await client.query(
            `select entry::text as text from audit_entries where id = 'aud_${number}'`,
          );
          const text = String(rows[0].text);
          const index = Math.floor(share * text.length);
          const other = text.slice(0, index) + String.fromCharCode(text.charCodeAt(index) ^ by) + text.slice(index + 1);
          try {
            JSON.parse(other);
          } catch {
            return; // PostgreSQL takes no such text
          }
          const found = await after(`update audit_entries set entry = $t$${other}$t$ where id = 'aud_${number}'`);
          assert.match(found, new RegExp(`^(changed|moved|added) aud_${number}$`), other);
        }),
        { numRuns: 60 },
      );
      for (const name of MEMBERS) {
        const value = name === 'duration_ms' ? '77' : `'other'`;
        assert.equal(
          await after(`update audit_entries set ${name} = ${value} where id = 'aud_5'`),
          'changed aud_5',
          name,
        );
      }
      assert.equal(await after(`update audit_entries set record_ids = '{x}' where id = 'aud_5'`), 'changed aud_5');
      assert.equal(await after(`update audit_entries set id = 'aud_x' where id = 'aud_5'`), 'moved aud_x');
      assert.equal(await after(`delete from audit_entries where id = 'aud_5'`), 'missing');
      assert.equal(await after(`delete from audit_entries where id = 'aud_11'`), 'missing');
      const copied = `insert into audit_entries select (jsonb_populate_record(e, jsonb_build_object('id', 'aud_x'))).* from audit_entries e where id = 'aud_5'`;
      assert.equal(await after(copied), 'moved aud_x');
      assert.equal(
        await after(`update audit_entries set entry = agent_admin_without_content(entry) where id = 'aud_5'`),
        'changed aud_5',
      );
      const swap = `update audit_entries e set entry = o.entry from audit_entries o where (e.id, o.id) in (('aud_5', 'aud_6'), ('aud_6', 'aud_5'))`;
      assert.equal(await after(swap), 'moved aud_5');
      assert.equal(await after('delete from audit_heads where number = 2'), 'missing head 2');
      assert.equal(await after('update audit_heads set number = number + 10'), 'changed head');
      assert.equal(await after('delete from audit_heads'), 'missing head 2');
      await store.close();
    });

    it('joins the chains of processes by their heads', async (test) => {
      const folder = await testFolder(test);
      const stores = [await openStoreIn(folder, { auditSecret }), await openStoreIn(folder, { auditSecret })];
      const write = async (store: Store, number: number) => {
        append(store, {});
        await store.transaction(async (tx) => {
          await tx.skills.insert({ name: `skill ${number % 7} ${number}`, body: 'x', tags: [] } as never);
          tx.audit.append(auditRecord());
        });
      };
      await Promise.all(Array.from({ length: 40 }, (_, number) => write(stores[number % 2] as Store, number)));
      await Promise.all(stores.map((store) => store.audit.proof?.sign()));
      for (const store of stores) assert.equal(await verdictOf(store), 'intact 80');
      for (const store of stores) await store.close();
    });
  });
