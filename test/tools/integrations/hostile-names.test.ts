import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf } from '../../support/calls.ts';
import { startModelServer } from '../../support/model-server.ts';
import { pluck } from '../../support/pluck.ts';
import { startTestServer } from '../../support/server.ts';
import { callRaw, connectHttp, startUpstream, toolCalled } from '../../support/upstream.ts';

const [fake, provider] = await Promise.all([startUpstream(), startModelServer()]);
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });

/** An integration without a prefix that lists these, while the work goes on. */
async function listing(tools: object[], work: (id: string) => Promise<void>): Promise<void> {
  fake.tools = tools;
  const { id } = await connectHttp(server, fake.url, { name: 'Free', toolPrefix: '' });
  try {
    await work(id);
  } finally {
    await callsOf(server).must('delete_integration', { id });
  }
}

describe('names that an upstream without a prefix chooses', () => {
  it('cannot stand for those of this server, however they are written', async () => {
    const own = ['list.agents', 'list_agents', 'search_tools', 'create.session'];
    const odd = [
      'lіst_agents',
      'list_agents\u200b',
      ' list_agents',
      'LIST AGENTS',
      '__proto__',
      'a__b',
      'a.._b',
      '',
      '😀',
      '\u202elist',
    ];
    await listing(
      [...own, ...odd, 'constructor', 'toString', 'List_agents'].map((name) => toolCalled(name)),
      async (id) => {
        const { must } = callsOf(server);
        const { tools } = await must('get_integration', { id });
        const offered = pluck(
          tools.filter(({ state }: { state: string }) => state === 'approved'),
          'name',
        );
        assert.deepEqual(offered.sort(), ['List_agents', 'constructor', 'toString']);
        for (const name of offered) assert.ok((await callRaw(server, name)).content, name);
        assert.ok(Array.isArray((await must('list_agents')).data));
        for (const name of offered) {
          const { must: call } = callsOf(server);
          assert.equal((await call('describe_tool', { name })).group, 'Integrations/Free');
          const made = await call('create_flow', { name, steps: [{ id: 'a', tool: name, arguments: { x: 1 } }] });
          assert.equal((await call('trigger_flow', { id: made.id, wait: true })).status, 'succeeded');
          await call('create_capsule', { name, allowedTools: [name] });
        }
      },
    );
  });

  it('do not stand for the tools that an agent has in its runs alone', async () => {
    await listing([toolCalled('remember')], async () => {
      const { must } = callsOf(server);
      const agent = {
        name: 'ada',
        displayName: 'Ada',
        tools: ['remember'],
        memoryPolicy: { remember: true, maxInjected: 5 },
      };
      const { id: agentId } = await must('create_agent', agent);
      await must('send_chat_message', { message: 'Hello', agentId });
      assert.deepEqual(provider.requests.at(-1)?.tools, ['remember']);
    });
  });
});

describe('a definition that changes between the check of a call and the call', () => {
  it('is not called with what fitted another', async () => {
    await listing([toolCalled('turns')], async (id) => {
      const { must } = callsOf(server);
      fake.tools = [toolCalled('turns', { description: 'Another.' })];
      let refreshed: Promise<unknown> | undefined;
      const calls = Array.from({ length: 20 }, (_, index) => {
        if (index === 10) refreshed = must('refresh_integration', { id, accept: true });
        return callRaw(server, 'turns', { index });
      });
      for (const answer of await Promise.all(calls)) {
        const said = JSON.stringify(answer);
        assert.ok(answer.content || answer.code === -32_602 || answer.error, said);
      }
      await refreshed;
      assert.ok((await callRaw(server, 'turns', {})).content);
    });
  });
});
