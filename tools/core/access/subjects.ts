import type { Readers } from '../../../store/port.ts';
import type { RecordKind } from '../kind.ts';
import type { Subject, Subjects } from './requirement.ts';

type StoredRecord = { readonly id: string; readonly [member: string]: unknown };

/**
 * Looks up the record that a value names, with all names that grants may use: for an agent its id and, while it is not deleted, its name;
 * for a database record its id and its database's; for a run its id and the names of its flow or agent; for an integration whose tools are
 * called its id and all of its tools; for a connection its id and name; for a message its thread; for a delivery of a webhook its id and the webhook's; for every other
 * record the value.
 */
export function subjectsIn(store: Readers, kinds: readonly RecordKind[]): Subjects {
  return async (resource, value) => {
    if (resource === 'flow') return flowSubject(store, value);
    if (resource === 'record') return recordSubject(store, value);
    if (resource === 'tool') return integrationSubject(store, value);
    if (resource === 'agent') return agentSubject(store, value);
    if (resource === 'thread') return threadSubject(store, value);
    if (resource === 'webhook') return webhookSubject(store, value);
    if (resource === 'connection') return connectionSubject(store, value);
    const kind = kinds.find((each) => each.resource === resource);
    return { names: [value], record: kind && (await store[kind.collection].get(value)) };
  };
}

/** The same for a record that the caller already has, and that may be deleted from the store. */
export function subjectOf(resource: string, record: StoredRecord): Subject {
  const other = { agent: record.status === 'deleted' ? undefined : record.name, record: record.databaseId }[resource];
  return { names: typeof other === 'string' ? [record.id, other] : [record.id], record };
}

async function agentSubject(store: Readers, value: string): Promise<Subject> {
  const run = value.startsWith('run_') ? await store.agentRuns.get(value) : undefined;
  const agent = await store.agents.get(run?.agentId ?? value);
  const subject = agent ? subjectOf('agent', agent) : { names: [run?.agentId ?? value] };
  return run ? { ...subject, names: [value, ...subject.names] } : subject;
}

async function threadSubject(store: Readers, value: string): Promise<Subject> {
  const message = value.startsWith('msg_') ? await store.messages.get(value) : undefined;
  const id = message?.threadId ?? value;
  return { names: [id], record: await store.threads.get(id) };
}

async function flowSubject(store: Readers, id: string): Promise<Subject> {
  const run = id.startsWith('run_') ? await store.flowRuns.get(id) : undefined;
  return run ? { names: [id, run.flowId], record: run } : { names: [id], record: await store.flows.get(id) };
}

async function webhookSubject(store: Readers, id: string): Promise<Subject> {
  const delivery = id.startsWith('whd_') ? await store.webhookDeliveries.get(id) : undefined;
  return delivery ? { names: [id, delivery.webhookId] } : { names: [id] };
}

async function connectionSubject({ connections }: Readers, value: string): Promise<Subject> {
  const record = (await connections.get(value)) ?? (await connections.first({ where: { name: value } }));
  return record ? { names: [record.id, record.name], record } : { names: [value] };
}

/** All tools of an integration, as grants name them. */
async function integrationSubject(store: Readers, id: string): Promise<Subject> {
  const integration = id.startsWith('int_') ? await store.integrations.get(id) : undefined;
  return integration ? { names: [id, `${integration.toolPrefix || id}/*`] } : { names: [id] };
}

/** A deleted record still belongs to its database, for callers who read its history. */
async function recordSubject(store: Readers, id: string): Promise<Subject> {
  const record = (await store.databaseRecords.get(id)) ?? (await store.databases.get(id));
  const { databaseId } = record && 'databaseId' in record ? record : ((await lastPayload(store, id)) ?? {});
  return { names: typeof databaseId === 'string' ? [id, databaseId] : [id], record };
}

async function lastPayload(store: Readers, id: string): Promise<{ readonly databaseId?: unknown } | undefined> {
  const where = { entityType: 'database-record', entityId: id };
  return (await store.versions.first({ where }))?.payload;
}
