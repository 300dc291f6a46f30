import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { otherEffectsOf } from '../../tools/versions/other-effects.ts';
import { auditRecord } from '../store/records.ts';
import { callsOf, callTool, mustCall } from '../support/calls.ts';
import { capsuleClients } from '../support/capsules.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { keyOfSomebody } from '../support/second-person.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

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
  readonly otherEffects?: {
    readonly calls: readonly { readonly tool: string; readonly calls: number; readonly auditId: string }[];
    readonly complete: boolean;
  };
}

const EVERYTHING = [
  ...['create_skill', 'update_skill', 'delete_skill', 'create_project', 'delete_project', 'update_project'],
  ...['create_document', 'update_document', 'delete_document', 'create_agent', 'update_agent', 'delete_agent'],
  ...['create_flow', 'update_flow', 'delete_flow', 'create_artifact', 'update_artifact', 'delete_artifact'],
  ...['create_memory', 'update_memory', 'delete_memory', 'create_record', 'update_record', 'delete_record'],
  ...['create_task', 'update_task_document'],
];
const NOTHING_ELSE = { calls: [], complete: true };
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
    const [deleted] = (await must('list_versions', { entityType: 'document', entityId: document.id })).data;
    assert.deepEqual([deleted.kind, deleted.changeDescription], ['delete', 'Undid revision 1']);
    const again = await undo(by, since);
    assert.deepEqual(again, { dryRun: false, undone: [], left, otherEffects: NOTHING_ELSE }, 'once is enough');
  });

  it('names the calls whose effects remain, to who may read the audit log', async () => {
    const since = start();
    const capsule = await capsules.make({
      allowedTools: ['create_skill', 'create_goal', 'list_skills', 'delete_goal'],
    });
    await capsules.call(capsule, 'create_skill', { name: 'versioned' });
    await capsules.call(capsule, 'list_skills');
    for (const title of ['one', 'two']) await capsules.call(capsule, 'create_goal', { title });
    await capsules.call(capsule, 'delete_goal', { id: 'gol_none' });
    const by = { capsuleId: capsule.id };
    for (const dryRun of [true, false]) {
      const { undone, otherEffects } = await undo(by, since, { dryRun });
      assert.deepEqual([undone.length, otherEffects?.complete], [1, true]);
      assert.deepEqual(
        otherEffects?.calls.map(({ tool, calls }) => [tool, calls]),
        [['create_goal', 2]],
      );
      const { data } = await must('list_audit_entries', { tool: 'create_goal', limit: 1 });
      assert.equal(otherEffects?.calls[0]?.auditId, data[0].id, 'the last of them');
    }
    const key = await keyWith({ scopes: [], grants: ['undo:write', 'skill:*'] });
    const blind = (await mustCall(server, key.secret, 'undo_changes', { by, since })) as unknown as Undone;
    assert.equal(blind.otherEffects, undefined);
  });

  it('does not take an actor that is in no record, and changed nothing, for one that did nothing', async () => {
    const since = start();
    const key = await keyWith({ name: 'intern', scopes: ['admin'] });
    const unknown = {
      principalId: ['key_none', 'intern', 'list_api_keys'],
      capsuleId: ['cap_none', key.id, 'list_capsules'],
      appId: ['app_none', 'list_connected_apps'],
      agentId: ['nobody', 'agt_none', 'list_agents'],
      runId: ['run_none', 'list_agent_runs'],
      flowRunId: ['run_none', 'list_flow_runs'],
    };
    for (const [member, texts] of Object.entries(unknown)) {
      const list = texts.at(-1) ?? '';
      for (const id of texts.slice(0, -1)) {
        const { code, error } = await refused('undo_changes', { by: { [member]: id }, since, dryRun: true });
        assert.deepEqual([code, error.includes(id), error.includes(list)], ['not_found', true, true], error);
      }
    }
    const agent = await must('create_agent', { name: 'idle', displayName: 'Idle' });
    for (const by of [{ principalId: key.id }, { agentId: agent.id }, { agentId: 'idle' }])
      assert.deepEqual((await undo(by, since, { dryRun: true })).undone, []);
    await mustCall(server, key.secret, 'create_skill', { name: 'by the intern' });
    await server.store.transaction((tx) => tx.apiKeys.delete(key.id));
    for (const from of [since, new Date(Date.now() + 60_000).toISOString()]) {
      const { undone } = await undo({ principalId: key.id }, from, { dryRun: true });
      assert.equal(undone.length, from === since ? 1 : 0, 'it is gone, and its changes are known');
    }
  });

  it('shows in a dry run what the real one does, and tells of each task', async () => {
    const others = await must('create_task', { title: 'of another', content: 'x' });
    const noted = await must('create_task', { title: 'noted', content: 'old' });
    const since = start();
    const key = await keyWith({ scopes: ['admin'] });
    const change = (tool: string, given: object) => mustCall(server, key.secret, tool, given);
    const project = await change('create_project', { name: 'made with a task' });
    const task = await change('create_task', { title: 'in it', projectId: project.id });
    await change('delete_task', { id: others.id });
    await change('update_task', { id: noted.id, status: 'done' });
    await change('update_task_document', { id: noted.id, content: 'new' });
    const by = { principalId: key.id };
    const shown = await undo(by, since, { dryRun: true });
    assert.equal((await must('get_task_document', { id: noted.id })).content, 'new');
    assert.equal((await must('list_versions', { entityType: 'task-document', entityId: noted.id })).data.length, 2);
    const { undone, left, otherEffects } = await undo(by, since);
    assert.deepEqual(
      undone.map(({ type, id }) => [type, id]),
      [['task-document', noted.id]],
    );
    const why = (id: string) => left.find((one) => one.id === id)?.why ?? '';
    assert.match(why(project.id), new RegExp(`^Still the projectId of task "in it" ${task.id}`));
    assert.match(why(others.id), /^The task .+ is deleted/);
    assert.equal(why(task.id), `It was made with the task ${task.id}, and goes with that one when it is deleted.`);
    assert.deepEqual(otherEffects?.calls.map(({ tool, calls }) => [tool, calls]).sort(), [
      ['create_task', 1],
      ['delete_task', 1],
      ['update_task', 1],
    ]);
    assert.deepEqual(
      { undone, left, otherEffects },
      { otherEffects: shown.otherEffects, left: shown.left, undone: shown.undone.map(({ diff: _, ...rest }) => rest) },
    );
  });

  it('says where it looked at no more of these calls', async () => {
    const { store, registry } = await openTestRegistry();
    for (let n = 0; n < 501; n += 1) store.audit.append(auditRecord({ tool: 'create_goal' }));
    const principal = principalOf({ type: 'session', id: 'usr_1', scopes: ['admin'] });
    const caller = { store, principal, server: registry.server };
    const wanted = { by: {}, actor: 'key_1', since: new Date(Date.now() - 60_000).toISOString() };
    const looked = async (most: number) => {
      const { calls, complete } = (await otherEffectsOf(wanted, [], caller, most)) ?? {};
      return [calls?.[0]?.calls, complete];
    };
    assert.deepEqual(
      [await looked(500), await looked(501)],
      [
        [500, false],
        [501, true],
      ],
    );
  });

  it('brings back 190 records of all kinds that a capsule changed, and names the 10 that others changed since', async () => {
    const database = await must('create_database', { name: 'Leads', columns: [{ name: 'Name', type: 'string' }] });
    const agent = await must('create_agent', { name: 'undone', displayName: 'Undone' });
    const kinds = {
      skill: {
        make: (name: string) => must('create_skill', { name }),
        change: ['update_skill', { instructions: 'b' }],
      },
      project: {
        make: (name: string) => must('create_project', { name }),
        change: ['update_project', { description: 'b' }],
      },
      document: {
        make: (title: string) => must('create_document', { title, content: 'a' }),
        change: ['update_document', { content: 'b' }],
      },
      agent: {
        make: (name: string) => must('create_agent', { name, displayName: name }),
        change: ['update_agent', { displayName: 'b' }],
      },
      flow: { make: (name: string) => must('create_flow', { name }), change: ['update_flow', { description: 'b' }] },
      artifact: {
        make: (name: string) => must('create_artifact', { name, mimeType: 'text/plain', content: 'a' }),
        change: ['update_artifact', { content: 'b' }],
      },
      memory: {
        make: (content: string) => must('create_memory', { agentId: agent.id, content, kind: 'fact' }),
        change: ['update_memory', { content: 'b' }],
      },
      'database-record': {
        make: (Name: string) => must('create_record', { databaseId: database.id, values: { Name } }),
        change: ['update_record', { values: { Name: 'b' } }],
      },
      'task-document': {
        make: (title: string) => must('create_task', { title, content: 'a' }),
        change: ['update_task_document', { content: 'b' }],
      },
    } as const;
    const of = (type: string, id: string) => ({ id, ...(type === 'database-record' && { databaseId: database.id }) });
    const made: { readonly type: keyof typeof kinds; readonly id: string }[] = [];
    for (const [type, { make }] of Object.entries(kinds))
      for (let n = 0; n < 23; n += 1) made.push({ type: type as keyof typeof kinds, id: (await make(`many-${n}`)).id });
    const chosen = made.slice(0, 199);
    await must('update_bot_config', { maxTokens: 2048 });
    const since = start();
    const capsule = await capsules.make({
      allowedTools: [...Object.values(kinds).map(({ change: [tool] }) => tool), 'update_bot_config'],
    });
    const change = async (call: (tool: string, input: object) => Promise<unknown>, each: (typeof made)[number]) => {
      const [tool, members] = kinds[each.type].change;
      await call(tool, { ...of(each.type, each.id), ...members });
    };
    for (const each of chosen) await change((tool, input) => capsules.call(capsule, tool, { ...input }), each);
    await capsules.call(capsule, 'update_bot_config', { maxTokens: 4096 });
    const others = chosen.filter((_, at) => at % 20 === 7);
    for (const { type, id } of others) {
      const [tool, members] = kinds[type].change;
      const [member = ''] = Object.keys(members);
      await must(tool, { ...of(type, id), [member]: member === 'values' ? { Name: 'c' } : 'c' });
    }
    const { undone, left } = await undo({ capsuleId: capsule.id }, since);
    assert.deepEqual([others.length, left.map(({ id }) => id).sort()], [10, others.map(({ id }) => id).sort()]);
    assert.deepEqual([undone.length, new Set(undone.map(({ type }) => type)).size], [190, 10]);
    for (const { why } of left) assert.match(why, /is a later change by/);
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
      ...{ name: 'rex', displayName: 'Rex', modelPreference: 'offline/rehearsal', tools: ['create_*'] },
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
    assert.deepEqual(byRun.otherEffects, NOTHING_ELSE);
    const byAgent = await undo({ agentId: agent.id }, since, { dryRun: true });
    assert.deepEqual(
      byAgent.undone.map(({ name }) => name),
      ['by rex 2', 'by rex 1'],
    );
    const other = await must('invoke_agent', { agent: agent.id, input: '/create_goal {"title":"by rex"}' });
    const { otherEffects } = await undo({ runId: other.runId }, since, { dryRun: true });
    assert.deepEqual(
      otherEffects?.calls.map(({ tool, calls }) => [tool, calls]),
      [['create_goal', 1]],
      'what the agent did, and not that it was asked to',
    );
  });

  it('finds what one run of a flow did', async () => {
    const steps = [
      { id: 'skill', tool: 'create_skill', arguments: { name: 'by {{input.who}}' } },
      { id: 'goal', tool: 'create_goal', arguments: { title: 'by a flow' } },
    ];
    const flow = await must('create_flow', { name: 'makes two', steps });
    const since = start();
    const trigger = async (who: string) =>
      must('trigger_flow', { id: flow.id, input: { who }, wait: true }) as Promise<{ id: string }>;
    const first = await trigger('one');
    await trigger('two');
    const { undone, otherEffects } = await undo({ flowRunId: first.id }, since);
    assert.deepEqual(
      undone.map(({ name }) => name),
      ['by one'],
    );
    assert.deepEqual(
      otherEffects?.calls.map(({ tool, calls }) => [tool, calls]),
      [['create_goal', 1]],
    );
  });

  it('undoes what was changed before a time only, as far as nothing came after', async () => {
    const [one, two] = [await must('create_skill', { name: 'early' }), await must('create_skill', { name: 'later' })];
    const since = start();
    const capsule = await capsules.make({ allowedTools: EVERYTHING });
    for (const { id } of [one, two]) await capsules.call(capsule, 'update_skill', { id, instructions: 'in time' });
    const [{ createdAt }] = (await must('list_versions', { entityType: 'skill', entityId: two.id })).data;
    await until(() => new Date().toISOString() > createdAt);
    const limit = new Date().toISOString();
    await capsules.call(capsule, 'update_skill', { id: two.id, instructions: 'after' });
    await capsules.call(capsule, 'create_goal', { title: 'after' });
    const { undone, left, otherEffects } = await undo({ capsuleId: capsule.id }, since, { until: limit });
    assert.deepEqual([undone.map(({ id }) => id), left.map(({ id }) => id)], [[one.id], [two.id]]);
    assert.match(left[0]?.why ?? '', /^Revision 3 is a later change by .+\(capsule\)\.$/);
    assert.deepEqual(otherEffects, NOTHING_ELSE);
  });

  it('shows no more differences than fit into an answer', async () => {
    const made = [];
    for (const name of ['a', 'b', 'c']) made.push(await must('create_document', { title: name, content: 'x' }));
    const since = start();
    const capsule = await capsules.make({ allowedTools: EVERYTHING });
    for (const { id } of made) await capsules.call(capsule, 'update_document', { id, content: 'y'.repeat(250_000) });
    const { undone } = await undo({ capsuleId: capsule.id }, since, { dryRun: true });
    assert.deepEqual(
      undone.map(({ name, diff }) => [name, diff !== undefined]),
      [
        ['c', true],
        ['b', true],
        ['a', false],
      ],
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
    const asks = await keyWith({ scopes: ['admin'], askFirst: ['update_*', 'undo_changes'] });
    const { approvalId } = await refused('undo_changes', { by, since }, asks.secret);
    const person = await keyOfSomebody(server.store, 'decides');
    await must('decide_approval', { id: approvalId, decision: 'approve' }, person);
    const { answer } = await must('wait_for_approval', { id: approvalId, seconds: 10 }, asks.secret);
    assert.deepEqual([answer.undone[0]?.id, answer.left], [id, []], 'a person has seen it as a whole');
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
    assert.deepEqual(
      (answer.output as unknown as Undone).otherEffects?.calls.map(({ tool, calls }) => [tool, calls]),
      [['create_skill', 501]],
      'however many pages the audit log has of them',
    );
    assert.equal((answer.output as unknown as Undone).otherEffects?.complete, true);
  });

  it('refuses to look through more than 10,000 changes of few records', async () => {
    const key = await keyWith({ scopes: ['admin'] });
    const since = start();
    const { id: entityId } = await mustCall(server, key.secret, 'create_skill', { name: 'often', instructions: 'x' });
    await server.store.transaction(async (tx) => {
      const first = await tx.versions.first({ where: { entityId } });
      assert.ok(first);
      const { id: _, createdAt: __, ...version } = first;
      await tx.versions.insertAll(Array.from({ length: 10_000 }, (_, at) => ({ ...version, revision: at + 2 })));
    });
    const { code, error } = await refused('undo_changes', { by: { principalId: key.id }, since });
    assert.equal(code, 'too_large');
    assert.match(error, /more than 10000 changes/);
  });
});
