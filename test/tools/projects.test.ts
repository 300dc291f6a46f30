import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused, call } = callsOf(server);

describe('projects', () => {
  it('live from create to delete', async () => {
    const project = await must('create_project', { name: ' Launch ', description: 'd' });
    assert.match(project.id, /^prj_/);
    assert.deepEqual([project.name, project.status, project.revision], ['Launch', 'active', 1]);
    assert.deepEqual(await must('get_project', { id: project.id }), project);
    const updated = await must('update_project', { id: project.id, status: 'completed', description: null });
    assert.deepEqual([updated.status, 'description' in updated, updated.revision], ['completed', false, 2]);
    const same = await must('update_project', { id: project.id, status: 'completed' });
    assert.deepEqual(same, updated);
    const stale = await refused('update_project', { id: project.id, status: 'active', expectedRevision: 1 });
    assert.deepEqual([stale.code, stale.currentRevision], ['conflict', 2]);
    assert.equal((await refused('delete_project', { id: project.id, expectedRevision: 1 })).code, 'conflict');
    assert.deepEqual(await must('delete_project', { id: project.id }), {});
    for (const tool of ['get_project', 'update_project', 'delete_project']) {
      assert.equal((await refused(tool, { id: project.id })).code, 'not_found', tool);
    }
  });

  it('are listed by status, page by page, and narrowed to those a key is limited to', async () => {
    const made = [];
    for (const name of ['a', 'b', 'c']) made.push(await must('create_project', { name, status: 'planned' }));
    const first = await must('list_projects', { status: 'planned', limit: 2, includeTotal: true });
    assert.deepEqual([pluck(first.data, 'name'), first.total], [['c', 'b'], 3]);
    const rest = await must('list_projects', { status: 'planned', limit: 2, cursor: first.nextCursor });
    assert.deepEqual([rest.data, rest.nextCursor], [[made[0]], null]);
    const foreign = await refused('list_projects', { status: 'active', cursor: first.nextCursor });
    assert.equal(foreign.code, 'invalid_input');
    const key = await makeKey(server, { grants: [`project:read:${made[1].id}`] });
    assert.deepEqual((await must('list_projects', {}, key)).data, [made[1]]);
    assert.equal((await refused('get_project', { id: made[0].id }, key)).code, 'forbidden');
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
  it('live from create to delete, in a project that is there', async () => {
    const { id: projectId } = await must('create_project', { name: 'p' });
    const goal = await must('create_goal', { title: 'Ship', projectId, targetDate: '2028-02-29' });
    assert.match(goal.id, /^gol_/);
    assert.deepEqual([goal.status, goal.progress, goal.targetDate], ['active', 0, '2028-02-29']);
    const updated = await must('update_goal', { id: goal.id, progress: 0.5, targetDate: null, projectId: null });
    assert.deepEqual([updated.progress, 'targetDate' in updated, 'projectId' in updated], [0.5, false, false]);
    await must('delete_goal', { id: goal.id });
    assert.equal((await refused('get_goal', { id: goal.id })).code, 'not_found');
  });

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
