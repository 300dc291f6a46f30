import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { callsOf, callTool, rest } from '../support/calls.ts';
import { openEvents } from '../support/events.ts';
import { type ModelRequest, startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
import { keyOfSomebody } from '../support/second-person.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const bert = await keyOfSomebody(server.store, 'bert');
const carl = await keyOfSomebody(server.store, 'carl');
afterEach(() => provider.play(() => ({ text: 'Hello.' })));

const { must, codeOf } = callsOf(server);
let count = 0;

/** An agent that is asked to make a skill, and then says what it was told last. */
async function agentThatAsks(...more: { name: string; arguments: unknown }[]) {
  count += 1;
  const name = `skill ${count}`;
  const tools = ['create_skill', 'list_skills'];
  const agent = { name: `asks-${count}`, displayName: 'Ada', tools, askFirst: ['create_skill'] };
  const { id: agentId } = await must('create_agent', agent);
  const calls = [...more, { name: 'create_skill', arguments: { name, instructions: 'x' } }];
  const isAsked = ({ messages }: ModelRequest) => messages.at(-1)?.content.includes('Make it') === true;
  provider.play((request) =>
    isAsked(request)
      ? { calls }
      : { text: `I was told: ${request.messages.findLast(({ role }) => role === 'tool')?.content}` },
  );
  return { agentId, name };
}

const decide = (id: string, decision = 'approve', more: object = {}, key = bert) =>
  callTool(server, key, 'decide_approval', { id, decision, ...more });
const runOf = (id: string) => server.store.agentRuns.read(id);
const said = async (threadId: string) =>
  (await must('list_messages', { id: threadId, order: 'oldest', limit: 100 })).data;
const madeOf = async (name: string) => (await must('list_skills', { name })).data.length;

/** The turn that waits, and the approval that it waits for. */
async function asked(more: { name: string; arguments: unknown }[] = []) {
  const { agentId, name } = await agentThatAsks(...more);
  const turn = await must('send_chat_message', { message: 'Make it', agentId });
  const { waitsFor = [] } = await runOf(turn.runId);
  return { ...turn, name, approval: waitsFor[0]?.approvalId ?? '' };
}

const wentOn = async (threadId: string) => {
  await until(async () => {
    const { records } = await server.store.agentRuns.find({ where: { threadId }, limit: 10 });
    return records.length > 1 && records.every(({ status }) => status !== 'running' && status !== 'waiting');
  });
  return (await server.store.agentRuns.find({ where: { threadId }, order: 'oldest', limit: 10 })).records;
};

describe('a turn of an agent whose call waits for a person', () => {
  it('says so with the link, in the stream too, and goes on by itself with what the call answered', async () => {
    const { agentId, name } = await agentThatAsks({ name: 'list_skills', arguments: { limit: 1 } });
    const body = { message: 'Make it', agentId };
    const { events } = await openEvents(server, '/api/v1/chat', { key: server.adminKey, body });
    const told = [];
    for await (const event of events) told.push(event);
    const final = told.find((event) => event.name === 'final')?.data;
    const { waitsFor: [{ approvalId, tool } = { approvalId: '', tool: '' }] = [], status } = await runOf(final.runId);
    assert.deepEqual([status, tool, final.stopReason], ['waiting', 'create_skill', 'approval']);
    const link = `/approvals/${approvalId}`;
    assert.ok(final.message.content.includes(link), final.message.content);
    assert.ok(told.some(({ name: each, data }) => each === 'tool_result' && data.content.includes(link)));
    assert.equal(await madeOf(name), 0);
    const turns = provider.requests.length;
    assert.ok('output' in (await decide(approvalId)));
    const [first, second] = await wentOn(final.threadId);
    assert.deepEqual([first?.status, second?.status, second?.continues], ['succeeded', 'succeeded', first?.id]);
    assert.deepEqual([await madeOf(name), provider.requests.length - turns], [1, 1]);
    const messages = await said(final.threadId);
    assert.deepEqual(pluck(messages, 'role'), ['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant']);
    assert.match(messages.at(-1).content, new RegExp(`I was told: .*"name":"${name}"`, 's'));
    assert.equal((await must('get_approval', { id: approvalId })).status, 'done');
  });

  it('goes on with the models and the bound of tokens that its call named, each time, and not with those of its agent', async () => {
    const { agentId } = await agentThatAsks();
    await must('update_agent', { id: agentId, modelPreference: 'custom/vendor', fallbackModels: ['custom/vendor'] });
    const from = provider.requests.length;
    const named = { model: 'custom/local', fallbackModels: [], maxTokens: 345 };
    const { runId, threadId } = await must('send_chat_message', { message: 'Make it', agentId, ...named });
    const again = { calls: [{ name: 'create_skill', arguments: { name: `more ${count}`, instructions: 'x' } }] };
    provider.play((_, at) => (at === from + 2 ? again : { status: 503, headers: { 'x-should-retry': 'false' } }));
    await decide((await runOf(runId)).waitsFor?.[0]?.approvalId ?? '');
    const newest = async () => (await server.store.agentRuns.first({ where: { threadId } })) ?? assert.fail();
    await until(async () => (await newest()).id !== runId && (await newest()).status === 'waiting');
    await decide((await newest()).waitsFor?.[0]?.approvalId ?? '');
    const runs = await wentOn(threadId);
    assert.deepEqual(pluck(runs, 'status'), ['succeeded', 'succeeded', 'failed']);
    assert.deepEqual(pluck(provider.requests.slice(from), 'model'), ['local', 'local', 'local']);
    assert.deepEqual(
      provider.requests.slice(from).map(({ body }) => body.max_tokens),
      [345, 345, 345],
    );
  });

  it('tells the model who said no and why, and is no failure', async () => {
    const { threadId, name, approval } = await asked();
    await decide(approval, 'reject', { note: 'Not on a Friday.' });
    const [, second] = await wentOn(threadId);
    assert.deepEqual([second?.status, await madeOf(name)], ['succeeded', 0]);
    assert.match((await said(threadId)).at(-1).content, /rejected this call .*Not on a Friday/);
  });

  it('goes on where nobody decided in time, with that as the answer', async () => {
    const { threadId, name } = await asked();
    server.clock.pass(25 * 3_600_000);
    const [, second] = await wentOn(threadId);
    assert.deepEqual([second?.status, await madeOf(name)], ['succeeded', 0]);
    assert.match((await said(threadId)).at(-1).content, /expired/);
  });

  it('holds back other messages, and is given up when it is cancelled', async () => {
    const { threadId, runId, name, approval } = await asked();
    assert.equal(await codeOf('send_chat_message', { threadId, message: 'And?' }), 'conflict');
    assert.equal(await codeOf('send_chat_message', { threadId, continue: runId }), 'conflict');
    assert.equal((await must('cancel_agent_run', { id: runId })).status, 'cancelled');
    const late = await decide(approval);
    assert.equal('error' in late && late.error.code, 'conflict');
    assert.equal((await must('send_chat_message', { threadId, message: 'And?' })).stopReason, 'end');
    assert.equal(await madeOf(name), 0);
  });

  it('goes on once all of its calls are decided, each made once', async () => {
    const other = { name: `other ${count}`, instructions: 'x' };
    const { threadId, runId, name } = await asked([{ name: 'create_skill', arguments: other }]);
    const { waitsFor = [] } = await runOf(runId);
    assert.equal(waitsFor.length, 2);
    const codes = await Promise.all(
      [bert, carl].map((key) => decide(waitsFor[0]?.approvalId ?? '', 'approve', {}, key)),
    );
    assert.equal(codes.filter((answer) => 'output' in answer).length, 1);
    assert.equal((await runOf(runId)).status, 'waiting');
    await decide(waitsFor[1]?.approvalId ?? '');
    await wentOn(threadId);
    assert.deepEqual([await madeOf(name), await madeOf(other.name)], [1, 1]);
  });

  it('is decided by nobody for whom it acts, and continued by nobody else', async () => {
    const { threadId, runId, approval } = await asked();
    assert.equal(await codeOf('decide_approval', { id: approval, decision: 'approve' }), 'forbidden');
    const taken = await callTool(server, carl, 'send_chat_message', { threadId, continue: runId });
    assert.equal('error' in taken && taken.error.code, 'conflict');
    await must('cancel_agent_run', { id: runId });
  });

  it('is the same turn where the message is sent again under its key', async () => {
    const { agentId } = await agentThatAsks();
    const send = () =>
      rest(server, 'POST', '/api/v1/chat', {
        key: server.adminKey,
        body: { message: 'Make it', agentId },
        headers: { 'Idempotency-Key': `once ${count}` },
      });
    const [first, second] = [await send(), await send()];
    assert.deepEqual(second.body, first.body);
    await must('cancel_agent_run', { id: first.body.runId });
  });
});

describe('an agent that a flow runs', () => {
  /** The run of a flow whose step invokes the agent, which has a call made and asks for another one. */
  async function askedInFlow() {
    const before = { name: `before ${count}`, title: 'before' };
    const { agentId, name } = await agentThatAsks({ name: 'create_task', arguments: { title: before.name } });
    await must('update_agent', { id: agentId, tools: ['create_skill', 'create_task'] });
    const step = { id: 'agent', tool: 'invoke_agent', arguments: { agent: agentId, input: 'Make it' } };
    const flow = await must('create_flow', { name: `flow ${count}`, trigger: { kind: 'manual' }, steps: [step] });
    const isNew = ({ messages }: ModelRequest) => messages.at(-1)?.content === 'Make it';
    const calls = [
      { name: 'create_task', arguments: { title: before.name } },
      { name: 'create_skill', arguments: { name, instructions: 'x' } },
    ];
    provider.play((request) =>
      isNew(request)
        ? { calls }
        : {
            text: `${request.messages.findLast(({ role }) => role === 'tool')?.content} ${request.messages.at(-1)?.content}`,
          },
    );
    const run = await must('trigger_flow', { id: flow.id, wait: true });
    const tasks = async () =>
      (await must('list_tasks', { limit: 100 })).data.filter(({ title }: { title: string }) => title === before.name);
    return { run, name, tasks };
  }
  const endedFlow = async (id: string) => {
    await until(async () => !['running', 'waiting'].includes((await server.store.flowRuns.read(id)).status));
    return server.store.flowRuns.read(id);
  };

  it('has its flow wait, and goes on with what the call answered and what it had done', async () => {
    const { run, name, tasks } = await askedInFlow();
    assert.deepEqual([run.status, run.steps[0].status, (await tasks()).length], ['waiting', 'waiting', 1]);
    assert.ok('output' in (await decide(run.steps[0].approvalId)));
    const { status, steps } = await endedFlow(run.id);
    assert.deepEqual([status, await madeOf(name), (await tasks()).length], ['succeeded', 1, 1]);
    const text = String(steps[0]?.output?.text);
    assert.match(text, new RegExp(`"name":"${name}".*- create_task: ok`, 's'));
    const { records } = await server.store.agentRuns.find({ where: { flowRunId: run.id }, order: 'oldest', limit: 9 });
    assert.deepEqual(
      records.map(({ status: each, continues }) => [each, continues]),
      [
        ['succeeded', undefined],
        ['succeeded', records[0]?.id],
      ],
    );
  });

  it('hears who said no, and is given up with the run of its flow', async () => {
    const { run, name } = await askedInFlow();
    await decide(run.steps[0].approvalId, 'reject', { note: 'Not on a Friday.' });
    const { status, steps } = await endedFlow(run.id);
    assert.deepEqual([status, await madeOf(name)], ['succeeded', 0]);
    assert.match(String(steps[0]?.output?.text), /Not on a Friday/);
    const other = await askedInFlow();
    await must('cancel_flow_run', { id: other.run.id });
    const late = await decide(other.run.steps[0].approvalId);
    assert.equal('error' in late && late.error.code, 'conflict');
    assert.equal(await server.store.agentRuns.count({ where: { status: 'waiting' } }), 0);
  });

  it('is not decided by who wrote or began the flow', async () => {
    const { run } = await askedInFlow();
    const approval = { id: run.steps[0].approvalId, decision: 'approve' };
    assert.equal(await codeOf('decide_approval', approval), 'forbidden');
    await must('cancel_flow_run', { id: run.id });
  });
});

describe('an agent that is invoked with a key, whose call waits for a person', () => {
  /** The answer of the call, before a person has decided. */
  async function invoked(meta: Record<string, unknown> = {}, more: object = {}) {
    const { agentId, name } = await agentThatAsks();
    const input = { agent: agentId, input: 'Make it', ...more };
    const answer = await callTool(server, server.adminKey, 'invoke_agent', input, meta);
    assert.ok('error' in answer, JSON.stringify(answer));
    const { code, approvalId = '', runId = '', error } = answer.error;
    assert.deepEqual([code, (await runOf(runId)).status], ['approval_required', 'waiting']);
    return { input, name, approvalId, runId, error };
  }

  it('names the run and the approval and how to go on, and answers once it is decided', async () => {
    const { input, name, approvalId, runId, error } = await invoked();
    assert.ok(error.includes(`{"continue": "${runId}"}`), error);
    const { status, waitsFor } = await must('get_agent_run', { id: runId });
    assert.deepEqual([status, waitsFor[0].approvalId], ['waiting', approvalId]);
    const goOn = { ...input, continue: runId };
    assert.equal(await codeOf('invoke_agent', goOn), 'approval_required');
    assert.equal(await codeOf('invoke_agent', { ...goOn, agent: (await agentThatAsks()).agentId }), 'conflict');
    assert.ok('error' in (await callTool(server, bert, 'invoke_agent', goOn)), 'Nobody else goes on with it.');
    const told = ({ messages }: ModelRequest) => messages.findLast(({ role }) => role === 'tool')?.content ?? '';
    provider.play((request) => ({ text: `I was told: ${told(request)}` }));
    assert.ok('output' in (await decide(approvalId)));
    assert.equal(await madeOf(name), 0, 'The agent makes it.');
    const [first, second] = await Promise.all(
      [1, 2].map(() => callTool(server, server.adminKey, 'invoke_agent', goOn)),
    );
    const texts = [first, second].flatMap((one) => (one && 'output' in one ? [String(one.output.text)] : []));
    const codes = [first, second].flatMap((one) => (one && 'error' in one ? [one.error.code] : []));
    assert.deepEqual([texts.length, codes, await madeOf(name)], [1, ['conflict'], 1]);
    assert.match(texts[0] ?? '', new RegExp(`"name":"${name}"`));
    assert.equal((await runOf(runId)).status, 'succeeded');
    assert.equal(await codeOf('invoke_agent', goOn), 'conflict');
  });

  it('goes on with the models that it named, where the next call names none', async () => {
    const { agentId } = await agentThatAsks();
    await must('update_agent', { id: agentId, modelPreference: 'custom/vendor', fallbackModels: ['custom/vendor'] });
    const from = provider.requests.length;
    const input = { agent: agentId, input: 'Make it' };
    const named = { ...input, model: 'custom/local', fallbackModels: [], maxTokens: 345 };
    const answer = await callTool(server, server.adminKey, 'invoke_agent', named);
    const { approvalId = '', runId = '' } = 'error' in answer ? answer.error : assert.fail();
    await decide(approvalId);
    provider.play(() => ({ status: 503, headers: { 'x-should-retry': 'false' } }));
    assert.equal(await codeOf('invoke_agent', { ...input, continue: runId }), 'unavailable');
    assert.deepEqual(pluck(provider.requests.slice(from), 'model'), ['local', 'local']);
    assert.deepEqual(
      provider.requests.slice(from).map(({ body }) => body.max_tokens),
      [345, 345],
    );
  });

  it('tells the agent who said no, and goes on under the key of the call too', async () => {
    const idempotencyKey = `invoked ${count}`;
    const { input, name, approvalId, runId, error } = await invoked({ idempotencyKey });
    assert.match(error, /the same call under its key/);
    const again = () => callTool(server, server.adminKey, 'invoke_agent', input, { idempotencyKey });
    const before = await again();
    assert.deepEqual('error' in before && [before.error.code, before.error.runId], ['approval_required', runId]);
    await decide(approvalId, 'reject', { note: 'Not on a Friday.' });
    const after = await again();
    assert.match('output' in after ? String(after.output.text) : '', /Not on a Friday/);
    assert.deepEqual(await again(), after);
    assert.equal(await madeOf(name), 0);
  });

  it('hears again what the client wished in its system messages', async () => {
    const history = [{ role: 'system', content: 'Answer in Frisian.' }];
    const { input, approvalId, runId } = await invoked({}, { history });
    await decide(approvalId);
    provider.play(({ messages }) => ({ text: messages.map(({ content }) => content).join('\n') }));
    const { text } = await must('invoke_agent', { ...input, continue: runId });
    assert.match(text, /Make it\n.*Answer in Frisian\./s);
  });

  it('is given up with its run', async () => {
    const { input, approvalId, runId } = await invoked();
    await must('cancel_agent_run', { id: runId });
    const late = await decide(approvalId);
    assert.equal('error' in late && late.error.code, 'conflict');
    assert.equal((await runOf(runId)).status, 'cancelled');
    provider.play(() => ({ text: 'Anew.' }));
    assert.equal((await must('invoke_agent', { ...input, continue: runId })).text, 'Anew.');
  });
});
