import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, callTool } from '../support/calls.ts';
import { loseTransaction } from '../support/lost-answer.ts';
import { type ModelRequest, type Reply, startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
import { keyOfSomebody } from '../support/second-person.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const { store } = server;
const bert = await keyOfSomebody(store, 'bert');
const { must, codeOf } = callsOf(server);

type Part = (request: ModelRequest) => Reply;
const parts = new Map<string, Part>();
let asked: string[] = [];
provider.play((request) => {
  const name = /I am (\w+)\./.exec(request.messages[0]?.content ?? '')?.[1] ?? '';
  asked.push(name);
  return parts.get(name)?.(request) ?? { text: 'Hello.' };
});

const results = ({ messages }: ModelRequest) =>
  messages.filter(({ role }) => role === 'tool').map((each) => each.content);
/** Makes the calls, and then says what they answered. */
const callsThenTells =
  (...calls: { name: string; arguments: unknown }[]): Part =>
  (request) =>
    results(request).length === 0 ? { calls } : { text: `I heard: ${results(request).join(' and ')}` };
const invokes = (agent: string) => ({ name: 'invoke_agent', arguments: { agent, input: 'Make it' } });
const makes = (name: string) => ({ name: 'create_skill', arguments: { name, instructions: 'x' } });

async function agentNamed(name: string, tools: readonly string[], part: Part, more: object = {}): Promise<string> {
  const agent = { name, displayName: name, instructions: `I am ${name}.`, tools, ...more };
  parts.set(name, part);
  return (await must('create_agent', agent)).id;
}

let count = 0;
/** An agent whose calls make skills and ask a person before, and those that invoke it, the outermost first. */
async function world({ levels = 2, skills = 1, outer = {} } = {}) {
  count += 1;
  asked = [];
  const named = Array.from({ length: skills }, (_, at) => `skill ${count}_${at}`);
  const names = Array.from({ length: levels }, (_, at) => `level${at}of${count}`);
  const [last = ''] = names.slice(-1);
  await agentNamed(last, ['create_skill'], callsThenTells(...named.map(makes)), { askFirst: ['create_skill'] });
  for (const [at, name] of names.slice(0, -1).entries())
    await agentNamed(
      name,
      ['invoke_agent', 'create_skill'],
      callsThenTells(invokes(names[at + 1] ?? '')),
      at === 0 ? outer : {},
    );
  return { names, skills: named, agent: names[0] ?? '', inner: last };
}

const decide = async (id: string, decision = 'approve', more: object = {}) => {
  const answer = await callTool(server, bert, 'decide_approval', { id, decision, ...more });
  assert.ok('output' in answer, JSON.stringify(answer));
};
const madeOf = async (names: readonly string[]) =>
  (await must('list_skills', { limit: 100 })).data.filter(({ name }: { name: string }) => names.includes(name)).length;
const waitingRuns = async () => (await store.agentRuns.find({ where: { status: 'waiting' }, limit: 50 })).records;
/** The approvals for which some run waits. */
const awaited = async () => [
  ...new Set((await waitingRuns()).flatMap(({ waitsFor = [] }) => waitsFor.map(({ approvalId }) => approvalId))),
];
const said = async (threadId: string) =>
  (await must('list_messages', { id: threadId, order: 'oldest', limit: 100 })).data;
const settled = async () => {
  await until(async () => (await store.agentRuns.count({ where: { status: ['waiting', 'running'] } })) === 0);
};
const askedOf = (name: string) => asked.filter((each) => each === name).length;

describe('an agent in a thread, of which an agent that it invokes has a call wait', () => {
  it('waits for the same approval, and goes on by itself with the answer of that agent, in any depth', async () => {
    for (const levels of [2, 3]) {
      const { names, skills, agent } = await world({ levels });
      const turn = await must('send_chat_message', { message: 'Begin', agentId: agent });
      const waiting = await waitingRuns();
      const [approvalId = '', ...others] = await awaited();
      assert.deepEqual([waiting.length, others.length, turn.stopReason], [levels, 0, 'approval']);
      assert.ok(turn.message.content.includes(`/approvals/${approvalId}`), turn.message.content);
      const shown = await must('get_agent_run', { id: turn.runId });
      const [{ toolCallId, ...entry }] = shown.waitsFor;
      assert.deepEqual(entry, { approvalId, tool: 'invoke_agent' });
      assert.equal(shown.calls[0].runId, waiting.find(({ askers }) => askers?.length === 2)?.id);
      assert.equal(await madeOf(skills), 0);
      await decide(approvalId);
      await settled();
      const { content } = (await said(turn.threadId)).at(-1);
      assert.match(content, new RegExp(`^${'I heard: .*'.repeat(levels)}${skills[0]}`, 's'));
      assert.deepEqual([await madeOf(skills), ...names.map(askedOf)], [1, ...names.map(() => 2)]);
      assert.equal((await must('get_approval', { id: approvalId })).status, 'done');
    }
  });

  it('is told what the agent made of a no and its note, which is no failure', async () => {
    const { names, skills, agent } = await world();
    const { threadId } = await must('send_chat_message', { message: 'Begin', agentId: agent });
    const [approvalId = ''] = await awaited();
    await decide(approvalId, 'reject', { note: 'Not on a Friday.' });
    await settled();
    assert.match((await said(threadId)).at(-1).content, /I heard: .*I heard: .*Not on a Friday/s);
    const { records } = await store.agentRuns.find({ limit: 4 });
    assert.deepEqual(pluck(records, 'status'), Array(4).fill('succeeded'));
    assert.deepEqual([await madeOf(skills), ...names.map(askedOf)], [0, 2, 2]);
  });

  it('goes on where nobody decided in time, and begins nothing anew', async () => {
    const { names, skills, agent } = await world();
    const { threadId } = await must('send_chat_message', { message: 'Begin', agentId: agent });
    server.clock.pass(50 * 3_600_000);
    await settled();
    assert.match((await said(threadId)).at(-1).content, /I heard: .*I heard: .*expired/s);
    assert.deepEqual([await madeOf(skills), ...names.map(askedOf)], [0, 2, 2]);
  });

  it('waits for the calls that wait alone, where it makes several in one turn', async () => {
    const one = await world();
    const two = await world();
    await agentNamed(`calm${count}`, [], () => ({ text: 'Calm.' }));
    const calls = [invokes(one.inner), makes(`own ${count}`), invokes(`calm${count}`), invokes(two.inner)];
    await agentNamed(`all${count}`, ['invoke_agent', 'create_skill'], callsThenTells(...calls));
    asked = [];
    const { threadId } = await must('send_chat_message', { message: 'Begin', agentId: `all${count}` });
    const approvals = await awaited();
    assert.deepEqual([approvals.length, await madeOf([`own ${count}`]), askedOf(`calm${count}`)], [2, 1, 1]);
    await decide(approvals[0] ?? '');
    assert.equal(await madeOf([...one.skills, ...two.skills]), 0, 'It goes on once all are decided.');
    await decide(approvals[1] ?? '');
    await settled();
    const { content } = (await said(threadId)).at(-1);
    for (const word of [...one.skills, ...two.skills, `own ${count}`, 'Calm.'])
      assert.ok(content.includes(word), content);
    assert.equal(await madeOf([...one.skills, ...two.skills, `own ${count}`]), 3);
    assert.deepEqual([`all${count}`, one.inner, two.inner, `calm${count}`].map(askedOf), [2, 2, 2, 1]);
  });

  it('waits again where the agent does, for each approval', async () => {
    const { names, skills, agent, inner } = await world({ levels: 3, skills: 2 });
    const more = `more ${count}`;
    let prompt = '';
    parts.set(inner, (request) => {
      prompt = request.messages.at(-1)?.content ?? '';
      const heard = results(request);
      if (heard.length === 0) return { calls: skills.map(makes) };
      return heard.some((each) => each.includes(more)) ? { text: 'All made.' } : { calls: [makes(more)] };
    });
    const { threadId } = await must('send_chat_message', { message: 'Begin', agentId: agent });
    const open = async () => {
      const { records } = await store.approvals.find({ where: { status: 'waiting' }, limit: 9 });
      const ids = await awaited();
      return records.filter(({ id }) => ids.includes(id));
    };
    for (let decided = 0; decided < 3; decided += 1) {
      await until(async () => (await waitingRuns()).length === 3 && (await open()).length > 0);
      await decide((await open())[0]?.id ?? '');
    }
    await settled();
    assert.match((await said(threadId)).at(-1).content, /All made/);
    assert.equal(prompt.match(/^- create_skill: /gm)?.length, 5, 'Each run of it is told, the first one too.');
    assert.deepEqual([await madeOf([...skills, more]), ...names.map(askedOf)], [3, 2, 2, 3]);
  });

  it('is cancelled with the agents that it invoked, and what they asked', async () => {
    const { skills, agent } = await world({ levels: 3 });
    const { runId } = await must('send_chat_message', { message: 'Begin', agentId: agent });
    const [id = ''] = await awaited();
    const inner = pluck(await waitingRuns(), 'id');
    await must('cancel_agent_run', { id: runId });
    for (const each of inner) assert.equal((await store.agentRuns.read(each)).status, 'cancelled');
    const late = await callTool(server, bert, 'decide_approval', { id, decision: 'approve' });
    assert.equal('error' in late && late.error.code, 'conflict');
    assert.equal(await madeOf(skills), 0);
  });

  it('goes on with that where only the inner run is cancelled', async () => {
    const { names, skills, agent } = await world();
    const { runId, threadId } = await must('send_chat_message', { message: 'Begin', agentId: agent });
    const inner = (await waitingRuns()).find(({ id }) => id !== runId);
    await must('cancel_agent_run', { id: inner?.id });
    await settled();
    assert.match((await said(threadId)).at(-1).content, /The run was cancelled/);
    assert.deepEqual([await madeOf(skills), ...names.map(askedOf)], [0, 2, 1]);
  });

  it('goes on without an agent that was deleted in the meantime, whose call is not made', async () => {
    const { skills, agent, inner } = await world();
    const { threadId } = await must('send_chat_message', { message: 'Begin', agentId: agent });
    const [id = ''] = await awaited();
    await must('delete_agent', { id: inner });
    await decide(id);
    await settled();
    assert.match((await said(threadId)).at(-1).content, /I heard: .*not_found/s);
    assert.deepEqual([await madeOf(skills), (await must('get_approval', { id })).status], [0, 'failed']);
  });

  it('goes on once where the store lost that the agent had answered', async () => {
    const { names, skills, agent } = await world();
    const { threadId } = await must('send_chat_message', { message: 'Begin', agentId: agent });
    const [approvalId = ''] = await awaited();
    loseTransaction(store, ({ collection, record }) => collection === 'messages' && record.role === 'tool');
    await decide(approvalId);
    await settled();
    const [failed] = (await store.agentRuns.find({ where: { threadId }, limit: 1 })).records;
    assert.deepEqual([failed?.status, ...names.map(askedOf)], ['failed', 1, 2]);
    await must('send_chat_message', { threadId, continue: failed?.id });
    assert.ok((await said(threadId)).at(-1).content.includes(skills[0] ?? ''));
    assert.deepEqual([await madeOf(skills), ...names.map(askedOf)], [1, 2, 2]);
  });

  it('waits too where it invokes the agent by call_tool', async () => {
    const { skills, inner } = await world();
    const { name, arguments: input } = invokes(inner);
    const call = { name: 'call_tool', arguments: { name, arguments: input } };
    await agentNamed(`by${count}`, ['invoke_agent', 'create_skill'], callsThenTells(call));
    const { threadId } = await must('send_chat_message', { message: 'Begin', agentId: `by${count}` });
    const [approvalId = ''] = await awaited();
    assert.equal((await waitingRuns()).length, 2);
    await decide(approvalId);
    await settled();
    assert.ok((await said(threadId)).at(-1).content.includes(skills[0] ?? ''));
    assert.deepEqual([await madeOf(skills), askedOf(inner)], [1, 2]);
  });

  it('asks for its own call first, and then waits for that of the agent', async () => {
    const { names, skills, agent } = await world({ outer: { askFirst: ['invoke_agent'] } });
    const { threadId } = await must('send_chat_message', { message: 'Begin', agentId: agent });
    const [own = '', ...others] = await awaited();
    assert.deepEqual([others.length, ...names.map(askedOf)], [0, 1, 0]);
    await decide(own);
    await until(async () => (await waitingRuns()).length === 2);
    const [second = ''] = await awaited();
    assert.notEqual(second, own);
    await decide(second);
    await settled();
    assert.ok((await said(threadId)).at(-1).content.includes(skills[0] ?? ''));
    assert.deepEqual([await madeOf(skills), ...names.map(askedOf)], [1, 2, 2]);
    assert.equal((await must('get_approval', { id: own })).status, 'done');
  });

  it('keeps the yes to its own calls while the agent asks again, however long, and though that was changed', async () => {
    const { inner, skills } = await world({ outer: { askFirst: ['invoke_agent'] } });
    const [own, more] = [`own ${count}`, `more ${count}`];
    parts.set(inner, (request) => {
      const heard = results(request);
      if (heard.length === 0) return { calls: skills.map(makes) };
      return heard.some((each) => each.includes(more)) ? { text: 'All made.' } : { calls: [makes(more)] };
    });
    const askFirst = ['invoke_agent', 'create_skill'];
    await agentNamed(`late${count}`, askFirst, callsThenTells(makes(own), invokes(inner)), { askFirst });
    const { threadId } = await must('send_chat_message', { message: 'Begin', agentId: `late${count}` });
    const decideLate = async (wanted: number) => {
      const open = async () => {
        const { records } = await store.approvals.find({ where: { id: await awaited(), status: 'waiting' }, limit: 9 });
        return records;
      };
      await until(async () => (await open()).length === wanted);
      server.clock.pass(10 * 3_600_000);
      for (const { id } of await open()) await decide(id);
    };
    await decideLate(2);
    await until(async () => (await waitingRuns()).length === 2);
    assert.equal(await madeOf([own]), 1, 'It is made though the other call waits again.');
    await must('update_agent', { id: inner, description: 'Changed.' });
    await decideLate(1);
    await until(async () => (await madeOf(skills)) === 1);
    await decideLate(1);
    await settled();
    const { content } = (await said(threadId)).at(-1);
    assert.ok(content.includes(own) && content.includes('All made.'), content);
    assert.equal(await madeOf([own, ...skills, more]), 3);
  });
});

describe('an agent without a thread, of which an agent that it invokes has a call wait', () => {
  it('answers once its caller comes back after the decision', async () => {
    const { names, skills, agent } = await world();
    const input = { agent, input: 'Begin' };
    const answer = await callTool(server, server.adminKey, 'invoke_agent', input);
    const { code, approvalId = '', runId } = 'error' in answer ? answer.error : assert.fail();
    assert.equal(code, 'approval_required');
    assert.equal(await codeOf('invoke_agent', { ...input, continue: runId }), 'approval_required');
    await decide(approvalId);
    const { text } = await must('invoke_agent', { ...input, continue: runId });
    assert.match(text, new RegExp(`I heard: .*I heard: .*${skills[0]}`, 's'));
    assert.deepEqual([await madeOf(skills), ...names.map(askedOf)], [1, 2, 2]);
    await settled();
  });

  it('tells the model the call as it made it, with the answer', async () => {
    const { agent, inner } = await world();
    const input = { agent, input: 'Begin' };
    const answer = await callTool(server, server.adminKey, 'invoke_agent', input);
    const { approvalId = '', runId } = 'error' in answer ? answer.error : assert.fail();
    await decide(approvalId);
    await must('invoke_agent', { ...input, continue: runId });
    const [made] = provider.requests.at(-1)?.messages.flatMap(({ toolCalls }) => toolCalls) ?? [];
    assert.equal(made?.name, 'invoke_agent');
    assert.deepEqual(JSON.parse(made?.arguments ?? ''), { agent: inner, input: 'Make it' });
  });

  it('has the flow wait that runs it, and is given up with the run of that', async () => {
    for (const cancels of [false, true]) {
      const { names, skills, agent } = await world();
      const step = { id: 'agent', tool: 'invoke_agent', arguments: { agent, input: 'Begin' } };
      const flow = await must('create_flow', { name: `flow ${count}`, trigger: { kind: 'manual' }, steps: [step] });
      const run = await must('trigger_flow', { id: flow.id, wait: true });
      assert.deepEqual([run.status, (await waitingRuns()).length], ['waiting', 2]);
      assert.equal(await store.agentRuns.count({ where: { flowRunId: run.id } }), 2);
      if (cancels) await must('cancel_flow_run', { id: run.id });
      else await decide(run.steps[0].approvalId);
      await until(async () => !['running', 'waiting'].includes((await store.flowRuns.read(run.id)).status));
      await settled();
      const { status, steps } = await store.flowRuns.read(run.id);
      assert.deepEqual([status, await madeOf(skills)], cancels ? ['cancelled', 0] : ['succeeded', 1]);
      if (!cancels) assert.ok(String(steps[0]?.output?.text).includes(skills[0] ?? ''));
      assert.deepEqual(names.map(askedOf), cancels ? [1, 1] : [2, 2]);
    }
  });
});
