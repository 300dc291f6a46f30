import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused, call } = callsOf(server);

describe('tasks', () => {
  it('live from create to delete', async () => {
    const task = await must('create_task', { title: 'Write', dueAt: '2026-12-01T09:00:00Z' });
    assert.match(task.id, /^tsk_/);
    const { status, priority, dueAt } = task;
    assert.deepEqual([status, priority, dueAt], ['todo', 'normal', '2026-12-01T09:00:00.000Z']);
    const moved = await must('update_task', { id: task.id, status: 'in_progress', dueAt: '2026-12-02T09:00:00.0Z' });
    assert.deepEqual([moved.status, moved.dueAt, moved.revision], ['in_progress', '2026-12-02T09:00:00.000Z', 2]);
    assert.equal('dueAt' in (await must('update_task', { id: task.id, dueAt: null })), false);
    await must('delete_task', { id: task.id });
    for (const tool of ['get_task', 'delete_task', 'get_task_document']) {
      assert.equal((await refused(tool, { id: task.id })).code, 'not_found', tool);
    }
    assert.equal((await refused('update_task_document', { id: task.id, content: '' })).code, 'not_found');
  });

  it('name only projects, goals and agents that are there, and say all that are not', async () => {
    const names = { projectId: 'prj_none', goalId: 'gol_none', assigneeAgentId: 'agt_none' };
    const { code, issues } = await refused('create_task', { title: 'x', ...names });
    assert.equal(code, 'invalid_input');
    assert.deepEqual(issues?.map(({ path }) => path).sort(), ['assigneeAgentId', 'goalId', 'projectId']);
    const agent = await must('create_agent', { name: 'worker', displayName: 'w' });
    const task = await must('create_task', { title: 'x', assigneeAgentId: agent.id });
    await must('delete_agent', { id: agent.id });
    assert.match((await refused('update_task', { id: task.id, assigneeAgentId: agent.id })).error, /is deleted/);
    const kept = await must('update_task', { id: task.id, status: 'done' });
    assert.equal(kept.assigneeAgentId, agent.id, 'a task keeps the agent that had it');
  });

  it('are listed by status, project, goal and agent, together too', async () => {
    const agent = await must('create_agent', { name: 'lister', displayName: 'l' });
    const { id: projectId } = await must('create_project', { name: 'p' });
    const { id: goalId } = await must('create_goal', { title: 'g' });
    const one = await must('create_task', { title: 'one', projectId, assigneeAgentId: agent.id });
    const two = await must('create_task', { title: 'two', projectId, goalId, status: 'blocked' });
    const list = async (filters: object) => (await must('list_tasks', filters)).data;
    assert.deepEqual(await list({ projectId }), [two, one]);
    assert.deepEqual(await list({ goalId }), [two]);
    assert.deepEqual(await list({ assigneeAgentId: agent.id, status: 'todo' }), [one]);
    assert.deepEqual(await list({ assigneeAgentId: agent.id, status: 'blocked' }), []);
    assert.deepEqual(await list({ projectId, status: 'blocked' }), [two]);
    const key = await makeKey(server, { grants: [`task:read:${one.id}`] });
    assert.deepEqual((await must('list_tasks', { projectId }, key)).data, [one]);
  });
});

describe('task documents', () => {
  it('are there with their task, with a revision and a history of their own', async () => {
    const task = await must('create_task', { title: 'x', content: '# Brief\n' });
    const first = await must('get_task_document', { id: task.id });
    assert.deepEqual([first.id, first.content, first.revision], [task.id, '# Brief\n', 1]);
    const second = await must('update_task_document', { id: task.id, content: '# Brief\nDone\n', expectedRevision: 1 });
    assert.equal(second.revision, 2);
    assert.equal((await must('get_task', { id: task.id })).revision, 1);
    const { data } = await must('list_versions', { entityType: 'task-document', entityId: task.id });
    assert.deepEqual(pluck(data, 'revision', 'content'), [
      [2, '# Brief\nDone\n'],
      [1, '# Brief\n'],
    ]);
    const diff = { entityType: 'task-document', entityId: task.id, versionId: data[0].id };
    assert.deepEqual((await must('diff_version', diff)).lines, [
      { op: 'equal', value: '# Brief' },
      { op: 'add', value: 'Done' },
    ]);
  });

  it('let one of two writers at the same time through', async () => {
    const { id } = await must('create_task', { title: 'race' });
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((content) => call('update_task_document', { id, content, expectedRevision: 1 })),
    );
    assert.equal(answers.filter((answer) => 'output' in answer).length, 1);
    assert.equal((await must('get_task_document', { id })).revision, 2);
  });
});
