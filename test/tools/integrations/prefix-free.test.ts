import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeCapsule, makeKey, rest, toolNames } from '../../support/calls.ts';
import { pluck } from '../../support/pluck.ts';
import { startTestServer } from '../../support/server.ts';
import { callRaw, connectHttp, startUpstream, toolCalled } from '../../support/upstream.ts';
import { writing } from '../../support/writing.ts';

const [server, first, second] = await Promise.all([startTestServer(), startUpstream(), startUpstream()]);
const { call } = callsOf(server);

const listed = (key = server.adminKey) => toolNames(server, key);

interface Shown {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
}
const stateOf = async (id: string, name: string) => {
  const { tools } = await callsOf(server).must('get_integration', { id });
  return tools.find((tool: Shown) => tool.name === name) as Shown;
};

/** Both without a prefix, while the work goes on. */
async function withBoth(one: object[], other: object[], work: (one: string, other: string) => Promise<void>) {
  const { must } = callsOf(server);
  [first.tools, second.tools] = [one, other];
  const a = await connectHttp(server, first.url, { name: 'First', toolPrefix: '' });
  const b = await connectHttp(server, second.url, { name: 'Second', toolPrefix: '' });
  try {
    await work(a.id, b.id);
  } finally {
    for (const { id } of [a, b]) await must('delete_integration', { id }).catch(() => {});
  }
}

/** The tools of every caller who may call tools of some integration. */
const ACCOUNTS = [
  'get_current_principal',
  'connect_integration',
  'disconnect_integration',
  'get_approval',
  'wait_for_approval',
];

describe('an integration without a prefix', () => {
  it('offers its tools as its server names them, and is not the only one that may', async () => {
    await withBoth([toolCalled('find.it')], [toolCalled('drop')], async (a) => {
      const names = await listed();
      assert.ok(names.includes('find_it') && names.includes('drop'));
      assert.deepEqual((await callRaw(server, 'find_it', { a: 1 })).content, [{ type: 'text', text: '{"a":1}' }]);
      const { toolPrefix, tools } = await callsOf(server).must('get_integration', { id: a });
      assert.deepEqual([toolPrefix, tools[0].tool, tools[0].grant], ['', 'find_it', `tool:call:${a}/find_it`]);
    });
    assert.ok(!(await listed()).includes('drop'));
  });

  it('is named by its id in grants', async () => {
    await withBoth([toolCalled('find')], [toolCalled('drop')], async (a) => {
      const whole = await makeKey(server, { grants: [`tool:call:${a}/*`] });
      assert.deepEqual(await listed(whole), [...ACCOUNTS, 'find']);
      assert.ok('output' in (await call('find', {}, whole)));
      const { refused } = callsOf(server);
      assert.equal((await refused('drop', {}, whole)).code, 'forbidden');
      const one = await makeKey(server, { grants: [`tool:call:${a}/find`] });
      assert.deepEqual(await listed(one), [...ACCOUNTS, 'find']);
    });
  });

  it('takes no name that is taken, and says who has it', async () => {
    const mine = ['list_agents', 'call_tool', 'create_session', 'shared', 'gh__find', 'free'].map((name) =>
      toolCalled(name),
    );
    await withBoth([toolCalled('shared')], mine, async (a, b) => {
      const names = await listed();
      assert.equal(new Set(names).size, names.length);
      assert.ok(names.includes('free') && !names.includes('gh__find'));
      for (const name of ['list_agents', 'call_tool', 'create_session']) {
        assert.match((await stateOf(b, name)).reason ?? '', /taken by this server; give this integration a toolPrefix/);
      }
      assert.match((await stateOf(b, 'shared')).reason ?? '', /taken by the integration First/);
      assert.match((await stateOf(b, 'gh__find')).reason ?? '', /two underscores/);
      await callRaw(server, 'shared');
      assert.equal(first.requests.at(-1)?.method, 'tools/call');
      const { must } = callsOf(server);
      await must('update_integration', { id: a, enabled: false });
      assert.match(
        (await stateOf(b, 'shared')).reason ?? '',
        /taken by the integration First/,
        'also while it is disabled',
      );
      await must('delete_integration', { id: a });
      assert.equal((await stateOf(b, 'shared')).state, 'new');
      await must('refresh_integration', { id: b, accept: true });
      await callRaw(server, 'shared');
      assert.equal(second.requests.at(-1)?.method, 'tools/call');
    });
  });

  it('is refused where it would take the names of others by giving up its prefix', async () => {
    await withBoth([toolCalled('shared')], [], async () => {
      const { must, refused } = callsOf(server);
      second.tools = [toolCalled('shared'), toolCalled('list_agents')];
      const { id } = await connectHttp(server, second.url, { name: 'Third', toolPrefix: 'third' });
      const { code, error } = await refused('update_integration', { id, toolPrefix: '' });
      assert.equal(code, 'conflict');
      assert.match(error, /shared \(the integration First\), list_agents \(this server\); keep a prefix/);
      assert.ok((await listed()).includes('third__shared'));
      await must('delete_integration', { id });
    });
  });

  it('gives way to a new tool of the server itself', async () => {
    first.tools = [toolCalled('find'), toolCalled('list_agents')];
    const { id } = await connectHttp(server, first.url, { name: 'Old', toolPrefix: 'old' });
    const { must } = callsOf(server);
    const record = await server.store.integrations.get(id);
    assert.equal(record?.approved.length, 2);
    await must('delete_integration', { id });
    // As an earlier version of the server kept it, which had no tool of that name.
    const late = await startTestServer(
      {},
      {
        fill: async (store) => {
          const { id: _, createdAt: __, updatedAt: ___, revision: ____, ...rest } = record ?? assert.fail();
          await writing(store).integrations.insert({ ...rest, toolPrefix: '' });
        },
      },
    );
    const { data } = await callsOf(late).must('list_integrations');
    const shown = await callsOf(late).must('get_integration', { id: data[0].id });
    const states = Object.fromEntries(shown.tools.map(({ name, state }: Shown) => [name, state]));
    assert.deepEqual(states, { find: 'approved', list_agents: 'left_out' });
    assert.ok(Array.isArray((await callsOf(late).must('list_agents')).data));
  });

  it('is in no allowlist by a glob, and by a name that is not there yet only for those who may call whatever comes', async () => {
    await withBoth([toolCalled('list_things')], [], async (a) => {
      const { must, refused } = callsOf(server);
      const wide = await makeCapsule(server, { allowedTools: ['list_*', '*'] });
      const served = async ({ id, token }: { id: string; token: string }) => {
        const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
        const answer = await rest(server, 'POST', `/api/capsules/${id}/mcp`, { key: token, body });
        return pluck(answer.body.result.tools, 'name').includes('list_things');
      };
      assert.equal(await served(wide), false);
      assert.equal(await served(await makeCapsule(server, { allowedTools: ['list_things'] })), true);
      const preview = await must('preview_capsule', { draft: { allowedTools: ['list_th*'] } });
      assert.match(JSON.stringify(preview.entries), /without a prefix it must be named/);
      const narrow = await makeKey(server, { grants: ['agent:write', `tool:call:${a}/*`] });
      await must('create_agent', { name: 'x', displayName: 'X', tools: ['list_things'] }, narrow);
      const later = await refused('create_agent', { name: 'y', displayName: 'Y', tools: ['later'] }, narrow);
      assert.deepEqual([later.code, later.required?.grant], ['forbidden', 'tool:call']);
    });
  });
});

describe('a tool that runs only as a task', () => {
  it('is left out, with the reason, also when it becomes one', async () => {
    const task = (name: string, taskSupport: string) => toolCalled(name, { execution: { taskSupport } });
    first.tools = [task('must', 'required'), task('may', 'optional'), task('never', 'forbidden'), toolCalled('plain')];
    const { id } = await connectHttp(server, first.url, { name: 'Tasks' });
    const { must } = callsOf(server);
    assert.deepEqual(
      (await listed()).filter((name) => name.startsWith('tasks__')),
      ['tasks__may', 'tasks__never', 'tasks__plain'],
    );
    assert.match((await stateOf(id, 'must')).reason ?? '', /only as a task/);
    first.tools = [task('may', 'required')];
    const { tools } = await must('refresh_integration', { id });
    assert.deepEqual(
      pluck(
        tools.filter(({ name }: Shown) => name === 'may'),
        'state',
      ),
      ['left_out'],
    );
    assert.ok(!(await listed()).includes('tasks__may'));
    await must('delete_integration', { id });
  });
});
