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
