import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createModels } from '../../tools/core/models/models.ts';
import { type ModelRequest, startModelServer } from '../support/model-server.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

const provider = await startModelServer();
const models = createModels({ providers: [{ kind: 'custom', baseUrl: provider.baseUrl, models: ['tiny'] }] });
const registry = await openTestRegistry(undefined, undefined, models);
const admin = principalOf({ type: 'session', id: 'usr_ann', scopes: ['*'] });
after(() => Promise.all([registry.close(), provider.close()]));

// biome-ignore lint/suspicious/noExplicitAny: the tests look into outputs freely
async function must(tool: string, input: object): Promise<any> {
  const answer = await registry.call(admin, tool, input);
  return 'output' in answer ? answer.output : assert.fail(JSON.stringify(answer.error));
}

const TURNS = 10;
const CONTEXT = '\n\nContext of this turn:';

/** The messages as they came, without the context of a turn, which the next turn sends no more. */
function bytesOf({ body }: ModelRequest): string[] {
  return body.messages.map((message: object) => {
    const text = JSON.stringify(message);
    const at = text.indexOf(JSON.stringify(CONTEXT).slice(1, -1));
    return at === -1 ? text : `${text.slice(0, at)}"}`;
  });
}

describe('the beginning of a prompt', () => {
  it('is the same bytes from turn to turn, with tools, memories, documents and a skill', async () => {
    const skill = await must('create_skill', { name: 'polite', instructions: 'Be polite.', description: 'Manners' });
    await must('create_document', { title: 'Holidays', content: '# Holidays\n\nEverybody has 30 days.' });
    const agent = await must('create_agent', {
      ...{ name: 'ada', displayName: 'Ada', skillIds: [skill.id], knowledge: {} },
      tools: ['list_skills', 'create_memory', 'get_document', 'list_goals'],
    });
    provider.play(({ messages }, count) => {
      if (messages.at(-1)?.role === 'tool') return { text: `Answer ${count}.` };
      const calls = [
        { name: 'list_skills', arguments: { limit: 1 + (count % 3) } },
        { name: 'list_goals', arguments: '{"includeTotal":  true}' },
      ];
      return { text: count % 4 === 0 ? 'Let me see.' : '', calls };
    });
    let threadId: string | undefined;
    for (let turn = 1; turn <= TURNS; turn += 1) {
      const content = `Holidays are counted in days, note ${turn}.`;
      await must('create_memory', { scope: 'agent', agentId: agent.id, kind: 'fact', content });
      const message = `Everybody has how many days of holidays (${turn})? ${'"\\" – € '.repeat(turn)}`;
      ({ threadId } = await must('send_chat_message', { message, agentId: agent.id, threadId, model: 'custom/tiny' }));
    }
    const [first, ...others] = provider.requests;
    assert.equal(others.length, 2 * TURNS - 1);
    assert.match(first?.body.messages[0].content, /Be polite/);
    assert.match(first?.messages.at(-1)?.context ?? '', /30 days/);
    assert.match(others.at(-1)?.body.messages.at(-4).content, /note 9/);
    let before = first ? bytesOf(first) : [];
    for (const [at, request] of others.entries()) {
      assert.equal(JSON.stringify(request.body.tools), JSON.stringify(first?.body.tools), `tools of request ${at + 2}`);
      const now = bytesOf(request);
      assert.deepEqual(now.slice(0, before.length), before, `request ${at + 2}`);
      assert.ok(now.length > before.length);
      before = now;
    }
  });
});
