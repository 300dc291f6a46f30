import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must } = callsOf(server);

const ask = (method: string, path: string, body?: unknown, key = server.adminKey) =>
  rest(server, method, `/api/v1${path}`, { key, body });
const post = (body: object, key?: string) => ask('POST', '/agents/flows', { name: 'A flow', ...body }, key);
const patch = (id: string, body: object, key?: string) => ask('PATCH', `/agents/flows/${id}`, body, key);

async function flowOf(body: object, key?: string) {
  const answer = await post(body, key);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

/** Path and message of everything that is wrong with the flow. */
async function problems(body: object): Promise<[string, string][]> {
  const answer = await post(body);
  assert.equal(answer.status, 400, JSON.stringify(answer.body));
  return pluck(answer.body.issues, 'path', 'message');
}

const agentOf = (name: string) => must('create_agent', { name, displayName: name });
const step = (
  id: string,
  more: { tool?: string; arguments?: Record<string, unknown>; [member: string]: unknown } = {},
) => ({ id, tool: 'list_agents', ...more });

/** A key of the rights, and how `runAs` names it. */
async function keyOf(rights: { scopes?: string[]; grants?: string[] }) {
  const made = await must('create_api_key', { name: 'writer', scopes: [], ...rights });
  return { secret: made.secret as string, ref: { type: 'api-key', id: made.id, name: 'writer' } };
}

describe('flows', () => {
  it('are listed by enabled and agent', async () => {
    const agent = await agentOf('lister');
    const flow = await flowOf({ agentId: agent.id, prompt: 'Do it.', enabled: false });
    const { body } = await ask('GET', `/agents/flows?agentId=${agent.id}&enabled=false`);
    assert.deepEqual(body.data, [flow]);
    assert.deepEqual((await ask('GET', `/agents/flows?agentId=${agent.id}&enabled=true`)).body.data, []);
  });

  it('switch from steps to an agent and back', async () => {
    const agent = await agentOf('worker');
    const flow = await flowOf({ steps: [step('one')] });
    assert.equal((await patch(flow.id, { agentId: agent.id, prompt: 'p' })).status, 400);
    const { body } = await patch(flow.id, { steps: null, agentId: agent.id, prompt: 'p {{ input.x }}' });
    assert.deepEqual(['steps' in body, body.agentId, body.prompt], [false, agent.id, 'p {{ input.x }}']);
    assert.equal((await patch(flow.id, { agentId: null })).status, 400, 'the prompt is left over');
    assert.equal((await patch(flow.id, { agentId: null, prompt: null, steps: [step('two')] })).status, 200);
  });

  it('keep a schedule in the time zone of the workspace unless they name one', async () => {
    await ask('PATCH', '/settings', { timezone: 'Asia/Tokyo' });
    const flow = await flowOf({ trigger: { kind: 'cron', expression: '0 9 * * MON-FRI' } });
    await ask('PATCH', '/settings', { timezone: 'UTC' });
    assert.deepEqual((await ask('GET', `/agents/flows/${flow.id}`)).body.trigger, {
      kind: 'cron',
      expression: '0 9 * * MON-FRI',
      timezone: 'Asia/Tokyo',
    });
    for (const trigger of [{ kind: 'webhook' }, { kind: 'event', type: 'agent.created' }]) {
      assert.deepEqual((await patch(flow.id, { trigger })).body.trigger, trigger);
    }
  });
});

describe('the definition of a flow', () => {
  const valid = [
    step('first', { arguments: { limit: 5 } }),
    step('second', {
      tool: 'get_agent',
      arguments: { id: '{{ steps.first.output.data[0].id }}' },
      when: 'size(steps.first.output.data) > 0 && input.go == true',
      onError: 'continue',
      retry: { attempts: 10, delayMs: 0 },
    }),
    step('third', {
      tool: 'create_skill',
      arguments: { name: '{% assign a = steps.second.output %}{{ a.name | upcase }}', description: 'plain { braces }' },
    }),
  ];

  it('is kept as it was written', async () => {
    const flow = await flowOf({ steps: valid });
    assert.deepEqual(flow.steps[1].arguments, valid[1]?.arguments);
    assert.deepEqual(flow.steps[1].retry, { attempts: 10, delayMs: 0 });
    assert.equal(flow.steps[2].arguments.name, valid[2]?.arguments?.name);
  });

  const wrongTexts: readonly (readonly [name: string, text: string, message: RegExp])[] = [
    ['templates that cannot be read', '{{ input.x', /cannot be read/],
    ['filters there are not', '{{ input.x | frobnicate }}', /undefined filter/],
    ['tags that read files', '{% render "x" %}', /cannot be read/],
    ['references to itself', '{{ steps.a.output }}', /steps.a is not a step before/],
    ['references forward', '{{ steps.b.output }}', /steps.b is not a step before/],
    ['references to something else of a step', '{{ steps.first.data }}', /steps.first.output/],
    ['steps chosen at run time', '{{ steps[input.x].output }}', /Name the step/],
    ['names there are not', '{{ secrets.x }}', /no secrets here/],
  ];
  const wrongConditions: typeof wrongTexts = [
    ['conditions that cannot be read', 'input.x >', /cannot be read/],
    ['conditions that are none', '"yes"', /not true or false/],
    ['conditions on unknown names', 'secrets.x == 1', /Unknown variable: secrets/],
    ['conditions on later steps', 'has(steps.b.output.x)', /steps.b is not a step before/],
    [
      'conditions on later steps in an index',
      'steps.first.output[steps.b.output.i] == 1',
      /steps.b is not a step before/,
    ],
  ];
  const wrongTimes: typeof wrongTexts = [
    ['a cron expression of no time', '61 * * * *', /minute: 61/],
    ['a cron expression that never comes', '0 0 31 2 *', /no time/],
    ['a cron expression with seconds', '* * * * * *', /6 fields, and five are needed/],
  ];
  const steps = (more: Parameters<typeof step>[1]) => ({ steps: [step('first'), step('a', more), step('b')] });
  const cron = (more: object) => ({ trigger: { kind: 'cron', expression: '0 0 * * *', ...more } });
  const wrong: readonly (readonly [name: string, body: object, path: string, message: RegExp])[] = [
    ...wrongTexts.map(
      ([name, status, message]) =>
        [name, steps({ arguments: { status } }), 'steps[1].arguments.status', message] as const,
    ),
    ...wrongConditions.map(([name, when, message]) => [name, steps({ when }), 'steps[1].when', message] as const),
    ...wrongTimes.map(
      ([name, expression, message]) => [name, cron({ expression }), 'trigger.expression', message] as const,
    ),
    ['unknown tools, with the nearest names', steps({ tool: 'list_agent' }), 'steps[1].tool', /such as list_agents/],
    ['door-only tools', steps({ tool: 'get_mcp_status' }), 'steps[1].tool', /can never be in a flow/],
    [
      'references to no step',
      { steps: [step('a', { arguments: { status: '{{ steps.zz.output }}' } })] },
      'steps[0].arguments.status',
      /no step before this/,
    ],
    ['ids given twice', { steps: [step('a'), step('a')] }, 'steps[1].id', /Another step has the id a/],
    ['an id that every object has', { steps: [step('constructor')] }, 'steps[0].id', /Every object has a member/],
    ['ids that are no names', { steps: [step('1st')] }, 'steps[0].id', /Write a name/],
    ['unknown arguments', steps({ arguments: { limt: 1 } }), 'steps[1].arguments.limt', /did you mean "limit"/],
    ['arguments out of range', steps({ arguments: { limit: 0 } }), 'steps[1].arguments.limit', /./],
    ['missing arguments', steps({ tool: 'get_agent' }), 'steps[1].arguments.id', /./],
    ['retries beyond bounds', steps({ retry: { attempts: 11, delayMs: 1 } }), 'steps[1].retry.attempts', /./],
    ['waits beyond bounds', steps({ retry: { attempts: 2, delayMs: 3_600_001 } }), 'steps[1].retry.delayMs', /./],
    ['an unknown time zone', cron({ timezone: 'Mars/Base' }), 'trigger.timezone', /IANA/],
    ['an unknown trigger', { trigger: { kind: 'moon' } }, 'trigger.kind', /./],
    ['an agent that is not there', { agentId: 'agt_none', prompt: 'p' }, 'agentId', /There is no agent/],
    ['a prompt without an agent', { prompt: 'p' }, 'prompt', /needs an agentId/],
    ['runAs', { runAs: { type: 'session', id: 'x', name: 'x' } }, 'runAs', /the server keeps it/],
  ];
  for (const [name, body, path, message] of wrong) {
    it(`refuses ${name}`, async () => {
      const [first, ...others] = await problems(body);
      assert.deepEqual([first?.[0], others], [path, []]);
      assert.match(first?.[1] ?? '', message);
    });
  }

  it('names everything that is wrong at once', async () => {
    const found = await problems({
      steps: [
        step('a', { tool: 'nothing_like_it_at_all', when: '1 +' }),
        step('a', { arguments: { limit: 'x', status: '{{ steps.q }}' } }),
      ],
      agentId: 'agt_none',
      trigger: { kind: 'cron', expression: 'soon' },
    });
    assert.deepEqual(found.map(([path]) => path).sort(), [
      'agentId',
      'steps',
      'steps[0].tool',
      'steps[0].when',
      'steps[1].arguments.limit',
      'steps[1].arguments.status',
      'steps[1].id',
      'trigger.expression',
    ]);
  });

  it('finds what templates hide: names of arguments, and members that no earlier step answers', async () => {
    const make = step('make', { tool: 'create_skill', arguments: { name: 's', instructions: 'x' } });
    const list = step('list', { arguments: { limit: 1 } });
    const use = (argument: string, text: string, more = {}) =>
      step('use', { tool: 'create_document', arguments: { title: 't', content: 'c', [argument]: text }, ...more });
    const said = async (...steps: object[]) => problems({ steps });
    assert.deepEqual(await said(make, use('titel', '{{ steps.make.output.id }}')), [
      ['steps[1].arguments.titel', 'There is no field "titel" here; did you mean "title"?'],
    ]);
    assert.deepEqual(await said(make, use('title', '{{ steps.make.output.titel }}')), [
      [
        'steps[1].arguments.title',
        'steps.make.output has no "titel"; it has id, name, displayName, description, instructions, createdAt, updatedAt, revision.',
      ],
    ]);
    assert.deepEqual(await said(list, use('title', 'of {{ steps.list.output.data[0].nmae }}')), [
      ['steps[1].arguments.title', 'steps.list.output.data.0 has no "nmae"; did you mean "name"?'],
    ]);
    assert.deepEqual(await said(list, use('title', 'x', { when: 'steps.list.output.total.big > 1' })), [
      ['steps[1].when', 'steps.list.output.total has no "big"; it has no members.'],
    ]);
    const fine = [
      '{{ steps.list.output.data[0].identity.email.alias }}',
      '{{ steps.list.output.data.first.name }} of {{ steps.list.output.data.size }}',
      '{% for one in steps.list.output.data %}{{ one.anything }}{% endfor %}',
      '{{ steps.list.output.data[input.at].name }}',
    ];
    for (const text of fine) await flowOf({ steps: [list, use('title', text)] });
    const asks = step('ask', { tool: 'invoke_agent', arguments: { agentId: '{{ input.agent }}', message: 'x' } });
    await flowOf({ steps: [asks, use('title', '{{ steps.ask.output.output.whatever }}')] });
  });

  it('refuses records that its steps name and that are not there, also where the writer may not see them', async () => {
    const { id } = await must('create_skill', { name: 'kept', instructions: 'x' });
    const thread = await must('create_thread', { title: 'Hidden', visibility: 'restricted' });
    const gone = `skl_${'0'.repeat(26)}`;
    const get = (tool: string, given: object) => ({ steps: [step('get', { tool, arguments: { ...given } })] });
    await flowOf(get('get_skill', { id }));
    await flowOf(get('get_thread', { id: thread.id }));
    assert.deepEqual(await problems(get('get_skill', { id: gone })), [
      ['steps[0].arguments.id', `There is no skill ${gone}; see list_skills.`],
    ]);
    assert.deepEqual(await problems(get('create_agent', { name: 'n', displayName: 'N', skillIds: [id, gone] })), [
      ['steps[0].arguments.skillIds', `There is no skill ${gone}; see list_skills.`],
    ]);
    assert.deepEqual(await problems(get('invoke_agent', { agent: 'nobody at all', input: 'x' })), [
      ['steps[0].arguments.agent', 'There is no agent nobody at all; see list_agents.'],
    ]);
    const writer = await makeKey(server, { scopes: ['write'] });
    const { status, body } = await post(get('get_thread', { id: thread.id }), writer);
    assert.deepEqual([status, body.issues[0].message], [400, `There is no thread ${thread.id}; see list_threads.`]);
  });

  it('refuses a deleted agent, also on update, and takes a paused one', async () => {
    const agent = await agentOf('paused one');
    await ask('PATCH', `/agents/${agent.id}`, { status: 'paused' });
    const flow = await flowOf({ agentId: agent.id, prompt: 'p' });
    await ask('DELETE', `/agents/${agent.id}`);
    assert.deepEqual((await problems({ agentId: agent.id, prompt: 'p' }))[0], [
      'agentId',
      `The agent ${agent.id} is deleted.`,
    ]);
    assert.equal((await patch(flow.id, { prompt: 'q' })).status, 400);
    assert.equal((await patch(flow.id, { enabled: false })).status, 200, 'what it does is not touched');
  });
});

describe('the rights of a flow', () => {
  it('are those of its writer, who must have them for every tool', async () => {
    const reader = await keyOf({ grants: ['flow', 'agent:read'] });
    const flow = await flowOf({ steps: [step('a')] }, reader.secret);
    assert.deepEqual(flow.runAs, reader.ref);
    const beyond = await post(
      { steps: [step('a'), step('b', { tool: 'create_skill', arguments: { name: 'x' } })] },
      reader.secret,
    );
    assert.deepEqual(
      [beyond.status, beyond.body.error, beyond.body.required],
      [403, 'Insufficient permissions', { scope: 'skills:write', grant: 'skill:write' }],
    );
    assert.equal((await patch(flow.id, { steps: [step('a', { tool: 'list_api_keys' })] }, reader.secret)).status, 403);
    const limited = await keyOf({ grants: ['flow', 'agent:read:agt_one'] });
    assert.equal(
      (await post({ steps: [step('a', { tool: 'get_agent', arguments: { id: 'agt_two' } })] }, limited.secret)).status,
      403,
    );
  });

  it('need the right to invoke its agent', async () => {
    const agent = await agentOf('invoked');
    const without = await keyOf({ grants: ['flow', 'agent:read'] });
    const refused = await post({ agentId: agent.id, prompt: 'p' }, without.secret);
    assert.deepEqual(
      [refused.status, refused.body.required],
      [403, { scope: 'chat:write', grant: `agent:invoke:${agent.id}` }],
    );
    const byName = await keyOf({ grants: ['flow', 'agent:invoke:invoked'] });
    assert.equal((await post({ agentId: agent.id, prompt: 'p' }, byName.secret)).status, 201);
  });

  it('pass to whoever changes what it does or when, and only then', async () => {
    const [first, second] = [await keyOf({ scopes: ['write'] }), await keyOf({ scopes: ['write'] })];
    const flow = await flowOf({ steps: [step('a')] }, first.secret);
    const runAs = async (body: object) => (await patch(flow.id, body, second.secret)).body.runAs;
    assert.deepEqual(await runAs({ name: 'Renamed', description: 'd', enabled: false }), first.ref);
    assert.deepEqual(
      await runAs({ steps: flow.steps, trigger: flow.trigger, prompt: null }),
      first.ref,
      'the same again',
    );
    assert.deepEqual(await runAs({ trigger: { kind: 'webhook' } }), second.ref);
    assert.deepEqual((await patch(flow.id, { steps: [step('b')] }, first.secret)).body.runAs, first.ref);
  });

  it('are not taken over by a change of the trigger alone', async () => {
    const strong = await flowOf({ steps: [step('a', { tool: 'list_api_keys' })] });
    const weak = await keyOf({ scopes: ['write'] });
    assert.equal((await patch(strong.id, { trigger: { kind: 'webhook' } }, weak.secret)).status, 403);
    assert.equal((await patch(strong.id, { name: 'Renamed' }, weak.secret)).status, 200);
  });
});

describe('the history of a flow', () => {
  const versionsOf = async (id: string) => (await ask('GET', `/versions/flow/${id}`)).body.data;
  const restore = (id: string, versionId: string, key?: string) =>
    ask('POST', `/versions/flow/${id}/${versionId}/restore`, {}, key);

  it('diffs by step and restores, with the rights of the restorer', async () => {
    const flow = await flowOf({ steps: [step('a', { arguments: { limit: 1 } }), step('b')] });
    await patch(flow.id, { steps: [step('a', { arguments: { limit: 2 } }), step('b')] });
    const [latest, first] = await versionsOf(flow.id);
    const { body: diff } = await ask('GET', `/versions/flow/${flow.id}/${latest.id}/diff`);
    assert.deepEqual(diff.changes, [{ path: '/steps/0/arguments/limit', before: 1, after: 2 }]);
    const restorer = await keyOf({ scopes: ['write'] });
    assert.equal((await restore(flow.id, first.id, restorer.secret)).status, 200);
    const { body } = await ask('GET', `/agents/flows/${flow.id}`);
    assert.deepEqual([body.steps, body.runAs], [flow.steps, restorer.ref]);
    const again = await restore(flow.id, first.id);
    assert.equal(again.body.revision, body.revision, 'the same state again changes nothing, runAs included');
    assert.deepEqual((await ask('GET', `/agents/flows/${flow.id}`)).body.runAs, restorer.ref);
  });

  it('gives nobody a flow of tools beyond their rights', async () => {
    const flow = await flowOf({ steps: [step('a', { tool: 'list_api_keys' })] });
    await patch(flow.id, { steps: [step('a')] });
    await ask('DELETE', `/agents/flows/${flow.id}`);
    const [, harmless, strong] = await versionsOf(flow.id);
    const weak = await keyOf({ scopes: ['write'] });
    assert.equal((await restore(flow.id, strong.id, weak.secret)).status, 403);
    assert.equal((await restore(flow.id, harmless.id, weak.secret)).status, 200);
    const { body } = await ask('GET', `/agents/flows/${flow.id}`);
    assert.deepEqual([body.runAs, body.createdAt], [weak.ref, flow.createdAt]);
  });

  it('does not bring back a flow for a deleted agent', async () => {
    const agent = await agentOf('short-lived worker');
    const flow = await flowOf({ agentId: agent.id, prompt: 'p' });
    await patch(flow.id, { agentId: null, prompt: null, steps: [step('a')] });
    await ask('DELETE', `/agents/${agent.id}`);
    const versions = await versionsOf(flow.id);
    const refused = await restore(flow.id, versions.at(-1).id);
    assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
    assert.match(refused.body.error, /is deleted/);
    await ask('PATCH', `/agents/${agent.id}`, { status: 'active' });
    assert.equal((await restore(flow.id, versions.at(-1).id)).status, 200);
  });

  it('follows the rights on flows', async () => {
    const flow = await flowOf({});
    const key = await makeKey(server, { scopes: ['agents:read'] });
    const { body } = await ask('GET', `/versions/flow/${flow.id}`, undefined, key);
    assert.deepEqual(body.required, { scope: 'flows:read', grant: `flow:read:${flow.id}` });
    await must('list_versions', { entityType: 'flow', entityId: flow.id });
  });
});
