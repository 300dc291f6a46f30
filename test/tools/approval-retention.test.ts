import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startRetention } from '../../tools/retention.ts';
import { ApprovalWorld } from '../support/approval-world.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let time = Date.now() - 200 * DAY_MS;
const world = await ApprovalWorld.open([], () => new Date(time));
const { must, codeOf } = world.registry;
const anna = await world.person('anna');
const bert = await world.person('bert');
const calls = world.calls();
const asking = await world.key(anna, { scopes: ['admin'], askFirst: ['create_*'] });
const retention = () => startRetention(world.store, (cause) => assert.fail(String(cause))).close();
const sealed = async (id: string) => (await world.store.approvals.get(id))?.sealed !== undefined;

it('arguments go as soon as nothing can run any more, and records after the days of the settings', async () => {
  const ask = (name: string) => world.asked(asking, 'create_skill', { name });
  const [done, rejected, late, unused] = [
    await ask('done'),
    await ask('rejected'),
    await ask('late'),
    await ask('unused'),
  ];
  for (const id of [done, rejected, late]) assert.ok(await sealed(id));
  await world.approve(bert, done);
  await calls.look();
  await must(bert, 'decide_approval', { id: rejected, decision: 'reject', note: 'No.' });
  for (const id of [done, rejected]) assert.ok(!(await sealed(id)), id);
  assert.equal((await must(asking, 'get_approval', { id: done })).answer.name, 'done');
  // Who may decide sees what was decided, also without the arguments.
  assert.equal((await must(bert, 'get_approval', { id: rejected })).note, 'No.');
  assert.equal(await codeOf(bert, 'decide_approval', { id: rejected, decision: 'approve' }), 'conflict');
  assert.equal(await codeOf(asking, 'create_skill', { name: 'rejected' }), 'forbidden');

  const { id: secret } = await must(anna, 'get_approval', {
    id: await world.asked(asking, 'create_api_key', { name: 'more', scopes: ['read'], askFirst: ['create_*'] }),
  });
  await world.approve(bert, secret);
  time += 25 * HOUR_MS;
  await calls.expire();
  for (const id of [late, unused, secret]) {
    assert.equal((await world.store.approvals.read(id)).status, 'expired');
    assert.ok(!(await sealed(id)), id);
  }
  assert.equal(await codeOf(bert, 'decide_approval', { id: late, decision: 'approve' }), 'conflict');
  const again = await ask('late');
  assert.notEqual(again, late);
  assert.equal((await must(bert, 'list_approvals', { status: 'expired' })).data.length, 3);

  await must(anna, 'update_settings', { retentionDays: { audit: null, approvals: null } });
  await retention();
  assert.equal(await world.store.approvals.count({}), 6);
  await must(anna, 'update_settings', { retentionDays: { audit: null, approvals: 10 } });
  await retention();
  // What waits stays, however long ago it was asked for.
  const { records } = await world.store.approvals.find({ limit: 10 });
  assert.deepEqual(
    records.map(({ id, status }) => [id, status]),
    [[again, 'waiting']],
  );
});

it('what was rejected stays refused until its approval would have expired, however few days are kept', async () => {
  time = Date.now() - 2 * DAY_MS;
  await must(anna, 'update_settings', { approvalHours: 720, retentionDays: { audit: null, approvals: 1 } });
  const id = await world.asked(asking, 'create_skill', { name: 'never' });
  await must(bert, 'decide_approval', { id, decision: 'reject' });
  await retention();
  assert.equal(await codeOf(asking, 'create_skill', { name: 'never' }), 'forbidden');
});

it('arguments of a call that its caller makes again go with its kept answer', async () => {
  time = Date.now() - 3 * DAY_MS;
  const input = { name: 'again', scopes: ['read'], askFirst: ['create_*'] };
  const id = await world.asked(asking, 'create_api_key', input);
  await world.approve(bert, id);
  assert.equal(await codeOf(asking, 'create_api_key', input), 'ok');
  await must(anna, 'update_settings', { retentionDays: { audit: null, approvals: 30 } });
  await retention();
  assert.equal((await world.store.approvals.read(id)).status, 'done');
  assert.ok(!(await sealed(id)));
});
