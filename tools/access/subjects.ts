import type { Readers } from '../../store/port.ts';
import type { RecordKind } from '../registry/kind.ts';
import type { Subject, Subjects } from './requirement.ts';

type Found = { readonly id: string; readonly [member: string]: unknown };

/**
 * Looks up the record that a value names, with all names that grants may use: for an agent its id and, while it is not deleted, its name;
 * for a database record its id and its database's; for a run of a flow its id and the flow's; for an integration whose tools are called its
 * id and all of its tools; for every other record the value.
 */
export function subjectsIn(store: Readers, kinds: readonly RecordKind[]): Subjects {
  return async (resource, value) => {
    if (resource === 'flow') return flowSubject(store, value);
    if (resource === 'record') return recordSubject(store, value);
    if (resource === 'tool') return integrationSubject(store, value);
    if (resource === 'agent') {
      const agent = (await store.agents.get(value)) ?? (await agentNamed(store, value));
      return agent ? subjectOf(resource, agent) : { names: [value] };
    }
    const kind = kinds.find((each) => each.resource === resource);
    return { names: [value], record: kind && (await store[kind.collection].get(value)) };
  };
}

/** The same for a record that the caller already has, and that may be deleted from the store. */
export function subjectOf(resource: string, record: Found): Subject {
  const other = { agent: record.status === 'deleted' ? undefined : record.name, record: record.databaseId }[resource];
  return { names: typeof other === 'string' ? [record.id, other] : [record.id], record };
}

async function flowSubject(store: Readers, id: string): Promise<Subject> {
  const run = id.startsWith('run_') ? await store.flowRuns.get(id) : undefined;
  return run ? { names: [id, run.flowId], record: run } : { names: [id], record: await store.flows.get(id) };
}

/** All tools of an integration, as grants name them. */
async function integrationSubject(store: Readers, id: string): Promise<Subject> {
  const integration = id.startsWith('int_') ? await store.integrations.get(id) : undefined;
  return integration ? { names: [id, `${integration.toolPrefix || id}/*`] } : { names: [id] };
}

/** The agent of this name that is not deleted. Names are stored with composed characters. */
export async function agentNamed(store: Pick<Readers, 'agents'>, text: string) {
  const name = text.trim().normalize('NFC');
  const { records } = await store.agents.find({ where: { name, status: ['active', 'paused'] }, limit: 1 });
  return records[0];
}

/** A deleted record still belongs to its database, for callers who read its history. */
async function recordSubject(store: Readers, id: string): Promise<Subject> {
  const record = (await store.databaseRecords.get(id)) ?? (await store.databases.get(id));
  const { databaseId } = record && 'databaseId' in record ? record : ((await lastPayload(store, id)) ?? {});
  return { names: typeof databaseId === 'string' ? [id, databaseId] : [id], record };
}

async function lastPayload(store: Readers, id: string): Promise<{ readonly databaseId?: unknown } | undefined> {
  const where = { entityType: 'database-record', entityId: id };
  const { records } = await store.versions.find({ where, limit: 1 });
  return records[0]?.payload;
}
