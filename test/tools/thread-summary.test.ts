import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createModels } from '../../tools/core/models/models.ts';
import { type ModelRequest, startModelServer } from '../support/model-server.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

const provider = await startModelServer();
const models = createModels({
  providers: [
    { kind: 'custom', baseUrl: provider.baseUrl, models: ['tiny', { name: 'small', contextTokens: 32_000 }] },
  ],
});
const registry = await openTestRegistry(undefined, undefined, models);
const admin = principalOf({ type: 'session', id: 'usr_ann', ownerId: 'usr_ann', scopes: ['*'] });
const MODEL = 'custom/tiny';
after(() => Promise.all([registry.close(), provider.close()]));

// biome-ignore lint/suspicious/noExplicitAny: the tests look into outputs freely
async function must(tool: string, input: object): Promise<any> {
  const answer = await registry.call(admin, tool, input);
  return 'output' in answer ? answer.output : assert.fail(JSON.stringify(answer.error));
}

/** About 2,000 tokens, so that twelve turns fill the window of 24,000. */
const long = (turn: number) => `Turn ${turn}: ${'word '.repeat(1600)}`;
const isSummary = ({ messages }: ModelRequest) => /You summarise/.test(messages[0]?.content ?? '');
const isOf = (turn: number) => (request: ModelRequest) => request.messages.at(-1)?.content.startsWith(`Turn ${turn}:`);
const answersTo = (turn: number) => provider.requests.filter((request) => !isSummary(request)).find(isOf(turn));
const sentTo = (turn: number) =>
  (answersTo(turn)?.messages ?? assert.fail(`turn ${turn}`)).map(({ content }) => content);

async function talk(turns: number, from = 1, threadId?: string, model = MODEL) {
  let id = threadId;
  let last: Awaited<ReturnType<typeof must>>;
  for (let turn = from; turn < from + turns; turn += 1) {
    last = await must('send_chat_message', { message: long(turn), model, threadId: id });
    id = last.threadId;
  }
  return { id: id ?? assert.fail(), last };
}

const plays = (summary: (count: number) => Parameters<typeof provider.play>[0]) => {
  let count = 0;
  provider.play((request, all) => {
    if (!isSummary(request)) return { text: 'Noted.' };
    count += 1;
    return summary(count)(request, all);
  });
};

describe('a thread that is longer than the window of its model', () => {
  it('goes on with a summary, made once for many turns, whose use is counted and which explains answers', async () => {
    plays((count) => () => ({ text: `Summary ${count}.` }));
    const { id } = await talk(12);
    assert.equal((await must('list_messages', { id })).summary, undefined);
    const { last } = await talk(1, 13, id);
    const summaries = () => provider.requests.filter(isSummary);
    assert.equal(summaries().length, 1);
    const { summary } = await must('list_messages', { id });
    const told = sentTo(13);
    assert.match(
      told[1] ?? '',
      /^\d+ earlier messages of this conversation are not shown\.\nA summary of them:\n<data kind="summary"/,
    );
    assert.match(told[1] ?? '', /Summary 1\./);
    assert.deepEqual([summary.text, summary.leftOut], ['Summary 1.', 0]);
    // All before the message, but those that were shown.
    assert.equal(summary.messages, 24 - (told.length - 3));
    assert.ok(summary.messages > 10);
    const context = summaries()[0]?.messages[1]?.context ?? '';
    for (const turn of [1, 2, 3]) assert.ok(context.includes(`Turn ${turn}:`));
    assert.equal(summaries()[0]?.tools.length, 0);

    const { run } = await must('explain_answer', { messageId: last.message.id });
    const { messageId, messages, leftOut } = summary;
    assert.deepEqual(run.summary, { messageId, messages, leftOut });
    assert.deepEqual(
      run.turns.map(({ summarizes = false }) => summarizes),
      [true, false],
    );
    assert.deepEqual(last.usage, { inputTokens: 20, outputTokens: 10 });
    assert.deepEqual(run.usage, last.usage);

    await talk(4, 14, id);
    assert.equal(summaries().length, 1);
    assert.deepEqual(sentTo(17).slice(0, told.length - 1), told.slice(0, -1));
    await talk(6, 18, id);
    assert.equal(summaries().length, 2);
    assert.match(summaries()[1]?.messages[1]?.context ?? '', /^<data kind="summary" id="former">\nSummary 1\./);
    assert.equal((await must('list_messages', { id })).summary.text, 'Summary 2.');
    for (const [tool, input] of [
      ['list_threads', { limit: 1 }],
      ['get_thread', { id }],
      ['update_thread', { id, title: 'Long' }],
    ] as const)
      assert.doesNotMatch(JSON.stringify(await must(tool, input)), /Summary 2/);
    const { nextCursor } = await must('list_messages', { id, limit: 2 });
    assert.equal((await must('list_messages', { id, limit: 2, cursor: nextCursor })).summary, undefined);
  });

  it('goes on without one where the model makes none, says so, and tells of what was left out with the next one', async () => {
    plays((count) => () => (count === 1 ? { status: 400 } : { text: 'Summary at last.' }));
    const { id, last } = await talk(13, 101);
    const { summary } = await must('list_messages', { id });
    assert.equal(summary.text, undefined);
    assert.equal(summary.leftOut, summary.messages);
    assert.equal((await must('get_agent_run', { id: last.runId })).summary.leftOut, summary.leftOut);
    assert.equal(last.leftOut.messages, summary.leftOut);
    assert.match(sentTo(113)[1] ?? '', /were left out without a summary/);
    await talk(9, 114, id);
    const later = (await must('list_messages', { id })).summary;
    assert.deepEqual([later.text, later.leftOut], ['Summary at last.', 0]);
    const context = provider.requests.findLast(isSummary)?.messages[1]?.context ?? '';
    assert.ok(context.includes('Turn 120:') === false && context.includes('Turn 108:'));
  });

  it('is none where the model calls a tool instead', async () => {
    plays(() => () => ({ calls: [{ name: 'list_skills', arguments: {} }] }));
    const { id } = await talk(13, 161);
    const { summary } = await must('list_messages', { id });
    assert.deepEqual([summary.text, summary.leftOut], [undefined, summary.messages]);
  });

  it('is made by a fallback model where the model does not answer', async () => {
    plays(() => ({ model }) => {
      return model === 'small' ? { text: 'Made by another.' } : { status: 503, headers: { 'x-should-retry': 'false' } };
    });
    const { id } = await talk(12, 131);
    const asked = { message: long(143), model: MODEL, threadId: id, fallbackModels: ['custom/small'] };
    const { runId, leftOut } = await must('send_chat_message', asked);
    assert.equal((await must('list_messages', { id })).summary.text, 'Made by another.');
    const { turns, fallbacks } = await must('get_agent_run', { id: runId });
    assert.deepEqual(
      turns.map((turn: { model: string; summarizes?: true }) => [turn.model, turn.summarizes]),
      [
        ['custom/small', true],
        [MODEL, undefined],
      ],
    );
    assert.deepEqual([fallbacks, leftOut], [[{ model: MODEL, reason: 'failed', turn: 1 }], undefined]);
  });

  it('is made by a fallback model where the model is silent for as long as its agent allows', async () => {
    plays(
      () =>
        ({ model }) =>
          model === 'small' ? { text: 'Made by another.' } : 'hang',
    );
    const agent = { name: 'hasty', displayName: 'Hasty', timeoutSeconds: 1, fallbackModels: ['custom/small'] };
    const { id: agentId } = await must('create_agent', agent);
    const { id } = await talk(12, 231);
    const { runId } = await must('send_chat_message', { message: long(243), model: MODEL, threadId: id, agentId });
    assert.equal((await must('list_messages', { id })).summary.text, 'Made by another.');
    const { fallbacks } = await must('get_agent_run', { id: runId });
    assert.deepEqual(fallbacks, [{ model: MODEL, reason: 'timeout', turn: 1 }]);
  });

  it('has the window of its model, where the context of that is known', async () => {
    plays(() => () => ({ text: 'A small summary.' }));
    const { id } = await talk(4, 151, undefined, 'custom/small');
    const { summary } = await must('list_messages', { id });
    assert.equal(summary, undefined);
    await talk(1, 155, id, 'custom/small');
    assert.equal((await must('list_messages', { id })).summary.text, 'A small summary.');
  });

  it('is hidden with its summary, and gone with it', async () => {
    plays(() => () => ({ text: 'The secret is 42.' }));
    const { id } = await talk(13, 201);
    await must('update_thread_access', { id, visibility: 'restricted' });
    const other = principalOf({ type: 'api-key', id: 'key_x', ownerId: 'usr_x', scopes: ['read'] });
    const answer = await registry.call(other, 'list_messages', { id });
    assert.ok('error' in answer && answer.error.code === 'not_found');
    const fork = await must('fork_thread', { id });
    assert.equal((await must('list_messages', { id: fork.id })).summary, undefined);
    await talk(1, 214, fork.id);
    assert.equal((await must('list_messages', { id: fork.id })).summary.text, 'The secret is 42.');
    await must('delete_thread', { id });
    assert.equal(await registry.store.threads.get(id), undefined);
  });

  it('is told of by the built-in model too', async () => {
    const { id } = await talk(13, 301, undefined, 'offline/rehearsal');
    const { summary } = await must('list_messages', { id });
    assert.match(summary.text, /^\d+ earlier messages by their beginnings/);
    assert.match(summary.text, /- user: Turn 301: word/);
    assert.equal(summary.leftOut, 0);
  });

  it('leaves out the oldest of a conversation that nothing keeps, without asking for a summary', async () => {
    plays(() => () => assert.fail('no summary is wanted'));
    await must('create_agent', { name: 'ada', displayName: 'Ada' });
    const history = Array.from({ length: 40 }, (_, at) => ({
      role: at % 2 ? 'assistant' : 'user',
      content: long(400 + at),
    }));
    const answer = await must('invoke_agent', { agent: 'ada', input: 'And now?', history, model: MODEL });
    const { summary } = await must('get_agent_run', { id: answer.runId });
    assert.ok(summary.leftOut > 20 && summary.leftOut === summary.messages);
    assert.deepEqual(answer.leftOut, { messages: summary.leftOut, files: 0 });
    assert.match(provider.requests.at(-1)?.messages[1]?.content ?? '', /left out without a summary/);
  });
});
