import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { NotFound, StaleRevision, StoreUnavailable, UniqueTaken } from '../../store/errors.ts';
import type { AuditQuery, Position, Query, Store } from '../../store/port.ts';
import { agentRecord, auditRecord, time, versionOf } from './records.ts';

export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and opens what it kept. */
  reopen(): Promise<Store>;
  /** Closes and removes everything. */
  dispose(): Promise<void>;
}

/** What every store does, through the port alone. `openStore` gives an empty one. */
export function runConformance(name: string, openStore: () => Promise<OpenedStore>): void {
  describe(`${name} keeps the contract of the store port`, () => {
    let opened: OpenedStore;
    let store: Store;
    const fresh = async () => {
      await opened?.dispose();
      opened = await openStore();
      store = opened.store;
    };
    after(() => opened?.dispose());

    describe('records', () => {
      before(fresh);

      it('fills in id, times and revision', async () => {
        const agent = await store.transaction((tx) => tx.agents.insert(agentRecord('filled')));
        assert.match(agent.id, /^agt_[0-9a-hjkmnp-tv-z]{26}$/);
        assert.equal(agent.revision, 1);
        assert.equal(agent.createdAt, agent.updatedAt);
        assert.equal(new Date(agent.createdAt).toISOString(), agent.createdAt);
        assert.deepEqual(await store.agents.get(agent.id), agent);
      });

      it('keeps given id, times and revision', async () => {
        const given = { id: 'agt_given', createdAt: time(1), updatedAt: time(2), revision: 7 };
        const agent = await store.transaction((tx) => tx.agents.insert({ ...agentRecord('given'), ...given }));
        assert.deepEqual({ ...agent }, { ...agentRecord('given'), ...given });
      });

      it('gives append-only records only id and creation time', async () => {
        const version = await store.transaction((tx) => tx.versions.insert(versionOf('agt_v', 3)));
        assert.equal('updatedAt' in version, false);
        assert.equal(version.revision, 3);
        assert.match(version.id, /^ver_/);
        await assert.rejects(store.transaction((tx) => tx.versions.update(version.id, { changeDescription: 'x' })));
        await store.transaction((tx) => tx.versions.delete(version.id));
        assert.equal(await store.versions.get(version.id), undefined);
      });

      it('refuses a second record with an id, and one that does not fit its schema', async () => {
        const insert = (over: object) => store.transaction((tx) => tx.agents.insert(agentRecord('twice', over)));
        await insert({ id: 'agt_twice' });
        await assert.rejects(insert({ id: 'agt_twice', name: 'other' }), (error) => !(error instanceof UniqueTaken));
        await assert.rejects(insert({ name: 'misfit', status: 'gone' }));
        assert.equal(await store.agents.count({ where: { name: ['other', 'misfit'] } }), 0);
      });

      it('answers undefined for an unknown id', async () => {
        assert.equal(await store.agents.get('agt_unknown'), undefined);
        assert.equal(await store.transaction((tx) => tx.agents.get('agt_unknown')), undefined);
      });

      it('merges a change, removes what is null, leaves what is undefined', async () => {
        const { id } = await store.transaction((tx) =>
          tx.agents.insert(agentRecord('merge', { description: 'old', instructions: 'do' })),
        );
        const change = { description: null, instructions: undefined, displayName: 'New', identity: { bio: 'b' } };
        const agent = await store.transaction((tx) => tx.agents.update(id, change));
        assert.equal('description' in agent, false);
        assert.equal(agent.instructions, 'do');
        assert.equal(agent.displayName, 'New');
        assert.deepEqual(agent.identity, { bio: 'b' });
        assert.equal(agent.revision, 2);
        assert.ok(agent.updatedAt >= agent.createdAt);
        assert.deepEqual(await store.agents.get(id), agent);
      });

      it('replaces members whole', async () => {
        const identity = { bio: 'b', signature: 's' };
        const { id } = await store.transaction((tx) => tx.agents.insert(agentRecord('whole', { identity })));
        const agent = await store.transaction((tx) => tx.agents.update(id, { identity: { bio: 'c' } }));
        assert.deepEqual(agent.identity, { bio: 'c' });
      });

      it('keeps the revision when a change changes nothing', async () => {
        const agent = await store.transaction((tx) => tx.agents.insert(agentRecord('same', { tools: ['a', 'b'] })));
        const same = await store.transaction((tx) =>
          tx.agents.update(agent.id, { tools: ['a', 'b'], displayName: 'same', description: null }),
        );
        assert.deepEqual(same, agent);
        await assert.rejects(
          store.transaction((tx) => tx.agents.update(agent.id, { displayName: 'same' }, { expectedRevision: 5 })),
          StaleRevision,
        );
      });

      it('ignores bookkeeping members in a change', async () => {
        const agent = await store.transaction((tx) => tx.agents.insert(agentRecord('book')));
        const change = { id: 'agt_other', createdAt: time(0), updatedAt: time(0), revision: 9, displayName: 'B' };
        const changed = await store.transaction((tx) => tx.agents.update(agent.id, change));
        assert.equal(changed.id, agent.id);
        assert.equal(changed.createdAt, agent.createdAt);
        assert.notEqual(changed.updatedAt, time(0));
        assert.equal(changed.revision, 2);
      });

      it('touches without a new revision', async () => {
        const agent = await store.transaction((tx) =>
          tx.agents.insert(agentRecord('touch', { createdAt: time(3), updatedAt: time(4) })),
        );
        const touched = await store.transaction((tx) => tx.agents.touch(agent.id, { description: 'seen' }));
        assert.deepEqual({ ...touched }, { ...agent, description: 'seen' });
      });

      it('checks the expected revision of updates and deletions', async () => {
        const { id } = await store.transaction((tx) => tx.agents.insert(agentRecord('guard')));
        await store.transaction((tx) => tx.agents.update(id, { displayName: '2' }, { expectedRevision: 1 }));
        const stale = (error: unknown) => error instanceof StaleRevision && error.currentRevision === 2;
        await assert.rejects(
          store.transaction((tx) => tx.agents.update(id, { displayName: '3' }, { expectedRevision: 1 })),
          stale,
        );
        await assert.rejects(
          store.transaction((tx) => tx.agents.delete(id, { expectedRevision: 1 })),
          stale,
        );
        const removed = await store.transaction((tx) => tx.agents.delete(id, { expectedRevision: 2 }));
        assert.equal(removed.displayName, '2');
        assert.equal(await store.agents.get(id), undefined);
      });

      it('names the record that is not there', async () => {
        const missing = (error: unknown) =>
          error instanceof NotFound && error.id === 'agt_x' && error.collection === 'agents';
        await assert.rejects(
          store.transaction((tx) => tx.agents.update('agt_x', {})),
          missing,
        );
        await assert.rejects(
          store.transaction((tx) => tx.agents.touch('agt_x', {})),
          missing,
        );
        await assert.rejects(
          store.transaction((tx) => tx.agents.delete('agt_x')),
          missing,
        );
      });

      it('is not changed by what callers do to their objects', async () => {
        const tools = ['a'];
        const payload = { deep: { list: [1] } };
        const agent = await store.transaction((tx) => tx.agents.insert(agentRecord('mine', { tools })));
        const version = await store.transaction((tx) => tx.versions.insert(versionOf(agent.id, 1, { payload })));
        tools.push('b');
        payload.deep.list.push(2);
        const vandalise = (record: object) => {
          try {
            Object.assign(record, { name: 'vandal' });
          } catch {
            // A store may hand out frozen records.
          }
        };
        vandalise(agent);
        vandalise((await store.agents.get(agent.id)) ?? {});
        for (const record of (await store.agents.find({ where: { name: 'mine' }, limit: 1 })).records)
          vandalise(record);
        assert.equal((await store.agents.get(agent.id))?.name, 'mine');
        assert.deepEqual((await store.agents.get(agent.id))?.tools, ['a']);
        assert.deepEqual((await store.versions.get(version.id))?.payload, { deep: { list: [1] } });
      });

      it('gives back any JSON after opening again', async () => {
        const kept = new Map<string, object>();
        const json = fc
          .dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }))
          // As a door would have parsed it: without NUL, which no store has to hold, and without `__proto__`.
          .map(
            (value): Record<string, unknown> => JSON.parse(JSON.stringify(value).replaceAll(/\\u0000|__proto__/g, '')),
          );
        let revision = 0;
        await fc.assert(
          fc.asyncProperty(json, async (payload) => {
            revision += 1;
            const input = versionOf('agt_json', revision, { payload });
            const version = await store.transaction((tx) => tx.versions.insert(input));
            assert.deepEqual(version.payload, payload);
            kept.set(version.id, version);
          }),
          { numRuns: 60, endOnFailure: true },
        );
        store = await opened.reopen();
        for (const [id, version] of kept) assert.deepEqual(await store.versions.get(id), version);
      });
    });

    describe('unique values', () => {
      before(fresh);

      it('refuses a value that another record has, naming it', async () => {
        const { id } = await store.transaction((tx) => tx.agents.insert(agentRecord('one')));
        const other = await store.transaction((tx) => tx.agents.insert(agentRecord('two')));
        const taken = (error: unknown) =>
          error instanceof UniqueTaken &&
          error.holderId === id &&
          error.fields.join() === 'name' &&
          error.collection === 'agents';
        await assert.rejects(
          store.transaction((tx) => tx.agents.insert(agentRecord('one'))),
          taken,
        );
        await assert.rejects(
          store.transaction((tx) => tx.agents.update(other.id, { name: 'one' })),
          taken,
        );
        assert.equal((await store.agents.get(other.id))?.name, 'two');
      });

      it('leaves excepted records out, and checks again when they come back', async () => {
        const first = await store.transaction((tx) => tx.agents.insert(agentRecord('reused')));
        await store.transaction((tx) => tx.agents.update(first.id, { status: 'deleted' }));
        const second = await store.transaction((tx) => tx.agents.insert(agentRecord('reused')));
        const back = () => store.transaction((tx) => tx.agents.update(first.id, { status: 'active' }));
        await assert.rejects(back(), (error) => error instanceof UniqueTaken && error.holderId === second.id);
        await store.transaction((tx) => tx.agents.delete(second.id));
        assert.equal((await back()).status, 'active');
      });

      it('ignores case where the rule says so, and only there', async () => {
        const user = { email: 'Ada@Example.org', role: 'owner', isActive: true };
        await store.transaction((tx) => tx.adminUsers.insert(user));
        await assert.rejects(
          store.transaction((tx) => tx.adminUsers.insert({ ...user, email: 'ada@example.ORG' })),
          UniqueTaken,
        );
        await store.transaction((tx) => tx.skills.insert({ name: 'Skill' }));
        await store.transaction((tx) => tx.skills.insert({ name: 'skill' }));
      });

      it('compares all fields of a rule together', async () => {
        await store.transaction((tx) => tx.versions.insert(versionOf('agt_u', 1)));
        await store.transaction((tx) => tx.versions.insert(versionOf('agt_u', 2)));
        await store.transaction((tx) => tx.versions.insert(versionOf('agt_w', 1)));
        await assert.rejects(
          store.transaction((tx) => tx.versions.insert(versionOf('agt_u', 2))),
          UniqueTaken,
        );
      });

      it('sees changes of the same transaction', async () => {
        await assert.rejects(
          store.transaction(async (tx) => {
            await tx.skills.insert({ name: 'pair' });
            await tx.skills.insert({ name: 'pair' });
          }),
          UniqueTaken,
        );
        assert.equal(await store.skills.count({ where: { name: 'pair' } }), 0);
        const [a, b] = await store.transaction(async (tx) => [
          await tx.skills.insert({ name: 'left' }),
          await tx.skills.insert({ name: 'right' }),
        ]);
        await store.transaction(async (tx) => {
          await tx.skills.update(b?.id ?? '', { description: 'touched first' });
          await tx.skills.update(a?.id ?? '', { name: 'middle' });
          await tx.skills.update(b?.id ?? '', { name: 'left' });
          await tx.skills.update(a?.id ?? '', { name: 'right' });
        });
        await assert.rejects(
          store.transaction((tx) => tx.skills.insert({ name: 'left' })),
          (error) => error instanceof UniqueTaken && error.holderId === b?.id,
        );
        await store.transaction((tx) => tx.skills.insert({ name: 'middle' }));
      });

      it('frees the value of a deleted record', async () => {
        const { id } = await store.transaction((tx) => tx.skills.insert({ name: 'freed' }));
        await store.transaction(async (tx) => {
          await tx.skills.delete(id);
          await tx.skills.insert({ name: 'freed' });
        });
        assert.equal(await store.skills.count({ where: { name: 'freed' } }), 1);
      });
    });

    describe('transactions', () => {
      before(fresh);

      it('shows its own changes inside and nothing outside until it commits', async () => {
        const { id } = await store.transaction((tx) => tx.agents.insert(agentRecord('outside')));
        await store.transaction(async (tx) => {
          await tx.agents.update(id, { name: 'inside', status: 'paused' });
          const added = await tx.agents.insert(agentRecord('added', { status: 'paused' }));
          assert.equal((await tx.agents.get(id))?.name, 'inside');
          const found = await tx.agents.find({ where: { status: 'paused' }, limit: 10, order: 'oldest' });
          assert.deepEqual(found.records.map((record) => record.id).sort(), [id, added.id].sort());
          assert.equal(await tx.agents.count({ where: { status: 'active' } }), 0);
          assert.equal(await tx.agents.count({}), 2);
        });
        assert.equal((await store.agents.get(id))?.name, 'inside');
      });

      it('hides unfinished changes from readers', async () => {
        let proceed = () => {};
        let staged = () => {};
        const gate = new Promise<void>((resolve) => {
          proceed = resolve;
        });
        const ready = new Promise<void>((resolve) => {
          staged = resolve;
        });
        const running = store.transaction(async (tx) => {
          await tx.skills.insert({ name: 'hidden' });
          staged();
          await gate;
        });
        await ready;
        assert.equal(await store.skills.count({ where: { name: 'hidden' } }), 0);
        proceed();
        await running;
        assert.equal(await store.skills.count({ where: { name: 'hidden' } }), 1);
      });

      it('leaves nothing of one that throws', async () => {
        const { id } = await store.transaction((tx) => tx.agents.insert(agentRecord('rollback')));
        const entry = auditRecord({ tool: 'rolled_back' });
        await assert.rejects(
          store.transaction(async (tx) => {
            await tx.agents.update(id, { name: 'gone' });
            await tx.skills.insert({ name: 'gone' });
            await tx.agents.delete(id);
            tx.audit.append(entry);
            throw new Error('changed my mind');
          }),
          /changed my mind/,
        );
        assert.equal((await store.agents.get(id))?.name, 'rollback');
        assert.equal(await store.skills.count({ where: { name: 'gone' } }), 0);
        assert.equal((await store.audit.find({ tool: 'rolled_back', limit: 1 })).records.length, 0);
        await store.transaction((tx) => tx.agents.insert(agentRecord('gone')));
      });

      it('refuses calls after its end', async () => {
        const tx = await store.transaction(async (inner) => inner);
        await assert.rejects(tx.agents.insert(agentRecord('late')), /ended/);
        await assert.rejects(tx.agents.get('agt_x'), /ended/);
        assert.throws(() => tx.audit.append(auditRecord()), /ended/);
      });

      it('runs one after the other, so that no update is lost', async () => {
        const { id } = await store.transaction((tx) => tx.agents.insert(agentRecord('counter')));
        await Promise.all(
          Array.from({ length: 64 }, () =>
            store.transaction(async (tx) => {
              const { maxSteps, description = '0' } = { maxSteps: 1, ...(await tx.agents.get(id)) };
              await tx.agents.update(id, { maxSteps, description: String(Number(description) + 1) });
            }),
          ),
        );
        const counter = await store.agents.get(id);
        assert.equal(counter?.description, '64');
        assert.equal(counter?.revision, 65);
      });

      it('lets one of 64 guarded writers win each revision', async () => {
        const { id } = await store.transaction((tx) => tx.agents.insert(agentRecord('guarded')));
        let stale = 0;
        const writer = async (name: number) => {
          for (;;) {
            const revision = (await store.agents.get(id))?.revision;
            try {
              const change = { description: String(name) };
              return await store.transaction((tx) => tx.agents.update(id, change, { expectedRevision: revision }));
            } catch (error) {
              if (!(error instanceof StaleRevision)) throw error;
              stale += 1;
            }
          }
        };
        const revisions = (await Promise.all(Array.from({ length: 64 }, (_, at) => writer(at)))).map(
          (record) => record.revision,
        );
        assert.deepEqual(
          revisions.sort((a, b) => a - b),
          Array.from({ length: 64 }, (_, at) => at + 2),
        );
        assert.ok(stale > 0);
      });
    });

    describe('queries', () => {
      before(fresh);

      it('find and count what a naive model finds, in and out of transactions', async () => {
        const model: NaiveAgent[] = [];
        let serial = 0;
        await fc.assert(
          fc.asyncProperty(
            fc.array(naiveAgent, { maxLength: 6 }),
            fc.array(agentQuery, { minLength: 4, maxLength: 8 }),
            async (added, queries) => {
              await store.transaction(async (tx) => {
                for (const over of added) {
                  serial += 1;
                  const name = `m${serial}`;
                  model.push(
                    await tx.agents.insert({
                      ...agentRecord(name),
                      ...dropUndefined(over),
                      id: `agt_${over.rank}_${serial}`,
                    }),
                  );
                }
                const [oldest] = model;
                if (oldest && model.length > 40) {
                  await tx.agents.delete(oldest.id);
                  model.shift();
                }
                const changed = model[Math.floor(model.length / 2)];
                if (changed) {
                  const status = changed.status === 'paused' ? 'active' : 'paused';
                  model[model.indexOf(changed)] = await tx.agents.update(changed.id, { status, skillIds: ['skl_2'] });
                }
                for (const query of queries) await agrees(tx.agents, model, query);
              });
              for (const query of queries) await agrees(store.agents, model, query);
            },
          ),
          { numRuns: 60, endOnFailure: true },
        );
        store = await opened.reopen();
        await agrees(store.agents, model, { limit: 1000 });
      });

      it('walk all pages without gap or repetition', async () => {
        for (const order of ['newest', 'oldest'] as const) {
          const all = (await store.agents.find({ order, limit: 1000 })).records;
          const walked: unknown[] = [];
          let after: Position | undefined;
          do {
            const page = await store.agents.find({ order, limit: 7, after });
            walked.push(...page.records);
            after = page.next ?? undefined;
          } while (after);
          assert.deepEqual(walked, all);
        }
      });

      it('continue behind a record that was deleted meanwhile', async () => {
        const { records, next } = await store.agents.find({ limit: 3 });
        const expected = (await store.agents.find({ limit: 6 })).records.slice(3);
        await store.transaction((tx) => tx.agents.delete(records.at(-1)?.id ?? ''));
        assert.deepEqual((await store.agents.find({ limit: 3, after: next ?? undefined })).records, expected);
      });
    });

    describe('the audit log', () => {
      before(fresh);

      it('finds entries at once, newest first', async () => {
        const entries = Array.from({ length: 30 }, (_, at) => auditRecord({ at: time(at), tool: 'in_order' }));
        for (const entry of entries) store.audit.append(entry);
        const { records, next } = await store.audit.find({ tool: 'in_order', limit: 100 });
        assert.deepEqual(records, entries.toReversed());
        assert.equal(next, null);
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
                Reflect.deleteProperty(entry, 'key');
                model.push(entry);
                if (at % 3 === 0) await store.transaction(async (tx) => tx.audit.append(entry));
                else store.audit.append(entry);
              }
              if (flush) await store.audit.flush();
              for (const query of queries) {
                const { records, next } = await store.audit.find({ door: 'mcp', ...query });
                const expected = model
                  .filter((entry) => matchesAudit(entry, query))
                  .sort((a, b) => compareText(b.at + b.id, a.at + a.id));
                assert.deepEqual(records, expected.slice(0, query.limit));
                const last = records.at(-1);
                assert.deepEqual(next, expected.length > query.limit ? { createdAt: last?.at, id: last?.id } : null);
              }
            },
          ),
          { numRuns: 50, endOnFailure: true },
        );
        store = await opened.reopen();
        const all = (await store.audit.find({ door: 'mcp', limit: 10_000 })).records;
        assert.deepEqual(
          all,
          model.sort((a, b) => compareText(b.at + b.id, a.at + a.id)),
        );
      });

      it('prunes whole days, for good', async () => {
        await fresh();
        const days = ['2026-01-01', '2026-01-02', '2026-01-03'];
        for (const day of days) {
          store.audit.append(auditRecord({ at: `${day}T00:00:00.000Z` }));
          await store.transaction(async (tx) => tx.audit.append(auditRecord({ at: `${day}T12:00:00.000Z` })));
        }
        assert.equal(await store.audit.prune('2026-01-03T00:00:00.000Z'), 4);
        store = await opened.reopen();
        const left = (await store.audit.find({ limit: 10 })).records.map((entry) => entry.at.slice(0, 10));
        assert.deepEqual(left, ['2026-01-03', '2026-01-03']);
        assert.equal(await store.audit.prune('2026-01-01T00:00:00.000Z'), 0);
        const late = auditRecord({ at: '2026-01-02T01:00:00.000Z' });
        store.audit.append(late);
        store = await opened.reopen();
        assert.deepEqual((await store.audit.find({ limit: 10 })).records.at(-1), late);
      });
    });

    describe('closing', () => {
      before(fresh);

      it('finishes what was accepted and refuses what comes later', async () => {
        assert.equal(store.status().writable, true);
        const accepted = Array.from({ length: 20 }, (_, at) =>
          store.transaction((tx) => tx.agents.insert(agentRecord(`c${at}`))),
        );
        const entry = auditRecord();
        store.audit.append(entry);
        const closed = store;
        const reopened = opened.reopen();
        await Promise.all(accepted);
        store = await reopened;
        assert.equal(await store.agents.count({}), 20);
        assert.deepEqual((await store.audit.find({ limit: 5 })).records, [entry]);
        await assert.rejects(
          closed.transaction(async () => 1),
          StoreUnavailable,
        );
        await assert.rejects(closed.agents.get('agt_1'), StoreUnavailable);
        assert.equal(closed.status().writable, false);
      });
    });
  });
}

type NaiveAgent = Awaited<ReturnType<Store['agents']['get']>> & object;
type AgentQuery = Query<NaiveAgent>;

const seconds = fc.integer({ min: 0, max: 12 });
const skills = fc.array(fc.constantFrom('skl_1', 'skl_2', 'skl_3'), { maxLength: 3 });
const statuses = fc.constantFrom('active', 'paused', 'deleted');
const naiveAgent = fc.record({
  createdAt: seconds.map(time),
  status: statuses as fc.Arbitrary<NaiveAgent['status']>,
  skillIds: fc.option(skills, { nil: undefined }),
  maxSteps: fc.integer({ min: 1, max: 3 }),
  description: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
  rank: fc.integer({ min: 0, max: 9 }),
});

const oneOrMore = <Value>(value: fc.Arbitrary<Value>) => fc.oneof(value, fc.array(value, { maxLength: 3 }));
const agentWhere = fc.record(
  {
    id: oneOrMore(
      fc
        .tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 1, max: 30 }))
        .map(([rank, at]) => `agt_${rank}_${at}`),
    ),
    status: oneOrMore(statuses),
    skillIds: oneOrMore(fc.constantFrom('skl_1', 'skl_2', 'skl_9')),
    maxSteps: oneOrMore(fc.integer({ min: 1, max: 3 })),
    description: oneOrMore(fc.constantFrom('x', 'y', '')),
    name: oneOrMore(fc.integer({ max: 40, min: 0 }).map((at) => `m${at}`)),
  },
  { requiredKeys: [] },
);
const position = fc.record({
  createdAt: seconds.map(time),
  id: fc.integer({ min: 0, max: 9 }).map((rank) => `agt_${rank}_5`),
});
const agentQuery: fc.Arbitrary<AgentQuery> = fc.record({
  where: fc.option(agentWhere, { nil: undefined }),
  any: fc.option(fc.array(agentWhere, { maxLength: 3 }), { nil: undefined, freq: 2 }),
  from: fc.option(seconds.map(time), { nil: undefined, freq: 2 }),
  to: fc.option(seconds.map(time), { nil: undefined, freq: 2 }),
  order: fc.constantFrom('newest', 'oldest', undefined),
  limit: fc.integer({ min: 1, max: 12 }),
  after: fc.option(position, { nil: undefined, freq: 2 }),
});

async function agrees(reader: Store['agents'], model: readonly NaiveAgent[], query: AgentQuery): Promise<void> {
  const matching = model.filter((record) => matchesAgent(record, query));
  assert.equal(
    await reader.count({ where: query.where, any: query.any, from: query.from, to: query.to }),
    matching.length,
  );
  const sign = query.order === 'oldest' ? 1 : -1;
  const key = (at: Position) => `${at.createdAt} ${at.id}`;
  const { after } = query;
  const expected = matching
    .filter((record) => !after || compareText(key(record), key(after)) * sign > 0)
    .sort((a, b) => compareText(key(a), key(b)) * sign);
  const { records, next } = await reader.find(query);
  assert.deepEqual(records, expected.slice(0, query.limit));
  const last = records.at(-1);
  assert.deepEqual(next, expected.length > query.limit ? { createdAt: last?.createdAt, id: last?.id } : null);
}

function matchesAgent(record: NaiveAgent, { where, any, from, to }: AgentQuery): boolean {
  const holds = (clause: object) =>
    Object.entries(clause).every(([member, wanted]) => {
      const value: unknown = Reflect.get(record, member);
      const values = Array.isArray(value) ? value : [value];
      return values.some((item) => item !== undefined && [wanted].flat().includes(item));
    });
  if ((from && record.createdAt < from) || (to && record.createdAt >= to)) return false;
  return holds(where ?? {}) && (!any || any.some(holds));
}

const naiveEntry = fc.record({
  at: seconds.map(time),
  id: fc.uuid().map((uuid) => `aud_${uuid}`),
  key: fc.constantFrom('key_1', 'key_2'),
  tool: fc.constantFrom('get_agent', 'list_agents'),
  outcome: fc.constantFrom('ok', 'denied'),
  door: fc.constant('mcp' as const),
});
const auditQuery: fc.Arbitrary<AuditQuery> = fc.record({
  principal: fc.option(fc.constantFrom('key_1', 'key_2', 'key_3'), { nil: undefined }),
  tool: fc.option(fc.constantFrom('get_agent', 'list_agents'), { nil: undefined }),
  outcome: fc.option(fc.constantFrom('ok', 'denied'), { nil: undefined }),
  from: fc.option(seconds.map(time), { nil: undefined }),
  to: fc.option(seconds.map(time), { nil: undefined }),
  limit: fc.integer({ min: 1, max: 10 }),
  after: fc.option(fc.record({ createdAt: seconds.map(time), id: fc.uuid().map((uuid) => `aud_${uuid}`) }), {
    nil: undefined,
  }),
});

function matchesAudit(entry: ReturnType<typeof auditRecord>, query: AuditQuery): boolean {
  const { principal, tool, outcome, from, to, after } = query;
  if ((principal && entry.principal.id !== principal) || (tool && entry.tool !== tool)) return false;
  if ((outcome && entry.outcome !== outcome) || (from && entry.at < from) || (to && entry.at >= to)) return false;
  return !after || compareText(entry.at + entry.id, after.createdAt + after.id) < 0;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function dropUndefined<Value extends object>(
  value: Value,
): { [Member in keyof Value]: Exclude<Value[Member], undefined> } {
  const { rank: _, ...kept } = value as Value & { rank?: number };
  // Exactly the members that are undefined are left out.
  return Object.fromEntries(Object.entries(kept).filter(([, item]) => item !== undefined)) as never;
}
