import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Cursor, Position, Query, Store } from '../../store/port.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { compareText, type Stage, seconds } from './conformance-stage.ts';
import { agentRecord, threadRecord, time } from './records.ts';

export function queriesConformance(stage: Stage): void {
  describe('queries', () => {
    before(() => stage.fresh());

    it('find and count what a naive model finds, in and out of transactions', async () => {
      const model: NaiveAgent[] = [];
      let serial = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(naiveAgent, { maxLength: 6 }),
          fc.array(agentQuery, { minLength: 4, maxLength: 8 }),
          async (added, queries) => {
            await stage.store.transaction(async (tx) => {
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
            for (const query of queries) await agrees(stage.store.agents, model, query);
          },
        ),
        { numRuns: rounds(10, 60), endOnFailure: true },
      );
      await stage.reopen();
      await agrees(stage.store.agents, model, { limit: 1000 });
    });

    it('walk all pages without gap or repetition', async () => {
      for (const order of ['newest', 'oldest'] as const) {
        const all = (await stage.store.agents.find({ order, limit: 1000 })).records;
        const walked: unknown[] = [];
        let after: Position | undefined;
        do {
          const page = await stage.store.agents.find({ order, limit: 7, after });
          walked.push(...page.records);
          after = page.next ?? undefined;
        } while (after);
        assert.deepEqual(walked, all);
      }
    });

    it('sort records without the member behind all others', async () => {
      const dates = ['2026-03-02T00:00:00.000Z', undefined, '2026-03-01T00:00:00.000Z', undefined];
      const ids = await stage.store.transaction(async (tx) => {
        const made: string[] = [];
        for (const dueAt of dates) {
          const task = { title: 't', status: 'todo', priority: 'normal', ...(dueAt && { dueAt }) } as const;
          made.push((await tx.tasks.insert({ ...task, id: `tsk_sorted_${made.length}` })).id);
        }
        return made;
      });
      const expected = [2, 0, 1, 3].map((at) => ids[at]);
      const found = async (isDescending: boolean) =>
        (await stage.store.tasks.find({ sort: { by: 'dueAt', isDescending }, limit: 9 })).records.map(({ id }) => id);
      assert.deepEqual(await found(false), expected);
      assert.deepEqual(await found(true), expected.toReversed());
    });

    it('walk all pages of each sort while others write: records that stay come once and in order', async () => {
      const stays = Array.from({ length: 60 }, (_, at) => `Stay ${(at * 37) % 60} ${at % 2 ? 'É' : 'e'}`);
      await stage.store.transaction(async (tx) => {
        for (const name of stays) await tx.projects.insert({ name, status: 'active' });
        for (let at = 0; at < 40; at += 1) await tx.projects.insert({ name: `moves ${at}`, status: 'active' });
      });
      let serial = 0;
      const disturb = () =>
        stage.store.transaction(async (tx) => {
          serial += 1;
          const moving = (await tx.projects.find({ part: { members: ['name'], text: 'moves' }, limit: 100 })).records;
          const [one, other] = [moving[serial % moving.length], moving[(serial * 7 + 1) % moving.length]];
          if (one) await tx.projects.update(one.id, { name: `${serial % 2 ? 'A' : 'z'} moves ${serial}` });
          if (other && other !== one) await tx.projects.delete(other.id);
          await tx.projects.insert({ name: `${serial % 3 ? 'stay' : 'T'} moves ${serial}`, status: 'active' });
        });
      for (const by of ['name', 'updatedAt'] as const) {
        for (const isDescending of [false, true]) {
          const sort = { by, isDescending };
          const whole = (await stage.store.projects.find({ sort, limit: 1000 })).records;
          const walked: (typeof whole)[number][] = [];
          let after: Cursor | undefined;
          do {
            const page = await stage.store.projects.find({ sort, limit: 7, after });
            walked.push(...page.records);
            after = page.next ?? undefined;
            await Promise.all([disturb(), disturb()]);
          } while (after);
          const staying = (records: typeof whole) =>
            records.filter(({ name }) => name.startsWith('Stay')).map(({ id }) => id);
          assert.equal(staying(whole).length, stays.length);
          assert.deepEqual(staying(walked), staying(whole), `${by} ${isDescending}`);
        }
      }
    });

    it('continue behind a record that was deleted meanwhile', async () => {
      const { records, next } = await stage.store.agents.find({ limit: 3 });
      const expected = (await stage.store.agents.find({ limit: 6 })).records.slice(3);
      await stage.write.agents.delete(records.at(-1)?.id ?? '');
      assert.deepEqual((await stage.store.agents.find({ limit: 3, after: next ?? undefined })).records, expected);
    });

    it('count by members of the record they belong to, in and out of transactions', async () => {
      const message = (id: string, threadId: string, seconds: number) =>
        ({ id, threadId, role: 'user', content: 'x', createdAt: time(seconds) }) as const;
      const agree = async ({ messages }: Pick<Store, 'messages'>, found: readonly number[]) => {
        const where = { accessKeys: ['one', 'two'] };
        const counts = [
          messages.count({ owner: { where } }),
          messages.count({ owner: { where: { accessKeys: 'one' } } }),
          messages.count({ owner: { where, any: [{ id: 'thr_b' }] } }),
          messages.count({ owner: { where }, from: time(1), to: time(3) }),
          messages.count({ owner: { where }, where: { threadId: 'thr_a' } }),
          messages.count({ owner: { where: { accessKeys: 'none' } } }),
          messages.count({ owner: {} }),
        ];
        assert.deepEqual(await Promise.all(counts), found);
      };
      await stage.store.transaction(async (tx) => {
        for (const [id, key] of Object.entries({ thr_a: 'one', thr_b: 'two', thr_c: 'three' })) {
          await tx.threads.insert(threadRecord(id, { id, accessKeys: [key, 'admin'] }));
        }
        await tx.messages.insertAll([message('msg_1', 'thr_a', 1), message('msg_2', 'thr_a', 3)]);
        await tx.messages.insertAll([message('msg_3', 'thr_b', 2), message('msg_4', 'thr_c', 2)]);
        await agree(tx, [3, 2, 1, 2, 2, 0, 4]);
      });
      await agree(stage.store, [3, 2, 1, 2, 2, 0, 4]);
      await stage.store.transaction(async (tx) => {
        await tx.threads.touch('thr_c', { accessKeys: ['one'] });
        await tx.threads.delete('thr_b');
        await agree(tx, [3, 3, 0, 2, 2, 0, 3]);
      });
      await agree(stage.store, [3, 3, 0, 2, 2, 0, 3]);
    });
  });
}

type NaiveAgent = Awaited<ReturnType<Store['agents']['get']>> & object;
type AgentQuery = Query<NaiveAgent>;

const skills = fc.array(fc.constantFrom('skl_1', 'skl_2', 'skl_3'), { maxLength: 3 });
const statuses = fc.constantFrom('active', 'paused', 'deleted');
const naiveAgent = fc.record({
  createdAt: seconds.map(time),
  status: statuses as fc.Arbitrary<NaiveAgent['status']>,
  skillIds: fc.option(skills, { nil: undefined }),
  displayName: fc.constantFrom(
    ...[
      'M1 Straße',
      '100% İ_',
      'ΟΔΟΣ',
      'Caf\u00e9\\',
      'ÉTÉ ΣΑ',
      'Ǆ ẞ',
      'ete',
      'Zoë',
      '😀 a',
      '\uffe6 ﬁ',
      'οδος',
      '~',
      'ｆｕｌｌ',
    ],
    ...[
      `${'É'.repeat(99)}B`,
      `${'e'.repeat(99)}ba`,
      `${'e'.repeat(99)}c`,
      `${'😀'.repeat(99)}😀b`,
      `${'😀'.repeat(100)}a`,
    ],
  ),
  maxSteps: fc.integer({ min: 1, max: 3 }),
  description: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
  rank: fc.integer({ min: 0, max: 9 }),
});

const oneOrMore = <Value>(value: fc.Arbitrary<Value>) => fc.oneof(value, fc.array(value, { maxLength: 3 }));
const conditions = {
  id: oneOrMore(
    fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 1, max: 30 })).map(([rank, at]) => `agt_${rank}_${at}`),
  ),
  status: oneOrMore(statuses),
  skillIds: oneOrMore(fc.constantFrom('skl_1', 'skl_2', 'skl_9')),
  maxSteps: oneOrMore(fc.integer({ min: 1, max: 3 })),
  description: oneOrMore(fc.constantFrom('x', 'y', '')),
  name: oneOrMore(fc.integer({ max: 40, min: 0 }).map((at) => `m${at}`)),
};
/** Mostly one or two conditions, so that many records match. */
const agentWhere = fc.oneof(
  { weight: 2, arbitrary: fc.record({ skillIds: conditions.skillIds }) },
  { weight: 2, arbitrary: fc.record({ status: conditions.status }) },
  { weight: 1, arbitrary: fc.record({ status: conditions.status, skillIds: conditions.skillIds }) },
  { weight: 1, arbitrary: fc.record({ name: conditions.name }) },
  { weight: 1, arbitrary: fc.record({ id: conditions.id }) },
  { weight: 2, arbitrary: fc.record(conditions, { requiredKeys: [] }) },
);
const position = fc.record({
  createdAt: seconds.map(time),
  id: fc.integer({ min: 0, max: 9 }).map((rank) => `agt_${rank}_5`),
});
const part = fc.record({
  members: fc.constantFrom(['name', 'displayName'] as const, ['displayName'] as const),
  text: fc.constantFrom('1', 'M2', 'straß', 'ΔΟ', 'i\u0307', '%', '_', '\\', '\0', 'e\u0301'),
});
const agentQuery: fc.Arbitrary<AgentQuery> = fc.record({
  part: fc.option(part, { nil: undefined, freq: 2 }),
  where: fc.option(agentWhere, { nil: undefined }),
  any: fc.option(fc.array(agentWhere, { maxLength: 3 }), { nil: undefined, freq: 2 }),
  from: fc.option(seconds.map(time), { nil: undefined, freq: 2 }),
  to: fc.option(seconds.map(time), { nil: undefined, freq: 2 }),
  order: fc.constantFrom('newest', 'oldest', undefined),
  sort: fc.option(
    fc.record({ by: fc.constantFrom('name', 'displayName', 'updatedAt'), isDescending: fc.boolean() }) as fc.Arbitrary<
      AgentQuery['sort'] & object
    >,
    { nil: undefined },
  ),
  limit: fc.integer({ min: 1, max: 12 }),
  after: fc.option(position, { nil: undefined, freq: 2 }),
});

async function agrees(reader: Store['agents'], model: readonly NaiveAgent[], query: AgentQuery): Promise<void> {
  const matching = model.filter((record) => matchesAgent(record, query));
  assert.equal(
    await reader.count({ where: query.where, any: query.any, part: query.part, from: query.from, to: query.to }),
    matching.length,
  );
  const { sort } = query;
  const sign = (sort ? !sort.isDescending : query.order === 'oldest') ? 1 : -1;
  const place = ({ createdAt, id, ...record }: NaiveAgent): Cursor =>
    sort ? { createdAt, id, sortKey: naiveSortKey(String(record[sort.by as 'name'])) } : { createdAt, id };
  const compare = (a: Cursor, b: Cursor) =>
    (sort ? compareBytes(a.sortKey, b.sortKey) : compareText(a.createdAt, b.createdAt)) || compareText(a.id, b.id);
  // Pages that sort continue at places that there are.
  const after = sort && query.after ? matching.slice(-2).map(place)[0] : query.after;
  const expected = matching
    .filter((record) => !after || compare(place(record), after) * sign > 0)
    .sort((a, b) => compare(place(a), place(b)) * sign);
  const { records, next } = await reader.find({ ...query, after });
  assert.deepEqual(records, expected.slice(0, query.limit));
  const last = records.at(-1);
  assert.deepEqual(next, expected.length > query.limit && last ? place(last) : null);
}

function naiveSortKey(text: string): string {
  const plain = text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '');
  return Array.from(plain).slice(0, 100).join('');
}

function compareBytes(a = '', b = ''): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function matchesAgent(record: NaiveAgent, { where, any, part, from, to }: AgentQuery): boolean {
  const holds = (clause: object) =>
    Object.entries(clause).every(([member, wanted]) => {
      const value: unknown = Reflect.get(record, member);
      const values = Array.isArray(value) ? value : [value];
      return values.some((item) => item !== undefined && [wanted].flat().includes(item));
    });
  if ((from && record.createdAt < from) || (to && record.createdAt >= to)) return false;
  const wanted = part?.text.normalize('NFC').toLowerCase() ?? '';
  if (part && !part.members.some((member) => String(record[member]).toLowerCase().includes(wanted))) return false;
  return holds(where ?? {}) && (!any || any.some(holds));
}

function dropUndefined<Value extends object>(
  value: Value,
): { [Member in keyof Value]: Exclude<Value[Member], undefined> } {
  const { rank: _, ...kept } = value as Value & { rank?: number };
  // Exactly the members that are undefined are left out.
  return Object.fromEntries(Object.entries(kept).filter(([, item]) => item !== undefined)) as never;
}
