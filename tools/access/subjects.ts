import type { Readers } from '../../store/port.ts';
import type { Subjects } from './requirement.ts';

/** An agent goes by its id or its name; every other record by the value itself. */
export function subjectsIn(store: Readers): Subjects {
  return async (resource, value) => {
    if (resource !== 'agent') return [value];
    const agent = (await store.agents.get(value)) ?? (await agentNamed(store, value));
    return agent ? [agent.id, agent.name] : [value];
  };
}

async function agentNamed(store: Readers, name: string) {
  const { records } = await store.agents.find({ where: { name, status: ['active', 'paused'] }, limit: 1 });
  return records[0];
}
