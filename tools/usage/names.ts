import type { AdminUser } from '../../resources/admin-user.ts';
import { SETTINGS_ID } from '../../resources/settings.ts';
import type { Readers } from '../../store/port.ts';

type Named = Map<string, { readonly name: string }>;
type Lookup = (store: Readers, key: string) => Promise<string | undefined>;

const LOOKUPS: Readonly<Partial<Record<string, Lookup>>> = {
  agent: async ({ agents }, id) => (await agents.get(id))?.name,
  key: async ({ apiKeys }, id) => (await apiKeys.get(id))?.name,
  capsule: async ({ capsules }, id) => (await capsules.get(id))?.name,
  person: async ({ adminUsers }, id) => nameOf(await adminUsers.get(id)),
  workspace: async ({ settings }) => (await settings.get(SETTINGS_ID))?.workspaceName,
  // Anybody can give an app any name, so its host stands beside it.
  app: async ({ connectedApps }, id) => {
    const client = (await connectedApps.get(id))?.client;
    return client && `${client.name} (${client.host})`;
  },
  user: async ({ adminUsers }, id) => nameOf(await adminUsers.get(id)),
  flow: async ({ flows }, id) => (await flows.get(id))?.name,
  integration: async ({ integrations }, toolPrefix) => (await integrations.first({ where: { toolPrefix } }))?.name,
};

function nameOf(person: AdminUser | undefined): string | undefined {
  return person?.name ?? person?.email;
}

export async function namesOf(store: Readers, by: string, keys: readonly string[]): Promise<Named> {
  const lookup = LOOKUPS[by];
  const named: Named = new Map();
  if (!lookup) return named;
  for (const key of keys) {
    const name = await lookup(store, key);
    if (name !== undefined) named.set(key, { name });
  }
  return named;
}
