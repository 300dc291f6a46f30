import type { CollectionName } from '../../store/collections.ts';
import type { RecordChange } from '../../store/port.ts';

interface EventSource {
  /** The kind of record, as event types and people name it. */
  readonly name: string;
  readonly words: string;
  readonly recordType: string;
  /** The resource of the grant for reading such records, and the members that name a record. */
  readonly resource: string;
  readonly scope: string;
  readonly ids: readonly string[];
}

type Told = Pick<EventSource, 'words'> & Partial<Pick<EventSource, 'recordType' | 'ids'>>;

/** `recordType` is the name and `ids` is the id, unless they are given. */
function source(name: string, resource: string, scope: string, { words, recordType = name, ids = ['id'] }: Told) {
  return { name, words, recordType, resource, scope: `${scope}:read`, ids };
}

/** The collections whose changes are events. */
const sources: { readonly [Name in CollectionName]?: EventSource } = {
  agents: source('agent', 'agent', 'agents', { words: 'An agent', ids: ['id', 'name'] }),
  skills: source('skill', 'skill', 'skills', { words: 'A skill' }),
  flows: source('flow', 'flow', 'flows', { words: 'A flow' }),
  threads: source('thread', 'thread', 'threads', { words: 'A thread' }),
  messages: source('thread.message', 'thread', 'threads', {
    words: 'A message of a thread',
    recordType: 'message',
    ids: ['threadId'],
  }),
  memories: source('memory', 'memory', 'memory', { words: 'A memory' }),
  projects: source('project', 'project', 'projects', { words: 'A project' }),
  goals: source('goal', 'goal', 'goals', { words: 'A goal' }),
  tasks: source('task', 'task', 'tasks', { words: 'A task' }),
  taskDocuments: source('task.document', 'task', 'tasks', {
    words: 'The document of a task',
    recordType: 'task-document',
  }),
  documents: source('document', 'document', 'documents', { words: 'A document' }),
  artifacts: source('artifact', 'artifact', 'artifacts', { words: 'An artifact' }),
  databases: source('database', 'record', 'records', { words: 'A database' }),
  databaseRecords: source('record', 'record', 'records', {
    words: 'A record of a database',
    recordType: 'database-record',
    ids: ['id', 'databaseId'],
  }),
  reports: source('report', 'report', 'reports', { words: 'A report' }),
};

const HAPPENS = { created: 'was created', updated: 'was changed', deleted: 'was deleted' } as const;

/** Every type of event: what happened, and to which type of record. */
export const events: readonly { type: string; description: string; recordType: string }[] = Object.values(
  sources,
).flatMap(({ name, words, recordType }) =>
  Object.entries(HAPPENS).map(([kind, happened]) => ({
    type: `${name}.${kind}`,
    description: `${words} ${happened}.`,
    recordType,
  })),
);

export const eventTypes: readonly string[] = events.map(({ type }) => type);

/** Something that happened to a record. */
export interface RecordEvent {
  readonly type: string;
  readonly id: string;
  readonly record: RecordChange['record'];
  /** The right that a principal needs to learn of it. */
  readonly need: { readonly scope: string; readonly resource: string; readonly ids: readonly string[] };
}

export function eventOf({ kind, collection, record }: RecordChange): RecordEvent | undefined {
  const found = sources[collection];
  if (!found) return undefined;
  // A deleted agent stays stored with that status.
  const what = kind === 'updated' && record.status === 'deleted' ? 'deleted' : kind;
  const ids = found.ids.flatMap((name) => (typeof record[name] === 'string' ? [record[name]] : []));
  const { scope, resource } = found;
  return { type: `${found.name}.${what}`, id: record.id, record, need: { scope, resource, ids } };
}
