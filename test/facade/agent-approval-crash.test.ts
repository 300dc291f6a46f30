import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mustCall } from '../support/calls.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { startModelServer } from '../support/model-server.ts';
import { SECRETS_KEY } from '../support/registry.ts';
import { keyOfSomebody } from '../support/second-person.ts';
import { openStoreIn } from '../support/store.ts';
import { until } from '../support/until.ts';

const key = `ak_approval_${'k'.repeat(40)}`;

it('kill -9 while a turn waits, and again while it goes on: the call is made once, and the turn goes on or says that it was cut off', async () => {
  const provider = await startModelServer();
  await withFolder(async (folder) => {
    const env = {
      BOOTSTRAP_API_KEY: key,
      MODEL_BASE_URL: provider.baseUrl,
      MODEL_NAME: 'tiny',
      LOG_LEVEL: 'silent',
      SECRETS_KEY,
    };
    const server = await startProcess(folder, env);
    const agent = { name: 'ada', displayName: 'Ada', tools: ['create_skill'], askFirst: ['*'] };
    await mustCall(server, key, 'create_agent', agent);
    const calls = [{ name: 'create_skill', arguments: { name: 'made', instructions: 'x' } }];
    provider.play(() => ({ calls }));
    const { threadId, runId } = await mustCall(server, key, 'send_chat_message', {
      message: 'Make it',
      agentId: 'ada',
    });
    await server.stop('SIGKILL');

    const store = await openStoreIn(folder);
    const bert = await keyOfSomebody(store, 'bert');
    const { status, waitsFor = [] } = await store.agentRuns.read(runId);
    assert.equal(status, 'waiting');
    await store.close();

    const hanging = new Promise<void>((resolve) => {
      provider.play(() => {
        resolve();
        return 'hang';
      });
    });
    const again = await startProcess(folder, env);
    const decision = { id: waitsFor[0]?.approvalId, decision: 'approve' };
    await mustCall(again, bert, 'decide_approval', decision);
    await hanging;
    await again.stop('SIGKILL');

    provider.play(({ messages }) => ({
      text: `I see ${messages.filter(({ role }) => role === 'tool').length} result.`,
    }));
    const last = await startProcess(folder, env);
    const runs = async () => (await mustCall(last, key, 'list_agent_runs', { threadId })).data;
    await until(async () => (await runs())[0].status === 'failed'); // a process that died counts as running for some seconds
    const [second, first] = await runs();
    assert.deepEqual([first.status, second.continues], ['succeeded', runId]);
    assert.equal((await mustCall(last, key, 'list_skills', { name: 'made' })).data.length, 1);
    const { message } = await mustCall(last, key, 'send_chat_message', { threadId, continue: second.id });
    assert.equal(message.content, 'I see 1 result.');
    assert.equal((await mustCall(last, key, 'list_skills', { name: 'made' })).data.length, 1);
    await last.stop('SIGTERM');
  });
  await provider.close();
});
