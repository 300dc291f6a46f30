import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callTool, mustCall } from '../support/calls.ts';
import { startCluster } from '../support/cluster.ts';
import { startModelServer } from '../support/model-server.ts';
import { withoutPostgres } from '../support/postgres.ts';
import { keyOfSomebody } from '../support/second-person.ts';
import { until } from '../support/until.ts';

describe('turns that wait for a person, of two processes', { skip: withoutPostgres }, () => {
  it('go on once, whichever process decides, also where an agent waits for one that it invoked', async () => {
    const provider = await startModelServer();
    const cluster = await startCluster({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
    try {
      const [one, two] = cluster.members;
      const bert = await keyOfSomebody(one.store, 'bert');
      const agent = { name: 'asks', displayName: 'Ada', tools: ['create_skill'], askFirst: ['*'] };
      await mustCall(one, one.adminKey, 'create_agent', agent);
      const outer = { name: 'invokes', displayName: 'Bob', tools: ['invoke_agent', 'create_skill'] };
      await mustCall(one, one.adminKey, 'create_agent', outer);
      let made = 0;
      provider.play(({ messages, tools }) => {
        if (messages.at(-1)?.content.includes('Make it') !== true) return { text: 'Done.' };
        const input = { agent: 'asks', input: 'Make it' };
        if (tools.includes('invoke_agent')) return { calls: [{ name: 'invoke_agent', arguments: input }] };
        made += 1;
        return { calls: [{ name: 'create_skill', arguments: { name: `skill ${made}`, instructions: 'x' } }] };
      });
      for (const [at, decider] of [one, two, two, one].entries()) {
        const asking = at % 2 ? two : one;
        const input = { message: 'Make it', agentId: at < 2 ? 'asks' : 'invokes' };
        const { runId, threadId } = await mustCall(asking, one.adminKey, 'send_chat_message', input);
        const { waitsFor = [] } = await asking.store.agentRuns.read(runId);
        const decision = { id: waitsFor[0]?.approvalId, decision: 'approve' };
        assert.ok('output' in (await callTool(decider, bert, 'decide_approval', decision)));
        const runs = async () => (await one.store.agentRuns.find({ where: { threadId }, limit: 10 })).records;
        await until(async () => (await runs()).filter(({ status }) => status === 'succeeded').length === 2);
        assert.equal((await runs()).length, 2);
      }
      assert.equal(await one.store.skills.count({}), 4);
      assert.equal(provider.requests.length, 12);
    } finally {
      await cluster.close();
      await provider.close();
    }
  });
});
