import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { actingFor } from '../../tools/core/access/agent-principal.ts';
import { ApprovalWorld } from '../support/approval-world.ts';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { type ModelRequest, startModelServer } from '../support/model-server.ts';
import { startTestServer } from '../support/server.ts';
import { callRaw, connectHttp, errorOfCall, startUpstream, toolCalled } from '../support/upstream.ts';

const provider = await startModelServer();
const [server, fake] = await Promise.all([
  startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' }),
  startUpstream(toolCalled('find'), toolCalled('drop.table')),
]);
const world = await ApprovalWorld.open();
const anna = await world.person('anna');
const bert = await world.person('bert');
afterEach(() => provider.play(() => ({ text: 'Hello.' })));

const { must, refused, codeOf } = callsOf(server);

it('a key gets an address of its approval that it may read', async () => {
  const key = await makeKey(server, { scopes: ['documents:write'], askFirst: ['create_document'] });
  const asked = await rest(server, 'POST', '/api/v1/documents', { key, body: { title: 'x', content: 'x' } });
  assert.equal(asked.status, 202);
  const { body } = await rest(server, 'GET', asked.headers.get('Location') ?? '', { key });
  assert.deepEqual([body.status, body.tool], ['waiting', 'create_document']);
});

describe('an agent that asks first', () => {
  it('waits for a person, whoever runs it, and the caller itself does not', async () => {
    const agent = await must('create_agent', {
      name: 'asks',
      displayName: 'Ada',
      tools: ['create_skill', 'list_skills'],
      askFirst: ['create_*'],
    });
    assert.deepEqual((await must('get_agent', { id: agent.id })).askFirst, ['create_*']);
    const isFirst = ({ messages }: ModelRequest) => messages.at(-1)?.role === 'user';
    const calls = [
      { name: 'create_skill', arguments: { name: 'by agent', instructions: 'x' } },
      { name: 'list_skills', arguments: {} },
    ];
    provider.play((request) => (isFirst(request) ? { calls } : { text: request.messages.at(-2)?.content ?? '' }));
    const { code, runId, approvalId } = await refused('invoke_agent', { agent: agent.id, input: 'Make one' });
    assert.equal(code, 'approval_required');
    assert.equal((await must('get_agent_run', { id: runId })).status, 'waiting');
    const [waiting] = (await must('list_approvals', { status: 'waiting' })).data;
    assert.deepEqual([waiting.id, waiting.tool, waiting.by.type], [approvalId, 'create_skill', 'agent']);
    assert.equal(await codeOf('create_skill', { name: 'by caller', instructions: 'x' }), 'ok');
    const key = await makeKey(server, { scopes: ['write'] });
    const { approvalId: id } = await refused('invoke_agent', { agent: agent.id, input: 'Another' }, key);
    assert.equal((await must('get_approval', { id }, key)).by.type, 'agent');
    const other = await makeKey(server, { scopes: ['write'] });
    assert.equal(await codeOf('get_approval', { id }, other), 'not_found');
  });

  it('does not loosen what limits it, in an update or by an earlier version', async () => {
    const { must: mustHere, codeOf: codeHere } = world.registry;
    const made = await mustHere(anna, 'create_agent', { name: 'limited', displayName: 'L', tools: ['create_skill'] });
    const agent = await mustHere(anna, 'update_agent', { id: made.id, askFirst: ['create_*', 'delete_skill'] });
    const tools = ['update_agent', 'restore_version', 'create_skill'];
    const acting = actingFor(anna, { ...agent, tools }, world.registry.registry.server.catalog);
    assert.equal(await codeHere(acting, 'create_skill', { name: 'x', instructions: 'x' }), 'approval_required');
    for (const askFirst of [[], ['create_*']])
      assert.equal(await codeHere(acting, 'update_agent', { id: agent.id, askFirst }), 'forbidden');
    const key = await world.key(anna, { scopes: ['admin'], askFirst: ['delete_skill'] });
    assert.equal(await codeHere(key, 'update_agent', { id: agent.id, askFirst: [] }), 'forbidden');
    const { data: versions } = await mustHere(anna, 'list_versions', { entityType: 'agent', entityId: agent.id });
    const restore = { entityType: 'agent', entityId: agent.id, versionId: versions.at(-1).id };
    assert.equal(await codeHere(acting, 'restore_version', restore), 'forbidden');
    assert.equal(await codeHere(key, 'restore_version', restore), 'forbidden');
    assert.equal(await codeHere(key, 'update_agent', { id: agent.id, askFirst: ['delete_skill'] }), 'ok');
    await mustHere(anna, 'restore_version', restore);
    assert.equal((await mustHere(anna, 'get_agent', { id: agent.id })).askFirst, undefined);
  });

  it('is changed in this only by who has every tool of it', async () => {
    const { must: mustHere, codeOf: codeHere } = world.registry;
    const agent = await mustHere(anna, 'create_agent', {
      name: 's',
      displayName: 'S',
      tools: ['delete_skill'],
      askFirst: ['*'],
    });
    const writer = await world.key(bert, { scopes: ['agents:write'] });
    assert.equal(await codeHere(writer, 'update_agent', { id: agent.id, displayName: 'T' }), 'ok');
    assert.equal(await codeHere(writer, 'update_agent', { id: agent.id, askFirst: [] }), 'forbidden');
  });
});

describe('an integration that asks first', () => {
  it('has calls of these tools by anybody wait, under each of their names', async () => {
    for (const entry of ['drop.table', 'gh/drop*', 'gh__drop_table']) {
      const { id } = await connectHttp(server, fake.url, { name: 'gh', askFirst: [entry] });
      assert.ok((await callRaw(server, 'gh__find')).content, entry);
      const sent = fake.requests.filter(({ method }) => method === 'tools/call').length;
      const { code, approvalId } = await errorOfCall(server, 'gh__drop_table', { at: entry });
      assert.equal(code, 'approval_required', entry);
      assert.equal(fake.requests.filter(({ method }) => method === 'tools/call').length, sent);
      assert.equal((await must('get_approval', { id: approvalId })).tool, 'gh__drop_table');
      await server.store.transaction((tx) => tx.integrations.update(id, { askFirst: null }));
      await must('delete_integration', { id });
    }
  });

  it('warns of entries that match none of its tools', async () => {
    const { id } = await connectHttp(server, fake.url, { name: 'gh', askFirst: ['gh/drop*', 'gh/fnd'] });
    const { warnings } = await must('get_integration', { id });
    assert.deepEqual(warnings, ['askFirst: "gh/fnd" matches no tool now; similar names: find.']);
    await server.store.transaction((tx) => tx.integrations.update(id, { askFirst: null }));
    await must('delete_integration', { id });
  });

  it('is loosened only with the yes of somebody else', async () => {
    const { id } = await connectHttp(server, fake.url, { name: 'gh', askFirst: ['drop*'] });
    for (const change of [{ askFirst: [] }, { askFirst: ['find'] }, { toolPrefix: 'other' }]) {
      const { code, approvalId } = await refused('update_integration', { id, ...change });
      assert.equal(code, 'approval_required', JSON.stringify(change));
      assert.equal(await codeOf('decide_approval', { id: approvalId, decision: 'approve' }), 'forbidden');
    }
    assert.equal(await codeOf('delete_integration', { id }), 'approval_required');
    assert.equal(await codeOf('update_integration', { id, askFirst: ['drop*', 'find'] }), 'ok');
    assert.equal(await codeOf('update_integration', { id, askFirst: ['*'] }), 'ok');
    const { code } = await errorOfCall(server, 'gh__find', {}, await makeKey(server, { scopes: ['admin'] }));
    assert.equal(code, 'approval_required');
  });
});
