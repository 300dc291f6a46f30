// biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
type Output = any;
type Call = (tool: string, input: object) => Promise<Output>;

export interface WorldRecord {
  readonly id: string;
  readonly databaseId?: string;
  /** The version of its first state, if it has a history. */
  readonly versionId?: string | undefined;
}
/** The records of a workspace by the type that search knows them by. */
export type World = Readonly<Record<string, readonly WorldRecord[]>>;
type Input = Readonly<Record<string, unknown>>;

/** A kind of record with the tools that show and change it. */
export interface Kind {
  readonly type: string;
  readonly entityType?: string;
  readonly list?: readonly string[];
  readonly listInputs?: (world: World) => readonly Input[];
  readonly one?: readonly string[];
  readonly change?: readonly string[];
  readonly changes?: Readonly<Record<string, Input>>;
  readonly naming?: (record: WorldRecord) => Input;
  /** Tools that have the rights of the kind and do something else. */
  readonly others?: readonly string[];
  /** Arguments to fix, one at a time. */
  fixable(tool: string, world: World): readonly Input[];
}

type Filters = (world: World) => readonly Input[];

function kindOf(type: string, filters: Filters, more: Partial<Kind> = {}): Kind {
  const [list, one] = [more.list ?? [`list_${type}s`], more.one ?? [`get_${type}`]];
  const change = more.change ?? [`update_${type}`, `delete_${type}`];
  return {
    type,
    list,
    one,
    change,
    others: [`create_${type}`],
    ...more,
    fixable(tool, world) {
      const ids = (world[type] ?? []).map(more.naming ?? (({ id }) => ({ id })));
      const shape = [{ limit: 1 }, { limit: 3 }];
      if (list.includes(tool)) return [...filters(world), ...shape];
      if (one.includes(tool)) return ids;
      return change.includes(tool) ? [...ids, ...(more.changes?.[tool] ? [more.changes[tool]] : [])] : [];
    },
  };
}

const name = { update_project: { name: 'x' }, update_skill: { description: 'x' }, update_flow: { description: 'x' } };
const title = { update_document: { title: 'x' }, update_goal: { title: 'x' }, update_task: { title: 'x' } };
const changes = {
  ...name,
  ...title,
  update_agent: { description: 'x' },
  update_database: { description: 'x' },
  update_memory: { content: 'x' },
  update_artifact: { name: 'x' },
  update_report: { title: 'x' },
  update_thread: { title: 'x' },
  update_record: { values: { text: 'x' } },
  update_task_document: { content: 'x' },
  provision_agent_identity: { phone: { a2pStatus: 'pending' } },
};

const both = (type: string, member: string) => (world: World) =>
  (world[type] ?? []).map(({ id }) => ({ [member]: id }));

export const KINDS: readonly Kind[] = [
  kindOf('document', (world) => [...both('project', 'projectId')(world), { tag: 'red' }, { tag: 'blue' }], {
    entityType: 'document',
    changes,
  }),
  kindOf('project', () => [{ status: 'active' }, { status: 'archived' }], { entityType: 'project', changes }),
  kindOf('goal', both('project', 'projectId'), { changes }),
  kindOf('task', (world) => [...both('project', 'projectId')(world), { status: 'done' }], {
    changes,
    others: ['create_task', 'get_task_document', 'update_task_document'],
  }),
  kindOf('task-document', () => [], {
    entityType: 'task-document',
    list: [],
    one: ['get_task_document'],
    change: ['update_task_document'],
    changes,
    others: ['get_task', 'list_tasks', 'update_task', 'create_task'],
  }),
  kindOf('artifact', (world) => [...both('project', 'projectId')(world), { mimeType: 'text/plain' }], {
    entityType: 'artifact',
    changes,
  }),
  kindOf(
    'memory',
    (world) => [
      ...both('agent', 'agentId')(world),
      { scope: 'workspace' },
      { kind: 'fact' },
      { tag: 'red' },
      { pinned: true },
    ],
    {
      entityType: 'memory',
      list: ['list_memories', 'search_memories'],
      changes,
    },
  ),
  kindOf('skill', () => [{ name: 'skill one' }], { entityType: 'skill', changes }),
  kindOf('agent', () => [{ status: 'active' }, { status: 'paused' }], {
    entityType: 'agent',
    change: ['update_agent', 'delete_agent', 'provision_agent_identity'],
    changes,
    others: ['create_agent', 'invoke_agent'],
  }),
  kindOf('flow', (world) => [{ enabled: false }, ...both('agent', 'agentId')(world)], {
    entityType: 'flow',
    changes,
    others: ['create_flow', 'trigger_flow', 'list_flow_runs'],
  }),
  kindOf('report', () => [], { changes }),
  kindOf('thread', (world) => [{ status: 'archived' }, { source: 'one' }, ...both('agent', 'agentId')(world)], {
    one: ['get_thread', 'get_thread_access'],
    // Deleting and sharing ask for a role in the thread besides.
    change: ['update_thread'],
    changes,
    others: ['create_thread', 'list_messages', 'send_chat_message', 'get_thread_stats'],
  }),
  kindOf('message', () => [], {
    list: ['list_messages'],
    listInputs: both('thread', 'id'),
    one: [],
    change: [],
    others: ['get_thread', 'list_threads', 'update_thread'],
    fixable: (tool, world) => (tool === 'list_messages' ? [...both('thread', 'id')(world), { limit: 1 }] : []),
  } as Partial<Kind>),
  kindOf('database', () => [], {
    change: ['update_database', 'delete_database'],
    others: ['create_database', 'get_record', 'list_records'],
  }),
  kindOf('database-record', both('database', 'databaseId'), {
    entityType: 'database-record',
    list: ['list_records'],
    listInputs: both('database', 'databaseId'),
    one: ['get_record'],
    change: ['update_record', 'delete_record'],
    changes,
    naming: ({ databaseId, id }) => ({ databaseId, id }),
    others: ['create_record', 'get_database', 'list_databases'],
  }),
];

/** Two or more records of every kind, alike but for what can be asked for; all of them hold the word `common`. */
export async function makeWorld(call: Call): Promise<World> {
  const [one, two] = [
    await call('create_project', { name: 'common one' }),
    await call('create_project', { name: 'common two', status: 'archived' }),
  ];
  const made: Record<string, WorldRecord[]> = { project: [one, two] };
  const add = async (type: string, tool: string, input: object) => {
    const record = await call(tool, input);
    made[type] = [...(made[type] ?? []), record];
    return record;
  };
  const ada = await add('agent', 'create_agent', { name: 'common ada', displayName: 'Ada' });
  const bob = await add('agent', 'create_agent', { name: 'common bob', displayName: 'Bob' });
  await call('update_agent', { id: bob.id, status: 'paused' });
  for (const [projectId, tags, agent] of [
    [one.id, ['red'], ada],
    [two.id, ['red', 'blue'], bob],
    [undefined, [], ada],
  ] as const) {
    const project = projectId && { projectId };
    await add('document', 'create_document', { title: 'common', content: 'x', tags, ...project });
    await add('goal', 'create_goal', { title: 'common', ...project });
    const task = await add('task', 'create_task', { title: 'common', content: 'common', ...project });
    made['task-document'] = [...(made['task-document'] ?? []), { id: task.id }];
    await add('artifact', 'create_artifact', {
      name: 'common',
      mimeType: projectId ? 'text/plain' : 'text/html',
      content: 'x',
      ...project,
    });
    await add('memory', 'create_memory', {
      content: 'common',
      tags,
      ...(projectId ? { scope: 'agent', agentId: agent.id } : { pinned: true }),
    });
    await add('flow', 'create_flow', {
      name: 'common',
      enabled: projectId !== one.id,
      agentId: agent.id,
      prompt: 'common',
    });
    const thread = await add('thread', 'create_thread', {
      title: 'common',
      source: projectId === one.id ? 'one' : 'other',
      agentIds: [agent.id],
      messages: [{ role: 'user', content: 'common' }],
    });
    const { data } = await call('list_messages', { id: thread.id });
    made.message = [...(made.message ?? []), ...data];
  }
  await call('update_task', { id: made.task?.[0]?.id, status: 'done' });
  await call('update_thread', { id: made.thread?.[0]?.id, status: 'archived' });
  for (const text of ['skill one', 'skill two'])
    await add('skill', 'create_skill', { name: text, instructions: 'common' });
  for (const text of ['common one', 'common two']) {
    await add('report', 'create_report', { title: text, query: { tool: 'list_agents', arguments: {} } });
    const columns = [{ name: 'text', type: 'string' }];
    const { id: databaseId } = await add('database', 'create_database', { name: text, columns });
    for (let row = 0; row < 2; row += 1)
      await add('database-record', 'create_record', { databaseId, values: { text: 'common' } });
  }
  return Object.fromEntries(await Promise.all(KINDS.map((kind) => withVersions(kind, made[kind.type] ?? [], call))));
}

async function withVersions({ type, entityType }: Kind, found: readonly WorldRecord[], call: Call) {
  const records: WorldRecord[] = [];
  for (const { id, databaseId } of found) {
    const { data } = entityType ? await call('list_versions', { entityType, entityId: id }) : { data: [] };
    records.push({ id, ...(databaseId && { databaseId }), versionId: data[0]?.id });
  }
  return [type, records] as const;
}
