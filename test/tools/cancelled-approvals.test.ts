import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { endRun, lostRun } from '../../tools/runs/run-records.ts';
import { callsOf, callTool } from '../support/calls.ts';
import { loseAnswer } from '../support/lost-answer.ts';
import { startModelServer } from '../support/model-server.ts';
import { keyOfSomebody } from '../support/second-person.ts';
import { startTestServer } from '../support/server.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const { store } = server;
const bert = await keyOfSomebody(store, 'bert');
const { must, codeOf } = callsOf(server);
await must('create_agent', { name: 'ada', displayName: 'Ada', tools: ['create_skill'], askFirst: ['create_skill'] });
let name = '';
const asksForSkill = () => {
  name = `skill ${Math.random()}`;
  provider.play(() => ({ calls: [{ name: 'create_skill', arguments: { name, instructions: 'x' } }] }));
};
afterEach(() => provider.play(() => ({ text: 'Hello.' })));

const made = async () => (await must('list_skills', { name })).data.length;
const input = { agent: 'ada', input: 'Make it' };

async function invoked() {
  asksForSkill();
  const answer = await callTool(server, server.adminKey, 'invoke_agent', input);
  assert.ok('error' in answer);
  const { code, approvalId = '', runId = '' } = answer.error;
  assert.equal(code, 'approval_required');
  return { approvalId, runId, goOn: { ...input, continue: runId } };
}
const approve = (id: string) => callTool(server, bert, 'decide_approval', { id, decision: 'approve' });

/** The run that goes on with the other one, whose process ends before it makes the approved call. */
async function lostAfter(runId: string, cancel: boolean) {
  loseAnswer(store, ({ collection, record }) => collection === 'agentRuns' && 'continues' in record);
  assert.equal(await codeOf('invoke_agent', { ...input, continue: runId }), 'unavailable');
  const second = (await store.agentRuns.find({ where: { status: 'running' }, limit: 9 })).records[0];
  assert.deepEqual([second?.continues, second?.waitsFor?.length], [runId, 1]);
  const id = second?.id ?? '';
  if (cancel) await must('cancel_agent_run', { id });
  await store.transaction((tx) => endRun(tx, id, lostRun(new Date())));
  return id;
}

describe('a run that is cancelled', () => {
  it('makes no call that a person had said yes to, when it is continued', async () => {
    const { approvalId, runId, goOn } = await invoked();
    await approve(approvalId);
    await must('cancel_agent_run', { id: runId });
    provider.play(() => ({ text: 'Anew.' }));
    assert.equal((await must('invoke_agent', goOn)).text, 'Anew.');
    assert.deepEqual([await made(), (await must('get_approval', { id: approvalId })).status], [0, 'failed']);
  });

  it('makes none either where it is cancelled as it goes on', async () => {
    const { approvalId, runId } = await invoked();
    await approve(approvalId);
    const second = await lostAfter(runId, true);
    provider.play(() => ({ text: 'Anew.' }));
    assert.equal((await must('invoke_agent', { ...input, continue: second })).text, 'Anew.');
    assert.deepEqual([await made(), (await must('get_approval', { id: approvalId })).status], [0, 'failed']);
  });

  it('does not wait where that is stored just as it pauses, with or without a thread', async () => {
    for (const [tool, asked] of [
      ['invoke_agent', input],
      ['send_chat_message', { agentId: 'ada', message: 'Make it' }],
    ] as const) {
      asksForSkill();
      let runId = '';
      // As from another process, of whose wish this one hears a moment later.
      const forget = store.beforeCommit(async (tx, changes) => {
        if (!changes.some(({ collection }) => collection === 'approvals')) return;
        const { records } = await tx.agentRuns.find({ where: { status: 'running' }, limit: 1 });
        runId = records[0]?.id ?? '';
        if (runId) await tx.agentRuns.touch(runId, { cancelAsked: true });
        forget();
      });
      assert.equal(await codeOf(tool, asked), 'unavailable');
      const { status, waitsFor } = await store.agentRuns.read(runId);
      assert.deepEqual([status, waitsFor], ['cancelled', undefined]);
      assert.equal((await store.approvals.find({ where: { status: 'waiting' }, limit: 9 })).records.length, 0);
    }
  });
});

describe('a run that another one goes on with', () => {
  it('is continued by its own id where that other one was lost before the approved call, which is made once', async () => {
    const { approvalId, runId, goOn } = await invoked();
    await approve(approvalId);
    await lostAfter(runId, false);
    provider.play(({ messages }) => ({ text: `${messages.findLast(({ role }) => role === 'tool')?.content}` }));
    assert.match((await must('invoke_agent', goOn)).text, /"name":"skill /);
    assert.equal(await codeOf('invoke_agent', goOn), 'conflict');
    assert.equal(await made(), 1);
  });

  it('is continued by one of two calls where it failed and nothing waited', async () => {
    provider.play(() => ({ status: 400, error: 'broken' }));
    const failed = await callTool(server, server.adminKey, 'invoke_agent', input);
    const goOn = { ...input, continue: 'error' in failed ? failed.error.runId : '' };
    provider.play(() => ({ text: 'Done.' }));
    const codes = await Promise.all([1, 2].map(() => codeOf('invoke_agent', goOn)));
    assert.deepEqual(codes.sort(), ['conflict', 'ok']);
  });
});
