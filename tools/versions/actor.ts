import type { CollectionName } from '../../store/collections.ts';
import type { Readers } from '../../store/port.ts';

/** How an actor is named: by one of these. */
export type Actor = { readonly [Member in keyof typeof ACTORS]?: string | undefined };

const ACTORS = {
  principalId: { noun: 'API key or person', in: ['apiKeys', 'adminUsers'], lists: 'list_api_keys or list_admin_users' },
  capsuleId: { noun: 'capsule', in: ['capsules'], lists: 'list_capsules' },
  appId: { noun: 'connected app', in: ['connectedApps'], lists: 'list_connected_apps' },
  agentId: { noun: 'agent', in: ['agents'], lists: 'list_agents' },
  runId: { noun: 'run of an agent', in: ['agentRuns'], lists: 'list_agent_runs' },
  flowRunId: { noun: 'run of a flow', in: ['flowRuns'], lists: 'list_flow_runs' },
} as const satisfies Record<string, { noun: string; in: readonly CollectionName[]; lists: string }>;

/** The message that there is no such actor. One that is gone is known by any change that it made. */
export async function missingActor(by: Actor, store: Readers): Promise<string | undefined> {
  const members = Object.keys(ACTORS) as (keyof typeof ACTORS)[]; // its own keys
  const member = members.find((name) => by[name] !== undefined);
  const id = member && by[member];
  if (!member || id === undefined) return undefined;
  const { noun, in: places, lists } = ACTORS[member];
  const records = await Promise.all(places.map((name) => store[name].get(id)));
  if (records.some((record) => record !== undefined)) return undefined;
  const change = await store.versions.first({ where: { by: id } });
  return change ? undefined : `There is no ${noun} ${id}, and no change by one; ${lists} shows the ids.`;
}
