import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, call, refused } = callsOf(server);

/** How each kind of record that others can name is made. */
const made: Readonly<Record<string, object>> = {
  agent: { name: 'named', displayName: 'Named' },
  skill: { name: 'named' },
  project: { name: 'named' },
  goal: { title: 'named' },
  database: { name: 'named', columns: [{ name: 'a', type: 'string' }] },
  thread: { title: 'named' },
  memory: { content: 'named' },
};

/** What refers to a record of the kind, and whether that prevents its deletion. If not, the reference stays after the deletion. */
const names: readonly { named: string; tool: string; by: (id: string) => Record<string, unknown>; keeps: boolean }[] = [
  { named: 'agent', tool: 'create_task', by: (id) => ({ title: 't', assigneeAgentId: id }), keeps: false },
  { named: 'agent', tool: 'create_memory', by: (id) => ({ content: 'm', agentId: id }), keeps: false },
  { named: 'agent', tool: 'create_flow', by: (id) => ({ name: 'f', agentId: id, prompt: 'p' }), keeps: false },
  { named: 'agent', tool: 'create_thread', by: (id) => ({ title: 't', agentIds: [id] }), keeps: false },
  { named: 'agent', tool: 'update_settings', by: (id) => ({ defaultAgentId: id }), keeps: true },
  { named: 'skill', tool: 'create_agent', by: (id) => ({ name: 'a', displayName: 'A', skillIds: [id] }), keeps: true },
  { named: 'project', tool: 'create_goal', by: (id) => ({ title: 'g', projectId: id }), keeps: true },
  { named: 'project', tool: 'create_task', by: (id) => ({ title: 't', projectId: id }), keeps: true },
  { named: 'project', tool: 'create_document', by: (id) => ({ title: 'd', projectId: id }), keeps: true },
  {
    named: 'project',
    tool: 'create_artifact',
    by: (id) => ({ name: 'a', mimeType: 'text/plain', content: '', projectId: id }),
    keeps: true,
  },
  { named: 'goal', tool: 'create_task', by: (id) => ({ title: 't', goalId: id }), keeps: true },
  { named: 'database', tool: 'create_record', by: (id) => ({ databaseId: id, values: { a: 'x' } }), keeps: true },
  { named: 'thread', tool: 'create_memory', by: (id) => ({ content: 'm', threadId: id }), keeps: false },
  {
    named: 'thread',
    tool: 'create_artifact',
    by: (id) => ({ name: 'a', mimeType: 'text/plain', content: '', threadId: id }),
    keeps: false,
  },
  { named: 'memory', tool: 'create_memory', by: (id) => ({ content: 'm', supersedes: id }), keeps: false },
];

describe('a record that others name', () => {
  for (const [index, { named, tool, by, keeps }] of names.entries()) {
    it(`${keeps ? 'cannot be deleted' : 'can be deleted'}: ${named}, named by ${tool}`, async () => {
      const unique = 'name' in (made[named] ?? {}) ? { name: `named ${index}` } : {};
      const { id } = await must(`create_${named}`, { ...made[named], ...unique });
      const input = by(id);
      const namer = await must(tool, input);
      const answer = await call(`delete_${named}`, { id });
      if (keeps) {
        assert.ok('error' in answer);
        assert.equal(answer.error.code, 'conflict');
        assert.match(answer.error.error, new RegExp(namer.id ?? 'settings'), 'names what names it');
        return;
      }
      assert.ok('output' in answer, JSON.stringify(answer));
      const [member = ''] = Object.keys(input).filter((name) => /Ids?$|supersedes/.test(name));
      const again = await must(tool.replace('create', 'get'), { id: namer.id });
      assert.deepEqual(again[member], input[member]);
      const { error } = (await call(tool, input)) as { error: { code: string } };
      assert.equal(error?.code, 'invalid_input', 'what is gone is not named anew');
    });
  }

  it('can be deleted once the settings name another agent, or none', async () => {
    const { id } = await must('create_agent', { name: 'default', displayName: 'D' });
    await must('update_settings', { defaultAgentId: id });
    await refused('delete_agent', { id });
    await must('update_settings', { defaultAgentId: null });
    for (let at = 0; at < 2; at += 1) assert.equal((await must('delete_agent', { id })).status, 'deleted');
  });

  it('is either refused or not named, when both come at once', async () => {
    for (let at = 0; at < 20; at += 1) {
      const { id } = await must('create_agent', { name: `raced ${at}`, displayName: 'R' });
      await Promise.all([call('update_settings', { defaultAgentId: id }), call('delete_agent', { id })]);
      const { defaultAgentId } = await must('get_settings');
      const { status } = await must('get_agent', { id });
      assert.equal(defaultAgentId === id, status === 'active');
    }
  });
});
