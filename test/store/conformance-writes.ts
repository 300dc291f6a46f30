import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { RowType } from '../../resources/imported-rows.ts';
import type { ImportedRow } from '../../store/rows/records.ts';
import { rounds } from '../support/full.ts';
import { anyCharacter, fc } from '../support/property.ts';
import type { Stage } from './conformance-stage.ts';
import { auditRecord } from './records.ts';

const AT = '2026-03-01T00:00:00.000Z';
const visit = (id: string, more: object = {}) => ({ id, visitorId: 'v', at: AT, page: '/', ...more });
const subscription = (id: string, amount: number, effectiveAt?: string) => ({
  id,
  uid: 'u',
  plan: 'p',
  amount,
  currency: 'EUR',
  interval: 'month',
  intervalCount: 1,
  quantity: 1,
  status: 'active',
  startedAt: AT,
  ...(effectiveAt && { effectiveAt }),
});

export function writesConformance(stage: Stage): void {
  const write = async (type: RowType, rows: readonly ImportedRow[], at = AT) => {
    const { store } = stage;
    const staged = await store.rows.stage({ type, rows, at });
    try {
      await store.transaction(async (tx) => {
        tx.rows.commit(staged);
        tx.audit.append(auditRecord({ tool: 'import_records' }));
      });
    } finally {
      await staged.discard();
    }
    return [staged.created, staged.updated, staged.unchanged];
  };
  const all = (sql: string) => stage.store.rows.query<Record<string, unknown>>({ name: 'all', sql });
  const idsOf = async (table: string) => (await all(`select id from ${table} order by id`)).map(({ id }) => id);

  describe('imported rows', () => {
    beforeEach(() => stage.fresh());

    it('replace the row with their key, and are counted as new, changed and unchanged', async () => {
      assert.deepEqual(await write('visits', [visit('a'), visit('b')]), [2, 0, 0]);
      const { version } = stage.store.rows;
      assert.deepEqual(await write('visits', [visit('a'), visit('b')]), [0, 0, 2]);
      assert.equal(stage.store.rows.version, version, 'what is known is still valid');
      const rows = [visit('a'), visit('b', { page: '/x' }), visit('b', { page: '/y' }), visit('c'), visit('c')];
      assert.deepEqual(await write('visits', rows), [1, 2, 2]);
      assert.ok(stage.store.rows.version > version);
      await stage.reopen();
      assert.deepEqual(await all('select id, page from visits order by id'), [
        { id: 'a', page: '/' },
        { id: 'b', page: '/y' },
        { id: 'c', page: '/' },
      ]);
    });

    it('about subscriptions are kept as statements about times', async () => {
      assert.deepEqual(await write('subscriptions', [subscription('s', 100)]), [1, 0, 0]);
      assert.deepEqual(await write('subscriptions', [subscription('s', 100)]), [0, 0, 1]);
      const later = '2026-05-01T00:00:00.000Z';
      assert.deepEqual(await write('subscriptions', [subscription('s', 300)], later), [0, 1, 0]);
      const between = '2026-04-01T00:00:00.000Z';
      assert.deepEqual(await write('subscriptions', [subscription('s', 200, between)], later), [0, 1, 0]);
      assert.deepEqual(await write('subscriptions', [subscription('s', 200, between)], later), [0, 0, 1]);
      const terms = await all('select from_ms, amount from subscription_terms order by place');
      assert.deepEqual(terms, [
        { from_ms: Date.parse(AT), amount: 100 },
        { from_ms: Date.parse(between), amount: 200 },
        { from_ms: Date.parse(later), amount: 300 },
      ]);
    });

    it('count when their transaction commits, and not otherwise; others wait for their turn', async () => {
      const { store } = stage;
      const staged = await store.rows.stage({ type: 'visits', rows: [visit('a')], at: AT });
      const other = write('visits', [visit('b')]);
      const failing = store.transaction(async (tx) => {
        tx.rows.commit(staged);
        throw new Error('no');
      });
      await assert.rejects(failing, /no/);
      await staged.discard();
      await other;
      assert.deepEqual(await idsOf('visits'), ['b']);
    });

    it('of many writers at once are all there, each once, with their audit entries', async () => {
      const writers = Array.from({ length: 10 }, (_, n) =>
        write('visits', [visit(`v${n}`), visit('same', { page: `/${n}` })]),
      );
      await Promise.all(writers);
      assert.equal((await idsOf('visits')).length, 11);
      await stage.reopen();
      assert.equal((await idsOf('visits')).length, 11);
      assert.equal(await stage.store.audit.count({ tool: 'import_records' }), 10);
    });

    it('of a user go with the user, and come again when they are imported again', async () => {
      const events = [
        { id: 'e', uid: 'u', name: 'x', at: AT },
        { id: 'f', uid: 'other', name: 'x', at: AT },
      ];
      await write('events', events);
      await write('subscriptions', [subscription('s', 100)]);
      await stage.store.transaction(async (tx) => tx.rows.erase('u'));
      assert.deepEqual([await idsOf('events'), await idsOf('subscription_terms')], [['f'], []]);
      await stage.reopen();
      assert.deepEqual(await idsOf('events'), ['f']);
      assert.deepEqual(await write('events', events), [1, 0, 1]);
    });

    it('may hold any text', async () => {
      const text = fc
        .string({ unit: anyCharacter, minLength: 1 })
        .filter((text) => text.isWellFormed() && !text.includes('\0'));
      await fc.assert(
        fc.asyncProperty(text, fc.array(text, { minLength: 1, maxLength: 5 }), async (page, ids) => {
          const rows = [...new Set(ids)].map((id) => visit(id, { page, referrer: '' }));
          await write('visits', rows);
          for (const row of rows) {
            const sql = { name: 'one', sql: 'select page, referrer from visits where id = $1' };
            assert.deepEqual(await stage.store.rows.query(sql, [row.id]), [{ page, referrer: '' }]);
          }
        }),
        { numRuns: rounds(8, 100) },
      );
    });
  });
}
