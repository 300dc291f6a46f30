import { z } from 'zod';
import { expectedRevision, pageOf, paging, recordId, sortBy } from '../resources/fields.ts';
import { type Goal, goal, goalFields, goalStatus } from '../resources/goal.ts';
import { refTo } from '../resources/markers.ts';
import { whereAllowed } from './core/access/record-limit.ts';
import { defineKind } from './core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from './core/registry/define-tool.ts';
import { listPage } from './core/registry/paging.ts';
import { requireReferences, requireUnreferenced } from './core/registry/references.ts';

const goalId = refTo('goal', recordId).describe('Goal id (`gol_…`), see list_goals.');
const { title, description, targetDate, progress } = goalFields;

const listGoals = defineTool({
  name: 'list_goals',
  title: 'List goals',
  description: 'List goals, newest first, optionally by status or project. Returns a page with `nextCursor`.',
  keywords: 'objectives, OKRs, targets, what do we want to achieve, milestones',
  access: {
    scope: 'goals:read',
    grant: 'goal:read',
    narrows: true,
    selects: { status: 'status', projectId: 'projectId' },
  },
  annotations: READS,
  input: z.strictObject({
    status: goalStatus.optional(),
    projectId: recordId.optional(),
    ...sortBy('title', 'targetDate'),
    ...paging,
  }),
  output: pageOf(goal),
  errors: [],

  handler({ status, projectId, ...input }, { store, principal }) {
    const any = whereAllowed<Goal>(principal.rights.limitedTo('goal', 'read'), 'id');
    return listPage(store.goals, input, { where: { status, projectId }, any }, (record) => record);
  },
});

const getGoal = defineTool({
  name: 'get_goal',
  title: 'Get goal',
  description: 'Read one goal with its progress and target date.',
  keywords: 'progress of an objective, key result',
  access: { scope: 'goals:read', grant: 'goal:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: goalId }),
  output: goal,
  errors: ['not_found'],

  handler: ({ id }, { store }) => store.goals.read(id),
});

const createGoal = defineTool({
  name: 'create_goal',
  title: 'Create goal',
  description: 'Create a goal, alone or in a project. Returns it; tasks name its id as `goalId`.',
  keywords: 'set an objective, OKR, target, milestone',
  access: { scope: 'goals:write', grant: 'goal:write' },
  annotations: CREATES,
  input: z.strictObject({
    title,
    description: description.optional(),
    status: goalStatus.default('active'),
    projectId: recordId.optional(),
    targetDate: targetDate.optional(),
    progress: progress.default(0),
  }),
  output: goal,
  errors: [],

  async handler(input, context) {
    await requireReferences(context, input);
    return context.store.goals.insert(input);
  },
});

const updateGoal = defineTool({
  name: 'update_goal',
  title: 'Update goal',
  description: 'Change fields of a goal, such as its progress; null clears an optional one. Returns the goal.',
  keywords: 'mark an objective as reached, progress, move a target date',
  access: { scope: 'goals:write', grant: 'goal:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: goalId,
    title: title.optional(),
    description: description.nullable().optional(),
    status: goalStatus.optional(),
    projectId: recordId.nullable().optional(),
    targetDate: targetDate.nullable().optional(),
    progress: progress.optional(),
    expectedRevision,
  }),
  output: goal,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision, ...change }, context) {
    await requireReferences(context, change);
    return context.store.goals.update(id, change, { expectedRevision });
  },
});

const deleteGoal = defineTool({
  name: 'delete_goal',
  title: 'Delete goal',
  description: 'Delete a goal that no task refers to. It cannot be brought back; status `dropped` keeps it.',
  keywords: 'drop an objective, remove a target',
  access: { scope: 'goals:write', grant: 'goal:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: goalId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, context) {
    await requireUnreferenced(context, 'goal', id);
    await context.store.goals.delete(id, { expectedRevision });
    return {};
  },
});

export const goalTools = [listGoals, getGoal, createGoal, updateGoal, deleteGoal];

export const goalKind = defineKind({
  type: 'goal',
  collection: 'goals',
  list: listGoals,
  get: getGoal,
  update: updateGoal,
  refersTo: { projectId: 'project' },
  purge: 'alone',
});
