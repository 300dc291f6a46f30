import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApprovalWorld } from '../support/approval-world.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { pluck } from '../support/pluck.ts';

const clock = new FakeClock('2026-03-02T09:00:00Z');
const world = await ApprovalWorld.open([], () => clock.now());
const { must } = world.registry;
const anna = await world.person('anna');
const asking = await world.key(anna, { askFirst: ['create_*'] });
const ids = async (who: typeof anna, input: object) =>
  pluck((await must(who, 'list_approvals', { limit: 100, ...input })).data, 'id');

describe('list_approvals', () => {
  it('shows what waits for nobody where nobody independent is there, and says so', async () => {
    const id = await world.asked(asking, 'create_skill', { name: 'alone' });
    for (const who of [anna, asking]) {
      const { mayDecide, undecidable } = await must(who, 'get_approval', { id });
      assert.deepEqual([mayDecide, undecidable], [false, true]);
      assert.deepEqual(await ids(who, { decidable: true }), []);
    }
    const bert = await world.person('bert');
    assert.deepEqual(await ids(bert, { decidable: true }), [id]);
    const shown = await must(bert, 'get_approval', { id });
    assert.deepEqual([shown.mayDecide, shown.undecidable], [true, undefined]);
    assert.equal((await must(anna, 'get_approval', { id })).undecidable, undefined);
    await must(bert, 'decide_approval', { id, decision: 'reject' });
    assert.deepEqual(await ids(bert, { decidable: true }), []);
    assert.equal((await must(bert, 'get_approval', { id })).mayDecide, undefined);
  });

  it('shows to each what it may decide, and counts it', async () => {
    const carl = await world.person('carl');
    const skills = await world.key(carl, { scopes: [], grants: ['approval:decide', 'approval:read', 'skill:write'] });
    const both = [
      await world.asked(asking, 'create_skill', { name: 'one' }),
      await world.asked(asking, 'create_agent', { name: 'one', displayName: 'One' }),
    ];
    const own = await world.asked(await world.key(carl, { askFirst: ['*'] }), 'create_skill', { name: 'own' });
    const decidable = { decidable: true, includeTotal: true, limit: 1 };
    assert.deepEqual(await ids(carl, { decidable: true }), both.toReversed());
    assert.equal((await must(carl, 'list_approvals', decidable)).total, 2);
    assert.deepEqual(await ids(skills, { decidable: true }), [both[0]]);
    assert.equal((await must(skills, 'list_approvals', decidable)).total, 1);
    assert.deepEqual(await ids(anna, { decidable: true }), [own]);
    assert.deepEqual(await ids(carl, { decidable: true, status: 'rejected' }), []);
    assert.deepEqual(await ids(carl, { decidable: true, tool: 'create_agent' }), [both[1]]);
    assert.deepEqual(await ids(carl, { principalId: asking.id, status: 'waiting' }), both.toReversed());
    // What is no longer in time waits for nobody.
    await clock.pass(25 * 3_600_000);
    for (const who of [carl, skills, anna]) assert.deepEqual(await ids(who, { decidable: true }), []);
    assert.deepEqual(await ids(carl, { status: 'expired' }), [own, ...both.toReversed()]);
    assert.deepEqual(await ids(carl, { status: 'waiting' }), []);
  });
});

describe('ten thousand approvals', () => {
  const MANY = 10_000;

  it('are listed by pages, each read alone, to whoever sees them all, their own, or some', async () => {
    const dora = await world.person('dora');
    const own = await world.key(dora, { askFirst: ['create_*'] });
    const sample = await world.store.approvals.read(await world.asked(own, 'create_skill', { name: 'sample' }));
    const other = await world.store.approvals.read(
      await world.asked(asking, 'create_agent', { name: 'b', displayName: 'B' }),
    );
    const made = Array.from({ length: MANY }, (_, at) => {
      const { id: _id, createdAt: _at, updatedAt: _changed, revision: _revision, ...rest } = at % 2 ? sample : other;
      return { ...rest, status: at % 10 < 2 ? ('waiting' as const) : ('rejected' as const), slot: `many ${at}` };
    });
    await world.store.transaction((tx) => tx.approvals.insertAll(made));
    const boss = await world.person('boss');
    const skills = await world.key(boss, { scopes: [], grants: ['approval:decide', 'approval:read', 'skill:write'] });
    const { store } = world;
    let read = 0;
    const find = store.approvals.find.bind(store.approvals);
    store.approvals.find = async (query) => {
      const page = await find(query);
      read += page.records.length;
      return page;
    };
    for (const [who, input] of [
      [boss, {}],
      [boss, { status: 'rejected' }],
      [boss, { principalId: own.id }],
      [own, {}],
      [dora, {}],
      [skills, {}],
      [skills, { tool: 'create_skill', status: 'waiting' }],
      [boss, { decidable: true }],
    ] as const) {
      read = 0;
      const { data } = await must(who, 'list_approvals', { limit: 50, ...input });
      assert.equal(data.length, 50);
      assert.ok(read <= 200, `${read} read for ${JSON.stringify(input)}`);
    }
    store.approvals.find = find;
    for (const [who, input, count] of [
      [boss, { tool: 'create_skill', status: 'waiting' }, MANY / 10 + 1],
      [skills, { status: 'waiting' }, MANY / 10 + 1],
      [own, {}, MANY / 2 + 1],
    ] as const) {
      const seen = new Set<string>();
      let cursor: string | undefined;
      do {
        const page: { data: { id: string }[]; nextCursor: string | null; total: number } = await must(
          who,
          'list_approvals',
          { limit: 100, ...input, includeTotal: true, ...(cursor !== undefined && { cursor }) },
        );
        assert.equal(page.total, count, JSON.stringify(input));
        for (const { id } of page.data) assert.ok(!seen.has(id) && seen.add(id));
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
      assert.equal(seen.size, count);
    }
  });
});
