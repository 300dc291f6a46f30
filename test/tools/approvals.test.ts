import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { defineTool } from '../../tools/core/registry/define-tool.ts';
import { ApprovalWorld } from '../support/approval-world.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { testTool } from '../support/test-tool.ts';

const clock = new FakeClock('2026-03-02T09:00:00Z');
const world = await ApprovalWorld.open([], () => clock.now());
const { must, refused, codeOf, registry } = world.registry;
const anna = await world.person('anna');
const bert = await world.person('bert');
const calls = world.calls();

let made = 0;
const skill = () => {
  made += 1;
  return { name: `skill ${made}`, instructions: 'x' };
};
const asking = await world.key(anna, { askFirst: ['create_*', 'delete_skill'] });

describe('a call that asks first', () => {
  it('does not run, and is one approval however often it is made', async () => {
    const input = skill();
    const [first, second] = [
      await world.asked(asking, 'create_skill', input),
      await world.asked(asking, 'create_skill', input),
    ];
    assert.equal(first, second);
    assert.equal(await world.store.skills.count({ where: { name: input.name } }), 0);
    const all = await Promise.all(
      Array.from({ length: 8 }, () => world.asked(asking, 'create_skill', { ...input, name: 'at once' })),
    );
    assert.equal(new Set(all).size, 1);
  });

  it('shows what it would change to who decides, and leaves nothing of the trial', async () => {
    const kept = await must(anna, 'create_skill', skill());
    const key = await world.key(anna, { askFirst: ['update_skill'] });
    const id = await world.asked(key, 'update_skill', { id: kept.id, description: 'new' });
    const [change, ...more] = (await must(bert, 'get_approval', { id })).wouldChange;
    assert.deepEqual(
      [change.id, change.change, change.before.description, change.after.description, more],
      [kept.id, 'update', undefined, 'new', []],
    );
    assert.equal((await must(anna, 'get_skill', { id: kept.id })).revision, 1);
    const { data } = await must(anna, 'list_versions', { entityType: 'skill', entityId: kept.id });
    assert.equal(data.length, 1);
  });

  it('shows what it would change of a document too, unless a file is to be read', async () => {
    const { id } = await must(anna, 'create_document', { title: 'Refunds', content: 'Within 5 days.' });
    const key = await world.key(anna, { askFirst: ['*_document'] });
    const shown = async (tool: string, input: object) =>
      (await must(bert, 'get_approval', { id: await world.asked(key, tool, input) })).wouldChange;
    const [change, ...more] = await shown('update_document', { id, content: 'Within 3 days.' });
    assert.deepEqual(
      [change.id, change.change, change.before.content, change.after.content, more],
      [id, 'update', 'Within 5 days.', 'Within 3 days.', []],
    );
    const [made] = await shown('create_document', { title: 'New', content: 'x' });
    assert.deepEqual([made.change, made.after.title], ['create', 'New']);
    const file = { name: 'a.txt', data: Buffer.from('hello').toString('base64') };
    assert.equal(await shown('update_document', { id, file }), undefined);
    assert.equal((await must(anna, 'get_document', { id })).content, 'Within 5 days.');
    assert.equal(await codeOf(key, 'update_document', { id: 'doc_none', content: 'x' }), 'not_found');
  });

  it('records each right of its caller once, for who reads the one approval', async () => {
    const allowedTools = ['create_skill', 'update_skill', 'delete_skill'];
    const capsule = await world.capsule(anna, { allowedTools, askFirst: ['create_*'] });
    const id = await world.asked(capsule, 'create_skill', skill());
    assert.deepEqual((await must(bert, 'get_approval', { id })).grants, ['skill:write', 'skill:delete']);
    const { data } = await must(bert, 'list_approvals', { principalId: capsule.id });
    assert.deepEqual([data.length, data[0].grants], [1, undefined]);
  });

  it('is refused at once where it would fail', async () => {
    assert.equal(await codeOf(asking, 'delete_skill', { id: 'skl_none' }), 'not_found');
  });

  it('keeps arguments sealed, and shows secrets masked', async () => {
    const key = await world.key(anna, { scopes: ['admin'], askFirst: ['create_integration'] });
    const secret = 'a-secret-of-the-far-end';
    const input = {
      name: 'far',
      transport: 'http',
      url: 'https://example.com/mcp',
      headers: { Authorization: secret },
      enabled: false,
    };
    const id = await world.asked(key, 'create_integration', input);
    const record = await world.store.approvals.get(id);
    assert.ok(!JSON.stringify(record).includes(secret));
    assert.ok(!JSON.stringify(await must(bert, 'get_approval', { id })).includes(secret));
  });

  it('leaves what does not match alone, and what leads to the person', async () => {
    const all = await world.key(anna, { scopes: ['admin'], askFirst: ['*'] });
    assert.equal(await codeOf(all, 'list_approvals'), 'ok');
    assert.notEqual(await codeOf(all, 'describe_tool', { name: 'list_skills' }), 'approval_required');
    assert.equal(await codeOf(all, 'list_skills'), 'approval_required');
    assert.equal(await codeOf(all, 'call_tool', { name: 'list_skills', arguments: {} }), 'approval_required');
    assert.equal(await codeOf(asking, 'list_skills'), 'ok');
  });
});

describe('who asked', () => {
  it('sees how it stands, whatever its rights, and is told of no tool that it may not call', async () => {
    const document = { title: 'x', content: 'x' };
    const key = await world.key(anna, { scopes: ['documents:write'], askFirst: ['create_document'] });
    const allowedTools = ['create_document'];
    const capsule = await world.capsule(anna, { allowedTools, askFirst: ['create_*'] });
    const denied = { allowedTools, askFirst: ['create_*'], deniedTools: ['*_approval'] };
    const deaf = await world.capsule(anna, denied);
    const { code, error, approvalId } = await refused(deaf, 'create_document', document);
    assert.equal(code, 'approval_required');
    assert.match(error, /; then it runs, and the same call gets its answer\. The same call shows how it stands\.$/);
    for (const caller of [key, capsule]) {
      const { error, approvalId: id } = await refused(caller, 'create_document', document);
      assert.match(error, new RegExp(`wait_for_approval {"id": "${id}"} shows how it stands`));
      assert.equal((await must(caller, 'get_approval', { id })).status, 'waiting');
      assert.equal((await must(caller, 'wait_for_approval', { id, seconds: 0 })).status, 'waiting');
      assert.equal(await codeOf(caller, 'get_approval', { id: approvalId }), 'not_found');
      assert.equal(await codeOf(caller, 'list_approvals'), 'forbidden');
    }
    for (const [caller, isTold] of [
      [key, true],
      [capsule, false],
    ] as const) {
      const { approvalId: id } = await refused(caller, 'create_document', document);
      await must(bert, 'decide_approval', { id, decision: 'reject' });
      const seen = await must(caller, 'get_approval', { id });
      assert.deepEqual([seen.status, 'decidedBy' in seen], ['rejected', isTold]);
      const { error } = await refused(caller, 'create_document', document);
      assert.equal(error.startsWith('A person rejected this call'), !isTold, error);
    }
    const names = (caller: typeof capsule) => registry.list(caller).map(({ tool }) => tool.name);
    assert.deepEqual(names(capsule), ['create_document', 'get_approval', 'wait_for_approval']);
    assert.deepEqual(names(deaf), ['create_document']);
    assert.deepEqual(names(await world.capsule(anna, { allowedTools })), ['create_document']);
  });
});

describe('a decision', () => {
  it('has the call run once, and its answer is kept for the caller alone', async () => {
    const input = skill();
    const id = await world.asked(asking, 'create_skill', input);
    await world.approve(bert, id);
    await calls.look();
    await calls.look();
    const shown = await must(asking, 'wait_for_approval', { id, seconds: 5 });
    assert.deepEqual([shown.status, shown.answer.name], ['done', input.name]);
    assert.equal((await must(asking, 'create_skill', input)).id, shown.answer.id);
    assert.equal(await world.store.skills.count({ where: { name: input.name } }), 1);
    assert.equal((await must(bert, 'get_approval', { id })).answer, undefined);
    assert.equal(await codeOf(bert, 'wait_for_approval', { id, seconds: 0 }), 'not_found');
  });

  it('runs reads too, and what shows a secret only where its caller makes the call again', async () => {
    const reads = await world.key(anna, { scopes: ['admin'], askFirst: ['list_skills', 'create_api_key'] });
    const id = await world.asked(reads, 'list_skills', { limit: 1 });
    await world.approve(bert, id);
    await calls.look();
    assert.equal((await must(reads, 'get_approval', { id })).answer.data.length, 1);
    const input = { name: 'more', scopes: ['read'], askFirst: ['list_skills', 'create_api_key'] };
    const secret = await world.asked(reads, 'create_api_key', input);
    await world.approve(bert, secret);
    await calls.look();
    assert.equal((await must(bert, 'get_approval', { id: secret })).status, 'approved');
    assert.match((await must(reads, 'create_api_key', input)).secret, /^ak_/);
    assert.equal(await codeOf(reads, 'create_api_key', input), 'conflict');
  });

  it('that says no is the answer, with its note', async () => {
    const input = skill();
    const id = await world.asked(asking, 'create_skill', input);
    await must(bert, 'decide_approval', { id, decision: 'reject', note: 'Not on a Friday.' });
    await calls.look();
    const { code, error } = await refused(asking, 'create_skill', input);
    assert.equal(code, 'forbidden');
    assert.match(error, /Not on a Friday/);
    assert.equal(await codeOf(bert, 'decide_approval', { id, decision: 'approve' }), 'conflict');
  });

  it('is made by one of two who decide at once', async () => {
    const carl = await world.person('carl');
    const id = await world.asked(asking, 'create_skill', skill());
    const codes = await Promise.all([
      codeOf(bert, 'decide_approval', { id, decision: 'approve' }),
      codeOf(carl, 'decide_approval', { id, decision: 'reject' }),
    ]);
    assert.deepEqual(codes.sort(), ['conflict', 'ok']);
  });

  it('is not made by who came by a link of who asks, and tells them why and what helps', async () => {
    const dora = await world.person('dora');
    const { email = '' } = (await world.store.adminUsers.get(dora.id)) ?? {};
    const session = { userId: dora.id, email, makerId: anna.id, expiresAt: '2026-04-01T00:00:00.000Z' };
    const { id: sessionId } = await world.store.transaction((tx) => tx.sessions.insert(session));
    const byLink = { ...dora, sessionId };
    const id = await world.asked(asking, 'create_skill', skill());
    const why = async (id: string) => {
      const { code, issues } = await refused(byLink, 'decide_approval', { id, decision: 'approve' });
      return `${code} ${issues?.[0]?.message}`;
    };
    const error = await why(id);
    assert.match(
      error,
      /^forbidden You signed in by a link that anna-\S+ made, .+; sign in by mail, or by a passkey that you add under "My account", then decide\.$/,
    );
    const { mayDecide, whyNot, undecidable } = await must(byLink, 'get_approval', { id });
    assert.deepEqual([mayDecide, `forbidden ${whyNot}`, undecidable], [false, error, undefined]);
    for (const who of [anna, bert, asking]) assert.equal((await must(who, 'get_approval', { id })).whyNot, undefined);
    const key = await world.key(dora, { scopes: ['write'], askFirst: ['create_skill'] });
    const own = await world.asked(key, 'create_skill', skill());
    assert.match(await why(own), /^forbidden You asked for this call/);
    await must(dora, 'decide_approval', { id, decision: 'reject' });
  });

  it('needs the right to decide, and to make the call', async () => {
    const id = await world.asked(asking, 'create_skill', skill());
    const decides = await world.key(bert, { scopes: [], grants: ['approval:decide', 'approval:read', 'agent:write'] });
    assert.equal(await codeOf(decides, 'decide_approval', { id, decision: 'approve' }), 'forbidden');
    assert.equal(await codeOf(decides, 'get_approval', { id }), 'not_found');
    const may = await world.key(bert, { scopes: [], grants: ['approval:decide', 'approval:read', 'skill:write'] });
    assert.equal(
      (await must(may, 'list_approvals', { status: 'waiting' })).data.some((each: { id: string }) => each.id === id),
      true,
    );
    const writes = await world.key(bert, { scopes: ['write'] });
    assert.equal(await codeOf(writes, 'decide_approval', { id, decision: 'approve' }), 'forbidden');
    assert.equal(await codeOf(may, 'decide_approval', { id, decision: 'approve' }), 'ok');
  });

  it('counts for the rights that the caller has when it runs', async () => {
    const key = await world.key(anna, { askFirst: ['create_skill'] });
    const input = skill();
    const id = await world.asked(key, 'create_skill', input);
    await must(anna, 'revoke_api_key', { id: key.id });
    await world.approve(bert, id);
    await calls.look();
    const { status, problem } = await must(bert, 'get_approval', { id });
    assert.equal(status, 'failed');
    assert.match(problem, /revoked/);
    assert.equal(await world.store.skills.count({ where: { name: input.name } }), 0);
  });
});

describe('an approval named with a call', () => {
  const call = async (approvalId: string, input: object, principal = asking, tool = 'create_skill') => {
    const answer = await registry.call({ principal, tool, input, door: 'mcp', requestId: 'test', approvalId });
    return answer.ok ? 'ok' : `${answer.error.code}: ${answer.error.error} ${answer.error.issues?.[0]?.message ?? ''}`;
  };

  it('is refused for other arguments, another tool and another caller, each with its reason', async () => {
    const input = skill();
    const id = await world.asked(asking, 'create_skill', input);
    await world.approve(bert, id);
    assert.match(await call(id, { ...input, description: 'other' }), /^conflict: .*other arguments/);
    assert.match(
      await call(id, { name: 'x', displayName: 'x' }, asking, 'create_agent'),
      /^conflict: .*the tool create_skill/,
    );
    assert.match(
      await call(id, input, await world.key(anna, { askFirst: ['create_skill'] })),
      /^forbidden: .*another caller/,
    );
    assert.match(await call('apv_none', input), /^not_found/);
    assert.equal(await call(id, input), 'ok');
  });

  it('is refused when it has expired, and for a second use when the answer is no longer kept', async () => {
    const [input, late] = [skill(), skill()];
    const used = await world.asked(asking, 'create_skill', input);
    const id = await world.asked(asking, 'create_skill', late);
    await world.approve(bert, used);
    await calls.look();
    await clock.pass(25 * 3_600_000);
    assert.match(await call(used, input), /^conflict: .*was used/);
    assert.match(await call(id, late), /^conflict: .*expired/);
    const decided = await refused(bert, 'decide_approval', { id, decision: 'approve' });
    assert.match(decided.error, /expired/);
    assert.equal((await must(bert, 'get_approval', { id })).status, 'expired');
    assert.notEqual(await world.asked(asking, 'create_skill', late), id);
  });

  it('is refused when it was approved and then expired before it ran', async () => {
    const input = skill();
    const id = await world.asked(asking, 'create_skill', input);
    await world.approve(bert, id);
    await clock.pass(25 * 3_600_000);
    await calls.look();
    assert.equal(await world.store.skills.count({ where: { name: input.name } }), 0);
    assert.match(await call(id, input), /expired/);
  });

  it('is refused when the flow or the agent that it runs has changed', async () => {
    const flow = { name: `flow ${skill().name}`, steps: [{ id: 'a', tool: 'list_skills', arguments: {} }] };
    const { id: flowId } = await must(anna, 'create_flow', flow);
    const { id: agentId } = await must(anna, 'create_agent', { name: 'changing', displayName: 'Changing' });
    const all = await world.key(anna, { scopes: ['admin'], askFirst: ['trigger_flow', 'invoke_agent', 'send_*'] });
    const { id: threadId } = await must(anna, 'create_thread', { title: 'x', agentIds: [agentId] });
    for (const [tool, input, change] of [
      ['trigger_flow', { id: flowId }, () => must(anna, 'update_flow', { id: flowId, description: 'other' })],
      [
        'invoke_agent',
        { agent: agentId, input: 'x' },
        () => must(anna, 'update_agent', { id: agentId, description: 'other' }),
      ],
      [
        'send_chat_message',
        { threadId, message: 'x' },
        () => must(anna, 'update_agent', { id: agentId, description: 'another' }),
      ],
    ] as const) {
      const id = await world.asked(all, tool, input);
      assert.match((await must(bert, 'get_approval', { id })).reaches, /^the (flow|agent) \w+ \(revision \d\)$/);
      await change();
      await world.approve(bert, id);
      await calls.look();
      const { status, problem } = await must(bert, 'get_approval', { id });
      assert.deepEqual([status, problem.split(' since')[0]], ['failed', `What ${tool} reaches has changed`]);
    }
  });

  it('is refused when the definition of the tool has changed', async () => {
    const tool = (description: string) =>
      defineTool({
        ...testTool,
        name: 'changes',
        description,
        input: z.strictObject({}),
        handler: async () => ({ ok: true }),
      });
    const before = world.beside([tool('Adds one.')]);
    const after = world.beside([tool('Adds two.')]);
    const key = await world.key(anna, { askFirst: ['changes'] });
    const id = await before.asked(key, 'changes', {});
    await before.approve(bert, id);
    const { code, error } = await after.registry.refused(key, 'changes', {});
    assert.equal(code, 'conflict');
    assert.match(error, /has changed since/);
    assert.notEqual(await after.asked(key, 'changes', {}), id);
  });
});

describe('who asks first', () => {
  it('gets around it with nothing that it makes, changes or replaces', async () => {
    const key = await world.key(anna, { scopes: ['admin'], askFirst: ['delete_*'] });
    const free = await world.key(anna, { scopes: ['admin'] });
    const capsule = await world.capsule(anna, { allowedTools: ['delete_skill'] });
    const { email } = (await world.store.adminUsers.get(bert.id)) ?? {};
    const detours: readonly (readonly [string, object])[] = [
      ['create_api_key', { name: 'free', scopes: ['write'] }],
      ['create_api_key', { name: 'free', scopes: ['write'], askFirst: ['delete_skill'] }],
      ['rotate_api_key', { id: free.id }],
      ['create_capsule', { name: 'free', allowedTools: ['delete_skill'] }],
      ['rotate_capsule_token', { id: capsule.id }],
      ['update_capsule', { id: capsule.id, status: 'live' }],
      ['create_sign_in_link', { email }],
      ['create_admin_user', { email: 'free@example.com' }],
      ['take_over', { type: 'capsule', id: capsule.id, expectedRevision: 1 }],
    ];
    for (const [tool, input] of detours) assert.equal(await codeOf(key, tool, input), 'forbidden', tool);
    const input = { name: 'bound', scopes: ['write'], askFirst: ['delete_*'] };
    assert.equal(await codeOf(key, 'create_api_key', input), 'ok');
    assert.equal(await codeOf(anna, 'update_capsule', { id: capsule.id, askFirst: ['*'] }), 'ok');
    assert.equal(await codeOf(await world.as('capsule', capsule.id), 'delete_skill', { id: 'skl_none' }), 'not_found');
  });
});
