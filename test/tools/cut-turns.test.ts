import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import OpenAI from 'openai';
import { callsOf } from '../support/calls.ts';
import { allEvents, openEvents } from '../support/events.ts';
import { FULL } from '../support/full.ts';
import { type Reply, startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const { must, call } = callsOf(server);
await must('create_agent', { name: 'ada', displayName: 'Ada', tools: ['create_skill'] });
afterEach(() => provider.play(() => ({ text: 'Hello.' })));

const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'tiny', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const used = (prompt_tokens: number, completion_tokens: number) =>
  `data: ${JSON.stringify({ id: 'c', model: 'tiny', choices: [], usage: { prompt_tokens, completion_tokens, total_tokens: 0 } })}\n\n`;
const DONE = 'data: [DONE]\n\n';

/** The answer of a turn that speaks, and of one that calls a tool, as their bytes. */
const SPEAKS = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'The whole ' }),
  chunk({ content: 'answer.' }),
];
const speaks = [...SPEAKS, chunk({}, 'stop'), used(10, 5), DONE].join('');
const callOf = (name: string, args: string) => ({
  tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: args } }],
});
const callsTool = (skill: string) =>
  [
    chunk({ role: 'assistant', content: 'I ' }),
    chunk({ content: 'make it.' }),
    chunk(callOf('create_skill', '{"na')),
    chunk({ tool_calls: [{ index: 0, function: { arguments: `me": "${skill}"}` } }] }),
    chunk({}, 'tool_calls'),
    used(10, 5),
    DONE,
  ].join('');

/** Bytes after which nothing of the answer is missing but what it used. */
const wholeAt = (bytes: string) => bytes.indexOf(DONE);
const positions = (bytes: string) =>
  Array.from({ length: Math.ceil(bytes.length / (FULL ? 3 : 29)) }, (_, at) => at * (FULL ? 3 : 29));
const newestRun = async () => (await server.store.agentRuns.find({ limit: 1 })).records[0] ?? assert.fail();

describe('an answer that breaks off', () => {
  for (const end of ['connection', 'stream'] as const) {
    it(`wherever its ${end} ends is never half an answer given as whole`, async () => {
      for (const at of positions(speaks)) {
        const before = provider.requests.length;
        provider.play((_, count) =>
          count === before + 1 ? { bytes: speaks.slice(0, at), end } : { bytes: speaks, end: 'stream' },
        );
        const { text, runId, usage } = await must('invoke_agent', { agent: 'ada', input: 'x' });
        assert.equal(text, 'The whole answer.', `cut at ${at}`);
        const run = await server.store.agentRuns.get(runId);
        const asked = provider.requests.length - before;
        assert.deepEqual(
          pluck(run?.turns ?? [], 'cutOff'),
          asked === 2 ? [true, undefined] : [undefined],
          `cut at ${at}`,
        );
        if (at < speaks.indexOf('"stop"')) assert.equal(asked, 2, `cut at ${at}`);
        assert.deepEqual(usage, run?.usage);
        if (asked === 2)
          assert.ok((usage?.inputTokens ?? 0) > 10 && (usage?.outputTokens ?? 0) >= 5, JSON.stringify(usage));
      }
    });
  }

  it('in a turn that calls tools runs each call once, wherever it breaks off', async () => {
    for (const [index, at] of positions(callsTool('cut-000')).entries()) {
      const skill = `cut-${String(index).padStart(3, '0')}`;
      const bytes = callsTool(skill);
      let first = true;
      provider.play(({ messages }) => {
        if (messages.at(-1)?.role !== 'user') return { text: 'Made.' };
        const reply: Reply = first ? { bytes: bytes.slice(0, at), end: 'connection' } : { bytes, end: 'stream' };
        first = false;
        return reply;
      });
      const { text, toolCalls } = await must('invoke_agent', { agent: 'ada', input: 'x' });
      assert.deepEqual(
        [text, toolCalls.length, toolCalls[0].ok],
        ['Made.', 1, true],
        `cut at ${at} of ${wholeAt(bytes)}`,
      );
      assert.equal(await server.store.skills.count({ where: { name: skill } }), 1);
    }
  });

  it('is asked for three times and no more; all of it is counted', async () => {
    const before = provider.requests.length;
    provider.play(() => ({ text: 'half an answer', cut: 'stream' }));
    const answer = await call('invoke_agent', { agent: 'ada', input: 'x' });
    assert.ok('error' in answer && answer.error.code === 'unavailable');
    assert.equal(provider.requests.length, before + 3);
    const run = await newestRun();
    assert.deepEqual([run.status, pluck(run.turns ?? [], 'cutOff')], ['failed', [true, true, true]]);
    assert.ok(run.usage.inputTokens > 0 && run.usage.outputTokens > 0);
  });

  it('by an error event in the middle is asked for again, and one that was refused is not', async () => {
    const before = provider.requests.length;
    const error = `data: ${JSON.stringify({ error: { message: 'overloaded', type: 'server_error' } })}\n\n`;
    provider.play((_, count) =>
      count === before + 1 ? { bytes: SPEAKS.join('') + error, end: 'stream' } : { text: 'Whole.' },
    );
    assert.equal((await must('invoke_agent', { agent: 'ada', input: 'x' })).text, 'Whole.');
    assert.equal(provider.requests.length, before + 2);
    provider.play(() => ({ status: 400 }));
    assert.ok('error' in (await call('invoke_agent', { agent: 'ada', input: 'x' })));
    assert.equal(provider.requests.length, before + 3);
  });

  it('is told to who listens, who drops what came of it', async () => {
    const before = provider.requests.length;
    provider.play((_, count) =>
      count === before + 1 ? { text: 'half an', cut: 'connection', pace: 60 } : { text: 'The whole.' },
    );
    const body = { message: 'x', agentId: 'ada' };
    const { events } = await openEvents(server, '/api/v1/chat', { key: server.adminKey, body });
    let text = '';
    const told = await allEvents(events);
    for (const { name, data } of told) {
      if (name === 'delta') text += data.text;
      if (name === 'restarted') text = text.slice(0, text.length - data.characters);
    }
    assert.ok(pluck(told, 'name').includes('restarted'));
    assert.deepEqual([text, told.at(-1)?.data.message.content], ['The whole.', 'The whole.']);
  });

  it('because its caller ended the run is counted all the same', async () => {
    provider.play(() => ({ text: 'nearly the whole answer', goesOn: true }));
    const body = { message: 'x', agentId: 'ada' };
    const { events } = await openEvents(server, '/api/v1/chat', { key: server.adminKey, body });
    let runId = '';
    let text = '';
    for await (const { name, data } of events) {
      if (name === 'run') runId = data.runId;
      if (name === 'delta') text += data.text;
      if (name === 'delta' && text.endsWith('answer')) await must('cancel_agent_run', { id: runId });
    }
    const run = (await server.store.agentRuns.get(runId)) ?? assert.fail();
    assert.deepEqual([run.status, pluck(run.turns ?? [], 'cutOff')], ['cancelled', [true]]);
    assert.ok((run.usage?.inputTokens ?? 0) > 10 && (run.usage?.outputTokens ?? 0) >= 5, JSON.stringify(run.usage));
  });

  it('in the form of OpenAI, whose clients keep what they got, ends with an error and its run; before the first word it goes unseen', async () => {
    const client = new OpenAI({ apiKey: server.adminKey, baseURL: `${server.baseUrl}/api/v1/openai`, maxRetries: 0 });
    const ask = () =>
      client.chat.completions.create({ model: 'ada', messages: [{ role: 'user', content: 'x' }], stream: true });
    async function read() {
      let text = '';
      for await (const { choices } of await ask()) text += choices[0]?.delta.content ?? '';
      return text;
    }
    let before = provider.requests.length;
    provider.play((_, count) =>
      count === before + 1 ? { text: 'half an', cut: 'connection', pace: 60 } : { text: 'The whole.' },
    );
    await assert.rejects(read(), OpenAI.APIError);
    assert.ok(['cancelled', 'running'].includes((await newestRun()).status));
    before = provider.requests.length;
    provider.play((_, count) =>
      count === before + 1 ? { bytes: SPEAKS[0] ?? '', end: 'stream' } : { text: 'The whole.' },
    );
    assert.equal(await read(), 'The whole.');
    const answer = await client.chat.completions.create({ model: 'ada', messages: [{ role: 'user', content: 'x' }] });
    assert.equal(answer.choices[0]?.message.content, 'The whole.');
  });
});

describe('a provider that is busy', () => {
  for (const [what, headers, isAsked] of [
    ['in seconds', { 'Retry-After': '0' }, true],
    ['at a date', { 'Retry-After': new Date(Date.now() - 1000).toUTCString() }, true],
    ['in milliseconds', { 'Retry-After-Ms': '1', 'Retry-After': '600' }, true],
    ['too late', { 'Retry-After': '600' }, false],
    ['at a date too late', { 'Retry-After': new Date(Date.now() + 600_000).toUTCString() }, false],
    ['in words', { 'Retry-After': 'soon' }, true],
    ['never', { 'X-Should-Retry': 'false' }, false],
  ] as const) {
    for (const status of [429, 503, 529])
      it(`(${status}) and wants to be asked again ${what} is ${isAsked ? '' : 'not '}asked again`, async () => {
        const before = provider.requests.length;
        provider.play((_, count) => (count === before + 1 ? { status, headers } : { text: 'Here.' }));
        const answer = await call('invoke_agent', { agent: 'ada', input: 'x' });
        assert.deepEqual(['output' in answer, provider.requests.length - before], [isAsked, isAsked ? 2 : 1]);
      });
  }

  it('is asked again for what it refuses, where it says so', async () => {
    const before = provider.requests.length;
    const headers = { 'X-Should-Retry': 'true', 'Retry-After-Ms': '1' };
    provider.play((_, count) => (count === before + 1 ? { status: 409, headers } : { text: 'Here.' }));
    assert.equal((await must('invoke_agent', { agent: 'ada', input: 'x' })).text, 'Here.');
  });
});
