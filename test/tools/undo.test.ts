import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, callTool, mustCall } from '../support/calls.ts';
import { capsuleClients } from '../support/capsules.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, call, refused } = callsOf(server);
const capsules = capsuleClients(() => server);

interface Done {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
  readonly from: number;
  readonly to: number;
  readonly diff?: { readonly changes: readonly { readonly path: string }[] };
}
interface Left {
  readonly type: string;
  readonly id: string;
  readonly why: string;
}
interface Undone {
  readonly undone: readonly Done[];
  readonly left: readonly Left[];
}

const EVERYTHING = [
  ...['create_skill', 'update_skill', 'delete_skill', 'create_project', 'delete_project', 'update_project'],
  ...['create_document', 'update_document', 'delete_document', 'create_agent', 'update_agent', 'delete_agent'],
  ...['create_flow', 'update_flow', 'delete_flow', 'create_artifact', 'update_artifact', 'delete_artifact'],
  ...['store_memory', 'update_memory', 'delete_memory', 'create_record', 'update_record', 'delete_record'],
  ...['create_task', 'update_task_document'],
];
const keyWith = async (rights: object) => await must('create_api_key', { name: 'k', scopes: [], ...rights });
const start = () => new Date(Date.now() - 1).toISOString();
const undo = (by: object, since: string, more: object = {}) =>
  must('undo_changes', { by, since, ...more }) as unknown as Promise<Undone>;

describe('undo_changes', () => {
  it('brings back what a capsule changed, created and deleted, and names what others changed since', async () => {
    const kept = await must('create_skill', { name: 'kept', instructions: 'old' });
    const gone = await must('create_skill', { name: 'gone', instructions: 'here' });
    const shared = await must('create_skill', { name: 'shared', instructions: 'old' });
    const since = start();
    const capsule = await capsules.make({ allowedTools: EVERYTHING });
    await capsules.call(capsule, 'update_skill', { id: kept.id, instructions: 'new' });
    await capsules.call(capsule, 'update_skill', { id: kept.id, instructions: 'newer' });
    await capsules.call(capsule, 'delete_skill', { id: gone.id });
    await capsules.call(capsule, 'update_skill', { id: shared.id, instructions: 'theirs' });
    const project = await capsules.call(capsule, 'create_project', { name: 'made' });
    const document = await capsules.call(capsule, 'create_document', {
      title: 'In it',
      content: 'x',
      projectId: project.id,
    });
    await must('update_skill', { id: shared.id, instructions: 'mine' });

    const by = { capsuleId: capsule.id };
    const shown = await undo(by, since, { dryRun: true });
    assert.deepEqual(shown.undone.find(({ id }) => id === kept.id)?.diff?.changes.length, 0);
    assert.equal((await must('get_skill', { id: kept.id })).instructions, 'newer', 'nothing is changed by a dry run');

    const { undone, left } = await undo(by, since);
    assert.deepEqual(
      undone.map(({ type, id, from, to }) => [type, id, from, to]),
      [
        ['document', document.id, 1, 0],
        ['project', project.id, 1, 0],
        ['skill', gone.id, 2, 1],
        ['skill', kept.id, 3, 1],
      ],
    );
    assert.deepEqual(
      undone,
      shown.undone.map(({ diff: _, ...rest }) => rest),
    );
    assert.equal(left.length, 1);
    assert.match(left[0]?.why ?? '', /^Revision 3 is a later change by .+\.$/);
    assert.equal((await must('get_skill', { id: kept.id })).instructions, 'old');
    assert.equal((await must('get_skill', { id: gone.id })).instructions, 'here');
    assert.equal((await must('get_skill', { id: shared.id })).instructions, 'mine');
    assert.equal((await refused('get_document', { id: document.id })).code, 'not_found');
    const [newest] = (await must('list_versions', { entityType: 'skill', entityId: kept.id })).data;
    assert.deepEqual([newest.kind, newest.changeDescription], ['restore', 'Undid revisions 2 to 3']);
    assert.deepEqual(await undo(by, since), { dryRun: false, undone: [], left }, 'once is enough');
  });

  it('undoes an undoing', async () => {
    const { id } = await must('create_skill', { name: 'there and back', instructions: 'old' });
    const key = await keyWith({ scopes: ['admin'] });
    const since = start();
    await mustCall(server, key.secret, 'update_skill', { id, instructions: 'new' });
    const other = await keyWith({ scopes: ['admin'] });
    const undoing = { by: { principalId: key.id }, since };
    await mustCall(server, other.secret, 'undo_changes', undoing);
    assert.equal((await must('get_skill', { id })).instructions, 'old');
    await undo({ principalId: other.id }, since);
    assert.equal((await must('get_skill', { id })).instructions, 'new');
  });

  it('frees a name that it gave away, and leaves one that belongs to another now', async () => {
    const one = await must('create_skill', { name: 'first name' });
    const two = await must('create_skill', { name: 'second name' });
    const since = start();
    const capsule = await capsules.make({ allowedTools: EVERYTHING });
    await capsules.call(capsule, 'update_skill', { id: one.id, name: 'first name, later' });
    await capsules.call(capsule, 'update_skill', { id: two.id, name: 'second name, later' });
    const mine = await capsules.call(capsule, 'create_skill', { name: 'first name' });
    const taken = await must('create_skill', { name: 'second name' });
    const { undone, left } = await undo({ capsuleId: capsule.id }, since);
    assert.deepEqual(
      undone.map(({ id }) => id),
      [mine.id, one.id],
    );
    assert.deepEqual(
      left.map(({ id, why }) => [id, why]),
      [[two.id, `Its name of before now belongs to ${taken.id}.`]],
    );
  });

  it('finds what an agent did by the agent, its run, and whom it acted for', async () => {
    const agent = await must('create_agent', {
      ...{ name: 'rex', displayName: 'Rex', modelPreference: 'offline/rehearsal', tools: ['create_skill'] },
    });
    const since = start();
    const say = async (name: string) =>
      must('invoke_agent', { agent: agent.id, input: `/create_skill ${JSON.stringify({ name })}` });
    const first = await say('by rex 1');
    await say('by rex 2');
    const byRun = await undo({ runId: first.runId }, since, { dryRun: true });
    assert.deepEqual(
      byRun.undone.map(({ name }) => name),
      ['by rex 1'],
    );
    const byAgent = await undo({ agentId: agent.id }, since, { dryRun: true });
    assert.deepEqual(
      byAgent.undone.map(({ name }) => name),
      ['by rex 2', 'by rex 1'],
    );
  });

  it('leaves what the caller may not change, and what is not told', async () => {
    const { id } = await must('create_skill', { name: 'not yours', instructions: 'old' });
    const since = start();
    const capsule = await capsules.make({ allowedTools: EVERYTHING });
    await capsules.call(capsule, 'update_skill', { id, instructions: 'new' });
    const key = await keyWith({ scopes: [], grants: ['undo:write', 'skill:read'] });
    const { undone, left } = (await mustCall(server, key.secret, 'undo_changes', {
      by: { capsuleId: capsule.id },
      since,
    })) as unknown as Undone;
    assert.deepEqual([undone, left[0]?.why], [[], 'Your rights do not include update_skill for it.']);
  });

  it('is no way around a person who is to be asked first', async () => {
    const { id } = await must('create_skill', { name: 'asked about', instructions: 'old' });
    const since = start();
    const capsule = await capsules.make({ allowedTools: EVERYTHING });
    await capsules.call(capsule, 'update_skill', { id, instructions: 'new' });
    const key = await keyWith({ scopes: ['admin'], askFirst: ['update_*'] });
    const by = { capsuleId: capsule.id };
    const { left } = (await mustCall(server, key.secret, 'undo_changes', { by, since })) as unknown as Undone;
    assert.match(left[0]?.why ?? '', /^Your calls of update_skill wait for a person;/);
  });

  it('refuses none and several actors, and more than one call can undo', async () => {
    for (const by of [{}, { agentId: 'agt_one', runId: 'run_one' }])
      assert.equal((await refused('undo_changes', { by, since: start() })).code, 'invalid_input');
    const key = await keyWith({ scopes: ['admin'] });
    const since = start();
    for (let n = 0; n < 501; n += 1) await callTool(server, key.secret, 'create_skill', { name: `many ${n}` });
    assert.equal((await refused('undo_changes', { by: { principalId: key.id }, since })).code, 'too_large');
    const answer = await call('undo_changes', { by: { principalId: key.id }, since, types: ['project'] });
    assert.ok('output' in answer);
  });
});
