import type { Readers } from '../../store/port.ts';
import type { Subjects } from './requirement.ts';

/** An agent goes by its id and, while it is not deleted, its name; every other record by the value itself. */
export function subjectsIn(store: Readers): Subjects {
  return async (resource, value) => {
    if (resource !== 'agent') return [value];
    const agent = (await store.agents.get(value)) ?? (await agentNamed(store, value));
    if (!agent) return [value];
    return agent.status === 'deleted' ? [agent.id] : [agent.id, agent.name];
  };
}

async function agentNamed(store: Readers, name: string) {
  const { records } = await store.agents.find({ where: { name, status: ['active', 'paused'] }, limit: 1 });
  return records[0];
}
