import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { recordsOf } from '../../resources/audit-entry.ts';
import type { AuditQuery } from '../../store/port.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { compareText, type Stage, seconds } from './conformance-stage.ts';
import { auditRecord, time } from './records.ts';

export function auditConformance(stage: Stage): void {
  describe('the audit log', () => {
    before(() => stage.fresh());

    it('finds entries at once, newest first', async () => {
      const entries = Array.from({ length: 30 }, (_, at) => auditRecord({ at: time(at), tool: 'in_order' }));
      for (const entry of entries) stage.store.audit.append(entry);
      const { records, next } = await stage.store.audit.find({ tool: 'in_order', limit: 100 });
      assert.deepEqual(records, entries.toReversed());
      assert.equal(next, null);
    });

    it('goes on page by page where a millisecond holds more than a page, and behind it', async () => {
      const times = [...Array.from({ length: 3 }, (_, n) => n), ...Array.from({ length: 25 }, () => 5), 9];
      const entries = times.map((second) => auditRecord({ at: time(second), tool: 'many_at_once' }));
      for (const entry of entries) stage.store.audit.append(entry);
      for (let start = 0; start < 2; start += 1) {
        const found: string[] = [];
        let after: AuditQuery['after'];
        do {
          const { records, next } = await stage.store.audit.find({ tool: 'many_at_once', limit: 10, after });
          found.push(...records.map(({ at, id }) => at + id));
          after = next ?? undefined;
        } while (after);
        assert.deepEqual(
          found,
          entries
            .map(({ at, id }) => at + id)
            .sort(compareText)
            .toReversed(),
        );
        await stage.reopen();
      }
    });

    it('finds an entry by its id, also after a start', async () => {
      const entries = [...COLLIDING, 'other'].map((id, at) => auditRecord({ id, at: time(at), tool: 'by_id' }));
      for (const entry of entries) stage.store.audit.append(entry);
      const found = async (query: Omit<AuditQuery, 'limit'>) =>
        (await stage.store.audit.find({ ...query, limit: 10 })).records;
      for (let start = 0; start < 2; start += 1) {
        for (const entry of entries) assert.deepEqual(await found({ id: entry.id }), [entry]);
        assert.deepEqual(await found({ id: 'none' }), []);
        assert.deepEqual(await found({ id: 'other', tool: 'another' }), []);
        assert.equal(await stage.store.audit.count({ id: COLLIDING[1] }), 1);
        await stage.reopen();
      }
    });

    it('finds what a naive model finds', async () => {
      const model: ReturnType<typeof auditRecord>[] = [];
      await fc.assert(
        fc.asyncProperty(
          fc.array(naiveEntry, { maxLength: 12 }),
          fc.array(auditQuery, { minLength: 3 }),
          fc.boolean(),
          async (added, queries, flush) => {
            for (const [at, over] of added.entries()) {
              const entry = auditRecord({ ...over, principal: { type: 'api-key', id: over.key, name: 'k' } });
              for (const [name, value] of Object.entries(entry)) {
                if (name === 'key' || value === undefined) Reflect.deleteProperty(entry, name);
              }
              model.push(entry);
              if (at % 3 === 0) await stage.store.transaction(async (tx) => tx.audit.append(entry));
              else stage.store.audit.append(entry);
            }
            if (flush) await stage.store.audit.flush();
            for (const query of queries) {
              const { records, next } = await stage.store.audit.find({ door: 'mcp', ...query });
              const expected = model
                .filter((entry) => matchesAudit(entry, query))
                .sort((a, b) => compareText(b.at + b.id, a.at + a.id));
              assert.deepEqual(records, expected.slice(0, query.limit));
              const { after: _, limit: __, ...filter } = query;
              const matching = model.filter((entry) => matchesAudit(entry, { ...filter, limit: 0 }));
              assert.equal(await stage.store.audit.count({ door: 'mcp', ...filter }), matching.length);
              const last = records.at(-1);
              assert.deepEqual(next, expected.length > query.limit ? { createdAt: last?.at, id: last?.id } : null);
            }
          },
        ),
        { numRuns: rounds(15, 50), endOnFailure: true },
      );
      await stage.reopen();
      const all = (await stage.store.audit.find({ door: 'mcp', limit: 10_000 })).records;
      assert.deepEqual(
        all,
        model.sort((a, b) => compareText(b.at + b.id, a.at + a.id)),
      );
    });

    it('prunes whole days, for good', async () => {
      await stage.fresh();
      const days = ['2026-01-01', '2026-01-02', '2026-01-03'];
      for (const day of days) {
        stage.store.audit.append(auditRecord({ at: `${day}T00:00:00.000Z` }));
        await stage.store.transaction(async (tx) => tx.audit.append(auditRecord({ at: `${day}T12:00:00.000Z` })));
      }
      assert.equal(await stage.store.audit.prune('2026-01-03T00:00:00.000Z'), 4);
      await stage.reopen();
      const left = (await stage.store.audit.find({ limit: 10 })).records.map((entry) => entry.at.slice(0, 10));
      assert.deepEqual(left, ['2026-01-03', '2026-01-03']);
      assert.equal(await stage.store.audit.count({}), 2);
      assert.equal(await stage.store.audit.count({ to: '2026-01-03T12:00:00.000Z' }), 1);
      assert.equal(await stage.store.audit.prune('2026-01-01T00:00:00.000Z'), 0);
      const late = auditRecord({ at: '2026-01-02T01:00:00.000Z' });
      stage.store.audit.append(late);
      await stage.reopen();
      assert.deepEqual((await stage.store.audit.find({ limit: 10 })).records.at(-1), late);
    });
  });
}

/** Two texts with the same CRC-32, by which a store may look for them. */
const COLLIDING = ['plumless', 'buckeroo'] as const;

function sometimes(...texts: string[]) {
  return fc.option(fc.constantFrom(...texts), { nil: undefined, freq: 1 });
}

const naiveEntry = fc.record({
  at: seconds.map(time),
  id: fc.uuid().map((uuid) => `aud_${uuid}`),
  key: fc.constantFrom('key_1', 'key_2'),
  tool: fc.constantFrom('get_agent', 'list_agents'),
  outcome: fc.constantFrom('ok', 'denied'),
  door: fc.constant('mcp' as const),
  requestId: fc.constantFrom('one', 'two', COLLIDING[0], COLLIDING[1]),
  arguments: fc.constantFrom<Record<string, string>>({}, { id: 'agt_1' }, { id: 'agt_2', threadId: 'thr_1' }),
  recordIds: fc.option(fc.uniqueArray(fc.constantFrom('agt_1', 'agt_3', 'thr_1', 'run_1'), { maxLength: 3 }), {
    nil: undefined,
  }),
  sessionId: fc.option(fc.constantFrom('ses_1', 'ses_2'), { nil: undefined }),
});
const auditQuery: fc.Arbitrary<AuditQuery> = fc.record({
  principal: fc.option(fc.constantFrom('key_1', 'key_2', 'key_3'), { nil: undefined }),
  tool: fc.option(fc.constantFrom('get_agent', 'list_agents'), { nil: undefined }),
  withoutTools: fc.option(fc.subarray(['get_agent', 'list_agents', 'unheard_of']), { nil: undefined }),
  without: fc.option(
    fc.record({
      door: fc.constantFrom('mcp' as const, 'stdio' as const),
      tools: fc.subarray(['get_agent', 'list_agents', 'unheard_of']),
    }),
    { nil: undefined },
  ),
  outcome: fc.option(fc.constantFrom('ok', 'denied'), { nil: undefined }),
  from: fc.option(seconds.map(time), { nil: undefined }),
  to: fc.option(seconds.map(time), { nil: undefined }),
  requestId: sometimes('one', COLLIDING[0], COLLIDING[1], 'none'),
  recordId: sometimes('agt_1', 'agt_2', 'agt_3', 'thr_1', 'run_1', 'none'),
  sessionId: sometimes('ses_1', 'ses_2', 'none'),
  limit: fc.integer({ min: 1, max: 10 }),
  after: fc.option(fc.record({ createdAt: seconds.map(time), id: fc.uuid().map((uuid) => `aud_${uuid}`) }), {
    nil: undefined,
  }),
});

function matchesAudit(entry: ReturnType<typeof auditRecord>, query: AuditQuery): boolean {
  const { principal, tool, outcome, from, to, after } = query;
  if (query.withoutTools?.includes(entry.tool)) return false;
  if (query.without?.door === entry.door && query.without.tools.includes(entry.tool)) return false;
  if ((principal && entry.principal.id !== principal) || (tool && entry.tool !== tool)) return false;
  if ((outcome && entry.outcome !== outcome) || (from && entry.at < from) || (to && entry.at >= to)) return false;
  const { requestId, recordId, sessionId } = query;
  if ((requestId && entry.requestId !== requestId) || (sessionId && entry.sessionId !== sessionId)) return false;
  if (recordId && !recordsOf(entry).includes(recordId)) return false;
  return !after || compareText(entry.at + entry.id, after.createdAt + after.id) < 0;
}
