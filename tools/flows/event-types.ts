import type { CollectionName } from '../../store/collections.ts';
import type { RecordChange } from '../../store/port.ts';

interface EventSource {
  /** As event types name it. */
  readonly name: string;
  /** Of the grant to read such records, and the members that name one. */
  readonly resource: string;
  readonly scope: string;
  readonly ids: readonly string[];
}

function source(name: string, resource: string, scope: string, ...ids: readonly string[]): EventSource {
  return { name, resource, scope: `${scope}:read`, ids: ids.length > 0 ? ids : ['id'] };
}

/** Records whose changes are events. */
const sources: { readonly [Name in CollectionName]?: EventSource } = {
  agents: source('agent', 'agent', 'agents', 'id', 'name'),
  skills: source('skill', 'skill', 'skills'),
  flows: source('flow', 'flow', 'flows'),
  threads: source('thread', 'thread', 'threads'),
  messages: source('thread.message', 'thread', 'threads', 'threadId'),
  memories: source('memory', 'memory', 'memory'),
  projects: source('project', 'project', 'projects'),
  goals: source('goal', 'goal', 'goals'),
  tasks: source('task', 'task', 'tasks'),
  taskDocuments: source('task.document', 'task', 'tasks'),
  documents: source('document', 'document', 'documents'),
  artifacts: source('artifact', 'artifact', 'artifacts'),
  databases: source('database', 'record', 'records'),
  databaseRecords: source('record', 'record', 'records', 'id', 'databaseId'),
  reports: source('report', 'report', 'reports'),
};

export const eventTypes: readonly string[] = Object.values(sources).flatMap(({ name }) =>
  ['created', 'updated', 'deleted'].map((kind) => `${name}.${kind}`),
);

/** Something that happened to a record. */
export interface RecordEvent {
  readonly type: string;
  readonly id: string;
  readonly record: RecordChange['record'];
  /** Needed to know of it. */
  readonly need: { readonly scope: string; readonly resource: string; readonly ids: readonly string[] };
}

export function eventOf({ kind, collection, record }: RecordChange): RecordEvent | undefined {
  const found = sources[collection];
  if (!found) return undefined;
  // An agent that is deleted is kept with that status.
  const what = kind === 'updated' && record.status === 'deleted' ? 'deleted' : kind;
  const ids = found.ids.flatMap((name) => (typeof record[name] === 'string' ? [record[name]] : []));
  const { scope, resource } = found;
  return { type: `${found.name}.${what}`, id: record.id, record, need: { scope, resource, ids } };
}
