import { z } from 'zod';
import { recordId } from '../../resources/fields.ts';
import { orAgentName } from '../../resources/markers.ts';
import { fits } from '../access/limit.ts';
import { requireSteeringBy } from '../access/steering.ts';
import { subjectsIn } from '../access/subjects.ts';
import { mayKnowOf, openThread } from '../access/visibility.ts';
import { PURGE } from '../analytics/model/model.ts';
import { artifactEntity } from '../artifacts.ts';
import { holdAgain, memoryEntity, replacedBy } from '../memory/memory.ts';
import type { Context } from '../registry/context.ts';
import { DELETES, defineTool } from '../registry/define-tool.ts';
import { requireUnnamed } from '../registry/references.ts';
import { requireNoDefault } from '../settings/settings.ts';
import { requireUnused } from '../skills.ts';
import { clearThread } from '../threads/threads.ts';
import type { HistoryWriters } from './history.ts';

type PurgeContext = Context<HistoryWriters, 'not_found' | 'conflict'>;

/** Removes a record of a kind with all that belongs to it. Resolves to whether there was anything; refuses what others name. */
type Purge = (id: string, context: PurgeContext) => Promise<boolean>;

const purges = {
  agent: async (id, context) => {
    await requireNoDefault(context, id);
    await requireUnnamed(context, { assigneeAgentId: id }, 'tasks');
    await requireUnnamed(context, { agentId: id }, 'memories', 'flows');
    await requireUnnamed(context, { agentIds: id }, 'threads');
    return context.store.purge('agents', id);
  },
  skill: async (id, context) => {
    await requireUnused(context, id);
    return context.store.purge('skills', id);
  },
  flow: async (id, { store }) => {
    for (;;) {
      const { records } = await store.flowRuns.find({ where: { flowId: id }, limit: 100 });
      if (records.length === 0) return store.purge('flows', id);
      for (const run of records) await store.purge('flowRuns', run.id);
    }
  },
  memory: async (id, context) => {
    const { store } = context;
    if (!(await mayKnowOf(context, memoryEntity, id))) return false;
    const found = await store.memories.get(id);
    if (found) await requireSteeringBy(context, found, await replacedBy(store, found));
    const purged = await store.purge('memories', id);
    if (found) await holdAgain(store, found);
    return purged;
  },
  project: async (id, context) => {
    await requireUnnamed(context, { projectId: id }, 'goals', 'tasks', 'documents', 'artifacts');
    return context.store.purge('projects', id);
  },
  goal: async (id, context) => {
    await requireUnnamed(context, { goalId: id }, 'tasks');
    return context.store.purge('goals', id);
  },
  task: async (id, { store }) => {
    const [task, document] = [await store.purge('tasks', id), await store.purge('taskDocuments', id)];
    return task || document;
  },
  'task-document': async (id, { store, fail }) => {
    if (await store.tasks.get(id)) {
      throw fail('conflict', `The document belongs to the task ${id}; purge the task, which takes it along.`);
    }
    return store.purge('taskDocuments', id);
  },
  document: (id, { store }) => store.purge('documents', id),
  artifact: async (id, context) =>
    (await mayKnowOf(context, artifactEntity, id)) && context.store.purge('artifacts', id),
  database: async (id, context) => {
    await requireUnnamed(context, { databaseId: id }, 'databaseRecords');
    return context.store.purge('databases', id);
  },
  'database-record': (id, { store }) => store.purge('databaseRecords', id),
  capsule: (id, { store, principal, fail }) => {
    const access = { scope: 'admin', needs: [{ resource: 'capsule', op: 'delete' }] };
    if (!principal.rights.allows(access)) throw fail('forbidden', 'Insufficient permissions', DELETES_CAPSULES);
    return store.purge('capsules', id);
  },
  user: async (id, context) => {
    const { store, server } = context;
    if (!(await server.imported.current()).knowsOf(id)) return false;
    await requireUnnamed(context, { userId: id }, 'memories');
    store.rows.append([{ type: PURGE, at: server.now().toISOString(), row: { uid: id } }]);
    server.imported.expectPurge();
    return true;
  },
  report: (id, { store }) => store.purge('reports', id),
  thread: async (id, context) => {
    const { source } = await openThread(context, id, 'owner');
    const purged = await context.store.purge('threads', id);
    await clearThread(context.store, { id, source });
    return purged;
  },
} as const satisfies Readonly<Record<string, Purge>>;

/** Where grants call what is purged by another name. */
const resources: Readonly<Record<string, string>> = {
  'task-document': 'task',
  database: 'record',
  'database-record': 'record',
};

/** @throws where fixed arguments keep the record from the caller, as if it were not there. */
async function requireNotKept(type: string, id: string, { store, principal, fail }: PurgeContext): Promise<void> {
  const resource = resources[type] ?? type;
  const limit = principal.rights.held(resource, 'delete');
  if (!limit) return;
  const { names, record } = await subjectsIn(store)(resource, id);
  if (fits(limit, { resource, op: 'delete', ids: names, record })) return;
  throw fail('not_found', `There is no ${type} ${id}, and no history of one; check type and id.`);
}

/** What manages capsules is out of reach for what they are made of. */
const DELETES_CAPSULES = { required: { scope: 'admin', grant: 'capsule:delete' } };

export const purgeableTypes = Object.keys(purges) as (keyof typeof purges)[]; // the keys of the table above

export const purgeRecord = defineTool({
  name: 'purge_record',
  title: 'Purge record',
  description:
    'Remove a record, deleted ones too, for good: with its versions, messages and what the audit log holds of its content. Nothing brings it back. Refused while other records refer to it.',
  access: { scope: 'admin', grant: 'record:purge' },
  annotations: DELETES,
  input: z.strictObject({
    entityType: z
      .enum(purgeableTypes)
      .describe(
        'A task takes its document along, a thread its messages, a user (of the product) all that was imported.',
      ),
    id: orAgentName(
      recordId.describe(
        'Id of the record, or name of an agent; of a task document that of its task, of a user the uid.',
      ),
      { member: 'entityType', is: 'agent' },
    ),
  }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ entityType, id }, context) {
    await requireNotKept(entityType, id, context);
    if (await purges[entityType](id, context)) return {};
    throw context.fail('not_found', `There is no ${entityType} ${id}, and no history of one; check type and id.`);
  },
});
