import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused, call } = callsOf(server);

describe('projects', () => {
  it('are listed by status, page by page', async () => {
    const made = [];
    for (const name of ['a', 'b', 'c']) made.push(await must('create_project', { name, status: 'planned' }));
    const first = await must('list_projects', { status: 'planned', limit: 2, includeTotal: true });
    assert.deepEqual([pluck(first.data, 'name'), first.total], [['c', 'b'], 3]);
    const rest = await must('list_projects', { status: 'planned', limit: 2, cursor: first.nextCursor });
    assert.deepEqual([rest.data, rest.nextCursor], [[made[0]], null]);
    const foreign = await refused('list_projects', { status: 'active', cursor: first.nextCursor });
    assert.equal(foreign.code, 'invalid_input');
  });

  it('cannot be deleted while something names them; a few are shown, as far as the caller may see them', async () => {
    const { id: projectId } = await must('create_project', { name: 'named' });
    const goal = await must('create_goal', { title: 'Grow', projectId });
    const tasks = [];
    for (let n = 0; n < 7; n += 1) tasks.push(await must('create_task', { title: `task ${n}`, projectId }));
    const document = await must('create_document', { title: 'Doc', projectId });
    const artifact = await must('create_artifact', { name: 'Art', mimeType: 'text/plain', content: '', projectId });
    const { code, error } = await refused('delete_project', { id: projectId });
    assert.equal(code, 'conflict');
    for (const text of [`goal "Grow" ${goal.id}`, 'task "task 6"', 'more tasks', document.id, `"Art" ${artifact.id}`]) {
      assert.ok(error.includes(text), `${text} in ${error}`);
    }
    const limited = await makeKey(server, { grants: ['project', 'goal'] });
    const less = await refused('delete_project', { id: projectId }, limited);
    assert.match(less.error, /goal "Grow".*some tasks, some documents, some artifacts/);
    assert.ok(!less.error.includes('task 6'));
    for (const { id } of tasks) await must('update_task', { id, projectId: null });
    await must('delete_document', { id: document.id });
    await must('delete_artifact', { id: artifact.id });
    await must('delete_goal', { id: goal.id });
    await must('delete_project', { id: projectId });
  });

  it('are never left named by something made at the same time', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id } = await must('create_project', { name: `race ${round}` });
      const [deleted, created] = await Promise.all([
        call('delete_project', { id }),
        call('create_goal', { title: 'late', projectId: id }),
      ]);
      assert.notEqual('error' in deleted, 'error' in created, 'exactly one of the two succeeds');
    }
  });
});

describe('goals', () => {
  it('name every problem of the input', async () => {
    const { issues } = await refused('create_goal', {
      title: ' ',
      targetDate: '2026-02-30',
      progress: 1.5,
      projectid: 'x',
    });
    assert.deepEqual(issues?.map(({ path }) => path).sort(), ['progress', 'projectid', 'targetDate', 'title']);
    assert.match(JSON.stringify(issues), /did you mean \\"projectId\\"/);
    const gone = await refused('create_goal', { title: 'x', projectId: 'prj_none' });
    assert.deepEqual([gone.code, gone.issues?.[0]?.path], ['invalid_input', 'projectId']);
    const goal = await must('create_goal', { title: 'x' });
    assert.equal((await refused('update_goal', { id: goal.id, projectId: 'prj_none' })).code, 'invalid_input');
  });

  it('are listed by status and project', async () => {
    const { id: projectId } = await must('create_project', { name: 'q' });
    const one = await must('create_goal', { title: 'one', projectId });
    const two = await must('create_goal', { title: 'two', projectId, status: 'dropped' });
    assert.deepEqual((await must('list_goals', { projectId })).data, [two, one]);
    assert.deepEqual((await must('list_goals', { projectId, status: 'active' })).data, [one]);
    assert.deepEqual((await must('list_goals', { projectId: 'prj_none' })).data, []);
  });

  it('cannot be deleted while a task names them', async () => {
    const { id } = await must('create_goal', { title: 'kept' });
    const task = await must('create_task', { title: 'for it', goalId: id });
    const { code, error } = await refused('delete_goal', { id });
    assert.deepEqual([code, error.includes(`"for it" ${task.id}`)], ['conflict', true]);
    await must('delete_task', { id: task.id });
    await must('delete_goal', { id });
  });
});

describe('tasks', () => {
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
