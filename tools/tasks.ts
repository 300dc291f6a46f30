import { z } from 'zod';
import { agentRef, expectedRevision, instant, pageOf, paging, recordId, sortBy } from '../resources/fields.ts';
import { refTo } from '../resources/markers.ts';
import { type Task, task, taskDocument, taskFields, taskPriority, taskStatus } from '../resources/task.ts';
import { whereAllowed } from './core/access/record-limit.ts';
import { withoutBookkeeping } from './core/history/history.ts';
import { defineKind } from './core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from './core/registry/define-tool.ts';
import { listPage } from './core/registry/paging.ts';
import { requireReferences } from './core/registry/references.ts';

const taskId = refTo('task', recordId).describe('Task id (`tsk_…`), see list_tasks.');
const { title, dueAt, content } = taskFields;

const listTasks = defineTool({
  name: 'list_tasks',
  title: 'List tasks',
  description:
    'List tasks, newest first, optionally by status, project, goal or assigned agent. Returns a page with `nextCursor`.',
  keywords:
    'to-do list, tickets, issues, open work, backlog, kanban, assignments, who does what, Jira, Trello, Asana, what has to be done, what is open, my tasks, what is overdue, who works on what',
  access: {
    scope: 'tasks:read',
    grant: 'task:read',
    narrows: true,
    selects: { status: 'status', projectId: 'projectId', goalId: 'goalId', assigneeAgentId: 'assigneeAgentId' },
  },
  annotations: READS,
  input: z.strictObject({
    status: taskStatus.optional(),
    projectId: recordId.optional(),
    goalId: recordId.optional(),
    assigneeAgentId: agentRef.optional(),
    ...sortBy('title', 'dueAt'),
    ...paging,
  }),
  output: pageOf(task),
  errors: [],

  handler({ status, projectId, goalId, assigneeAgentId, ...input }, { store, principal }) {
    const any = whereAllowed<Task>(principal.rights.limitedTo('task', 'read'), 'id');
    const where = { status, projectId, goalId, assigneeAgentId };
    return listPage(store.tasks, input, { where, any }, (record) => record);
  },
});

const getTask = defineTool({
  name: 'get_task',
  title: 'Get task',
  description: 'Read one task: status, priority, assignee, due time. Its text is read with get_task_document.',
  keywords: 'open a ticket, to-do details',
  access: { scope: 'tasks:read', grant: 'task:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: taskId }),
  output: task,
  errors: ['not_found'],

  handler: ({ id }, { store }) => store.tasks.read(id),
});

const createTask = defineTool({
  name: 'create_task',
  title: 'Create task',
  description: 'Create a task, alone or in a project or goal, and its document. Returns the task.',
  keywords:
    'new ticket, add a to-do, file an issue, bug, assign work, reminder, put this on the to-do list, make a ticket, create a reminder, report a bug',
  access: { scope: 'tasks:write', grant: 'task:write' },
  annotations: CREATES,
  input: z.strictObject({
    title,
    status: taskStatus.default('todo'),
    priority: taskPriority.default('normal'),
    projectId: recordId.optional(),
    goalId: recordId.optional(),
    assigneeAgentId: agentRef.optional().describe('Agent that is to do it: id or name.'),
    dueAt: dueAt.optional(),
    content: content.default('').describe('First text of the task document. Markdown.'),
  }),
  output: task,
  errors: [],

  async handler({ content, dueAt, ...input }, context) {
    await requireReferences(context, input);
    const created = await context.store.tasks.insert({ ...input, ...(dueAt && { dueAt: instant(dueAt) }) });
    await context.store.taskDocuments.insert({ id: created.id, content });
    return created;
  },
});

const updateTask = defineTool({
  name: 'update_task',
  title: 'Update task',
  description: 'Change fields of a task, such as status or assignee; null clears an optional one. Returns the task.',
  keywords:
    'tick off, complete, close a ticket, assign, reassign, priority, due date, move on the board, mark as done, tick off, assign a ticket to somebody, change priority',
  access: { scope: 'tasks:write', grant: 'task:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: taskId,
    title: title.optional(),
    status: taskStatus.optional(),
    priority: taskPriority.optional(),
    projectId: recordId.nullable().optional(),
    goalId: recordId.nullable().optional(),
    assigneeAgentId: agentRef.nullable().optional(),
    dueAt: dueAt.nullable().optional(),
    expectedRevision,
  }),
  output: task,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision, dueAt, ...change }, context) {
    await requireReferences(context, change);
    return context.store.tasks.update(id, { ...change, dueAt: dueAt && instant(dueAt) }, { expectedRevision });
  },
});

const deleteTask = defineTool({
  name: 'delete_task',
  title: 'Delete task',
  description: 'Delete a task and its document. It cannot be brought back; status `done` keeps it.',
  keywords: 'remove a to-do, delete a ticket',
  access: { scope: 'tasks:write', grant: 'task:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: taskId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, { store }) {
    await store.tasks.delete(id, { expectedRevision });
    await store.taskDocuments.delete(id);
    return {};
  },
});

const getTaskDocument = defineTool({
  name: 'get_task_document',
  title: 'Get task document',
  description: 'Read the text that goes with a task: brief, notes, result. It has a revision of its own.',
  keywords: 'notes of a ticket, brief, description, result of a to-do',
  access: { scope: 'tasks:read', grant: 'task:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: taskId }),
  output: taskDocument,
  errors: ['not_found'],

  handler: ({ id }, { store }) => store.taskDocuments.read(id),
});

const updateTaskDocument = defineTool({
  name: 'update_task_document',
  title: 'Update task document',
  description: 'Replace the text that goes with a task. Returns the document; history keeps the old text.',
  keywords: 'write notes on a ticket, progress report, comment, brief, write progress in a ticket, comment on a ticket',
  access: { scope: 'tasks:write', grant: 'task:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({ id: taskId, content, expectedRevision }),
  output: taskDocument,
  errors: ['not_found', 'conflict'],

  handler: ({ id, expectedRevision, content }, { store }) =>
    store.taskDocuments.update(id, { content }, { expectedRevision }),
});

export const taskTools = [listTasks, getTask, createTask, updateTask, deleteTask, getTaskDocument, updateTaskDocument];

export const taskKind = defineKind({
  type: 'task',
  collection: 'tasks',
  list: listTasks,
  get: getTask,
  update: updateTask,
  refersTo: { projectId: 'project', goalId: 'goal', assigneeAgentId: 'agent' },

  async purge(id, { store }) {
    const [task, document] = [await store.purge('tasks', id), await store.purge('taskDocuments', id)];
    return task || document;
  },
});

export const taskDocumentKind = defineKind({
  type: 'task-document',
  collection: 'taskDocuments',
  get: getTaskDocument,
  update: updateTaskDocument,
  address: {
    description: 'Text that goes with a task, by the id of the task.',
    mimeType: 'text/markdown',
    text: 'content',
  },
  event: { name: 'task.document', words: 'The document of a task' },
  history: {
    text: 'content',
    payload: withoutBookkeeping,

    async prepareRestore(state, _, { store, fail }) {
      if (await store.tasks.get(state.id)) return state;
      throw fail('conflict', `The task ${state.id} is deleted; get_version still shows its text, for a new task.`);
    },
  },

  async purge(id, { store, fail }) {
    if (await store.tasks.get(id)) {
      throw fail('conflict', `The document belongs to the task ${id}; purge the task, which takes it along.`);
    }
    return store.purge('taskDocuments', id);
  },
});
