import type { Readers } from '../../store/port.ts';
import type { Subjects } from './requirement.ts';

/**
 * An agent goes by its id and, while it is not deleted, its name; a record of a database by its id or the database's; every other
 * record by the value itself.
 */
export function subjectsIn(store: Readers): Subjects {
  return async (resource, value) => {
    if (resource === 'flow') return flowSubjects(store, value);
    if (resource === 'record') return recordSubjects(store, value);
    if (resource !== 'agent') return [value];
    const agent = (await store.agents.get(value)) ?? (await agentNamed(store, value));
    return agent ? namesOf(resource, agent) : [value];
  };
}

/** The same for a record in hand, which may be gone from the store. */
export function namesOf(
  resource: string,
  record: { readonly id: string; readonly [member: string]: unknown },
): string[] {
  const other = { agent: record.status === 'deleted' ? undefined : record.name, record: record.databaseId }[resource];
  return typeof other === 'string' ? [record.id, other] : [record.id];
}

/** A run goes by its own id and by that of its flow. */
async function flowSubjects(store: Readers, id: string): Promise<readonly string[]> {
  const run = id.startsWith('run_') ? await store.flowRuns.get(id) : undefined;
  return run ? [id, run.flowId] : [id];
}

async function agentNamed(store: Readers, name: string) {
  const { records } = await store.agents.find({ where: { name, status: ['active', 'paused'] }, limit: 1 });
  return records[0];
}

/** A deleted record is still one of its database's to those who look into its history. */
async function recordSubjects(store: Readers, id: string): Promise<readonly string[]> {
  const record = (await store.databaseRecords.get(id)) ?? (await lastPayload(store, id));
  return typeof record?.databaseId === 'string' ? [id, record.databaseId] : [id];
}

async function lastPayload(store: Readers, id: string): Promise<{ readonly databaseId?: unknown } | undefined> {
  const where = { entityType: 'database-record', entityId: id };
  const { records } = await store.versions.find({ where, limit: 1 });
  return records[0]?.payload;
}
