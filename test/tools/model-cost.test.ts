import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { createModels } from '../../tools/core/models/models.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { startBudgets } from '../../tools/usage/budget-meter.ts';
import { startAnthropicServer, words } from '../support/anthropic-server.ts';
import { startModelServer } from '../support/model-server.ts';
import { openTestRegistry, principalOf, testFacts } from '../support/registry.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

const [openai, anthropic] = await Promise.all([startModelServer(['gpt-x']), startAnthropicServer()]);
const models = createModels({
  providers: [
    { kind: 'openai', apiKey: 'sk-one', baseUrl: openai.baseUrl },
    { kind: 'anthropic', apiKey: 'sk-two', baseUrl: anthropic.baseUrl },
  ],
});
const registry = await openTestRegistry(undefined, undefined, models);
const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
const { store } = registry;
const now = () => new Date();
const budgets = await startBudgets({ store, now, onFailure: assert.fail });
const server = testFacts(store, { now, catalog, budgets, models });
const metered = createRegistry({ store, server, onFailure: () => {} });
after(async () => {
  await budgets.close();
  await Promise.all([registry.close(), openai.close(), anthropic.close()]);
});

// biome-ignore lint/suspicious/noExplicitAny: the tests look into outputs freely
async function must(tool: string, input: object): Promise<any> {
  const answer = await registry.call(admin, tool, input);
  return 'output' in answer ? answer.output : assert.fail(JSON.stringify(answer.error));
}

const ask = (model: string) => must('send_chat_message', { message: 'Hello?', model });
const usageOf = async (model: string) => (await must('get_usage', { by: 'model', filter: { model } })).rows[0];
const price = { from: '2026-01-01', currency: 'USD', input: 3, output: 15 };
const setPrices = (prices: object) => must('update_settings', { currency: 'USD', prices });

const OPENAI = 'openai/gpt-x';
const openAiUsage = {
  ...{ prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 },
  prompt_tokens_details: { cached_tokens: 640 },
  completion_tokens_details: { reasoning_tokens: 320 },
};
const CLAUDE = 'anthropic/claude';
const claudeUsage = {
  ...{ input_tokens: 100, output_tokens: 1 },
  ...{ cache_read_input_tokens: 5000, cache_creation_input_tokens: 2000 },
};

describe('what models cost', () => {
  it('equals a computation by hand, of what OpenAI tells', async () => {
    openai.play(() => ({ text: 'Yes.', usage: openAiUsage }));
    await setPrices([{ ...price, model: OPENAI, cacheRead: 0.3, reasoning: 20 }]);
    const told = { inputTokens: 1000, outputTokens: 500, cachedInputTokens: 640, reasoningTokens: 320 };
    const answer = await ask(OPENAI);
    assert.deepEqual(answer.usage, told);
    assert.deepEqual((await must('get_agent_run', { id: answer.runId })).turns[0].usage, told);
    assert.deepEqual(answer.message.usage, told);
    const { cost, ...row } = await usageOf(OPENAI);
    for (const [name, tokens] of Object.entries(told)) assert.equal(row[name], tokens, name);
    assert.equal('cacheWriteTokens' in row, false);
    // (360 × 3 + 640 × 0.3 + 180 × 15 + 320 × 20) / 1,000,000
    assert.equal(cost, 0.010372);
    await setPrices([{ ...price, model: OPENAI }]);
    assert.equal((await usageOf(OPENAI)).cost, 0.0105);
  });

  it('equals a computation by hand, of what Anthropic tells, whose input leaves out what was cached', async () => {
    await setPrices([{ ...price, model: CLAUDE, cacheRead: 0.3, cacheWrite: 3.75 }]);
    anthropic.plays(words('Yes.', claudeUsage));
    const answer = await ask(CLAUDE);
    const told = { inputTokens: 7100, outputTokens: 4, cachedInputTokens: 5000, cacheWriteTokens: 2000 };
    assert.deepEqual(answer.usage, told);
    // (100 × 3 + 5000 × 0.3 + 2000 × 3.75 + 4 × 15) / 1,000,000
    assert.equal((await usageOf(CLAUDE)).cost, 0.00936);
  });

  it('counts against budgets what it was in the end, and reserves what it is at most', async () => {
    const key = await must('create_api_key', { name: 'limited', scopes: ['admin'] });
    const limited = principalOf({ type: 'api-key', id: key.id, scopes: ['admin'] });
    // Of 4096 tokens of output, each may be reasoning: 0.4096.
    await setPrices([{ ...price, model: OPENAI, output: 1, reasoning: 100, cacheRead: 0 }]);
    const subject = { type: 'key', id: key.id };
    const { id } = await must('create_budget', { subject, measure: 'cost', period: 'month', limit: 0.4 });
    openai.play(() => ({ text: 'Yes.', usage: openAiUsage, pace: 100 }));
    const say = (input: string) => {
      const call = { principal: limited, tool: 'send_chat_message', input: { message: input, model: OPENAI } };
      return metered.call({ ...call, door: 'mcp', requestId: 'test' });
    };
    const first = say('Hello?');
    let reserved = 0;
    await until(async () => {
      reserved = (await store.budgets.get(id))?.reservations[0]?.amount ?? 0;
      return reserved > 0;
    });
    assert.ok(reserved >= 409_600, String(reserved));
    const second = await say('And?');
    assert.ok(!second.ok && second.error.code === 'rate_limited');
    assert.ok((await first).ok);
    const { used } = (await must('list_budgets', { subject })).data[0];
    // (360 × 3 + 640 × 0 + 180 × 1 + 320 × 100) / 1,000,000
    assert.equal(used, 0.03326);
  });

  it('is known of a run where it is known of each turn', async () => {
    await setPrices([{ ...price, model: OPENAI }]);
    const [usage, none] = [
      { inputTokens: 1000, outputTokens: 500 },
      { inputTokens: 0, outputTokens: 0 },
    ];
    const turn = (model: string, used = usage) => ({ model, usage: used, ms: 1, calls: 0 });
    const costOf = async (turns: ReturnType<typeof turn>[] | undefined) => {
      const { id } = await writing(store).agentRuns.insert({
        ...{ kind: 'invoke', status: 'succeeded', model: OPENAI, steps: 1, usage, accessKeys: ['admin'] },
        ...{ principal: { type: 'api-key', id: 'key_1', name: 'k' }, ...(turns && { turns }) },
      });
      const { cost, turns: shown = [] } = await must('get_agent_run', { id });
      return [cost, ...shown.map((each: { cost: unknown }) => each.cost)];
    };
    assert.deepEqual(await costOf([turn(OPENAI), turn(OPENAI, none)]), [0.0105, 0.0105, 0]);
    assert.deepEqual(await costOf([turn(OPENAI), turn('other/unknown')]), [null, 0.0105, null]);
    assert.deepEqual(await costOf([turn(OPENAI), turn('other/unknown', none)]), [0.0105, 0.0105, 0]);
    assert.deepEqual(await costOf(undefined), [0.0105]);
  });

  it('refuses prices that are none', async () => {
    for (const wrong of [{ cacheRead: -1 }, { reasoning: 1e9 }, { cacheWrite: '1' }, { cached: 1 }]) {
      const answer = await registry.call(admin, 'update_settings', { prices: [{ ...price, model: OPENAI, ...wrong }] });
      assert.ok('error' in answer && answer.error.code === 'invalid_input', JSON.stringify(wrong));
    }
  });
});
