import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const { must, codeOf, call } = callsOf(server);
const skillId = (await must('create_skill', { name: 'count', instructions: 'Count twice.' })).id;
const tools = ['get_skill', 'list_skills', 'delete_skill'];
const members = { name: 'ada', displayName: 'Ada', tools, skillIds: [skillId] };
const agentId = (await must('create_agent', { ...members, memoryPolicy: { remember: true, maxInjected: 5 } })).id;
afterEach(() => provider.play(() => ({ text: 'Hello.' })));

const idsOf = async (key: string, input: object = {}) => pluck((await must('list_agent_runs', input, key)).data, 'id');

/** The model reads the skill, tries to delete one that is not there, and answers. */
function readsTheSkill(): void {
  provider.play(({ messages }) =>
    messages.at(-1)?.role === 'user'
      ? {
          calls: [
            { name: 'get_skill', arguments: { id: skillId } },
            { name: 'delete_skill', arguments: { id: 'skl_none' } },
          ],
        }
      : { text: 'Counted.' },
  );
}

describe('a run of an agent', () => {
  it('leads from its answer to the calls, their audit entries and what they read', async () => {
    const memory = await must('create_memory', { content: 'Counting matters.', scope: 'agent', agentId });
    readsTheSkill();
    const { runId, message } = await must('send_chat_message', { agentId, message: 'Counting, please' });
    await must('update_skill', { id: skillId, instructions: 'Count three times.' });

    const { run } = await must('explain_answer', { messageId: message.id });
    assert.equal(run.id, runId);
    assert.deepEqual([run.status, run.stopReason, run.steps, run.agentRevision], ['succeeded', 'end', 2, 1]);
    assert.deepEqual([run.prompt, run.hidden], [{ id: 'bot-config', revision: 1 }, 0]);
    assert.deepEqual(run.skills, [{ id: skillId, revision: 1 }]);
    assert.deepEqual(run.memories, [{ id: memory.id, revision: 1 }]);
    assert.deepEqual(pluck(run.turns, 'model', 'usage', 'calls'), [
      [run.model, { inputTokens: 10, outputTokens: 5 }, 2],
      [run.model, { inputTokens: 10, outputTokens: 5 }, 0],
    ]);
    const [read, failed] = run.calls;
    assert.deepEqual([read.tool, read.turn, read.outcome], ['get_skill', 1, 'ok']);
    assert.deepEqual(read.records, [{ id: skillId, revision: 1 }]);
    assert.deepEqual([failed.tool, failed.outcome, failed.code], ['delete_skill', 'failed', 'not_found']);

    const { data } = await must('list_audit_entries', { requestId: run.requestId });
    for (const { auditId, tool } of run.calls) {
      assert.equal(data.find(({ id }: { id: string }) => id === auditId)?.tool, tool);
    }
    const versions = await must('list_versions', { entityType: 'skill', entityId: skillId });
    assert.ok(versions.data.some(({ revision }: { revision: number }) => revision === read.records[0].revision));
    assert.ok(!JSON.stringify(run).includes('please'));
  });

  it('is kept as far as it came, where it fails', async () => {
    provider.play(({ messages }) =>
      messages.at(-1)?.role === 'user' ? { calls: [{ name: 'list_skills', arguments: {} }] } : { status: 400 },
    );
    assert.equal(await codeOf('invoke_agent', { agent: 'ada', input: 'x' }, server.adminKey), 'unavailable');
    const [id] = await idsOf(server.adminKey, { status: 'failed', agentId: 'ada' });
    const run = await must('get_agent_run', { id });
    assert.deepEqual([run.error.code, run.turns.length, run.calls.length], ['unavailable', 1, 1]);
    assert.deepEqual(run.usage, { inputTokens: 10, outputTokens: 5 });
  });

  it('is found by who asked, thread, status and time', async () => {
    const key = await makeKey(server, { scopes: ['read', 'write'] });
    const { runId, threadId } = await must('send_chat_message', { agentId, message: 'Hi' }, key);
    const { principal, createdAt } = await must('get_agent_run', { id: runId });
    for (const found of [{ principal: principal.id }, { threadId }, { threadId, from: createdAt }]) {
      assert.deepEqual(await idsOf(server.adminKey, found), [runId], JSON.stringify(found));
    }
    for (const other of [{ threadId, to: createdAt }, { threadId, status: 'failed' }, { principal: 'key_none' }]) {
      assert.deepEqual(await idsOf(server.adminKey, other), [], JSON.stringify(other));
    }
  });
});

describe('who sees a run', () => {
  it('is whoever sees its thread, and without a thread whoever asked for it', async () => {
    const [one, other] = [
      await makeKey(server, { scopes: ['read', 'write'] }),
      await makeKey(server, { scopes: ['read', 'write'] }),
    ];
    const { runId, threadId } = await must('send_chat_message', { agentId, message: 'Hi' }, one);
    const { runId: alone } = await must('invoke_agent', { agent: 'ada', input: 'x' }, one);
    assert.deepEqual(await idsOf(one, { threadId }), [runId]);
    assert.deepEqual(await idsOf(other, { threadId }), [runId]);
    assert.ok((await idsOf(one)).includes(alone));
    assert.ok(!(await idsOf(other)).includes(alone));
    assert.equal(await codeOf('get_agent_run', { id: alone }, other), 'not_found');
    assert.equal(await codeOf('get_agent_run', { id: alone }, server.adminKey), 'ok');

    await must('update_thread_access', { id: threadId, visibility: 'restricted' }, one);
    assert.deepEqual(await idsOf(one, { threadId }), [runId]);
    assert.deepEqual(await idsOf(other, { threadId }), []);
    assert.equal((await must('list_agent_runs', { threadId, includeTotal: true }, other)).total, 0);
    assert.equal(await codeOf('get_agent_run', { id: runId }, other), 'not_found');
    const { data } = await must('list_messages', { id: threadId }, one);
    assert.equal(await codeOf('explain_answer', { messageId: data[0].id }, other), 'not_found');
  });

  it('learns of records that it may not read only how many there are', async () => {
    readsTheSkill();
    const { runId, message } = await must('send_chat_message', { agentId, message: 'Go' });
    const key = await makeKey(server, { grants: ['agent:read', 'thread:read'] });
    const { run } = await must('explain_answer', { messageId: message.id }, key);
    assert.deepEqual([run.prompt, run.skills, run.calls[0].records], [undefined, [], []]);
    assert.ok(run.hidden >= 2);
    assert.deepEqual(await must('get_agent_run', { id: runId }, key), run);
    assert.ok(!JSON.stringify(run).includes(skillId));
  });

  it('is by a grant for one agent whoever may read that agent', async () => {
    await must('create_agent', { name: 'bob', displayName: 'Bob' });
    const { runId } = await must('send_chat_message', { agentId: 'bob', message: 'Hi' });
    const key = await makeKey(server, { grants: ['agent:read:bob', 'thread:read'] });
    assert.deepEqual(await idsOf(key), [runId]);
    const [ofAda] = await idsOf(server.adminKey, { agentId: 'ada' });
    assert.equal(await codeOf('get_agent_run', { id: ofAda }, key), 'forbidden');
    const noThreads = await makeKey(server, { grants: ['agent:read:bob'] });
    assert.deepEqual(await idsOf(noThreads), []);
  });
});

describe('cancel_agent_run', () => {
  it('ends a run under way, of the caller alone or for an admin', async () => {
    provider.play(() => ({ text: 'I begin', goesOn: true }));
    const [one, other] = [
      await makeKey(server, { scopes: ['read', 'write'] }),
      await makeKey(server, { scopes: ['read', 'write'] }),
    ];
    for (const ends of [one, server.adminKey]) {
      const asked = provider.requests.length;
      const answer = call('send_chat_message', { agentId, message: 'Long' }, one);
      while (provider.requests.length === asked) await new Promise((resolve) => setTimeout(resolve, 5));
      const [id] = await idsOf(one, { status: 'running' });
      assert.equal(await codeOf('cancel_agent_run', { id }, other), 'not_found');
      await must('cancel_agent_run', { id }, ends);
      const ended = await answer;
      assert.ok('error' in ended && ended.error.error.includes('cancelled'), JSON.stringify(ended));
      assert.equal((await must('get_agent_run', { id })).status, 'cancelled');
      assert.equal((await must('cancel_agent_run', { id })).status, 'cancelled');
    }
  });

  it('refuses a run that has ended', async () => {
    const { runId } = await must('invoke_agent', { agent: 'ada', input: 'x' });
    assert.equal(await codeOf('cancel_agent_run', { id: runId }, server.adminKey), 'conflict');
  });
});
