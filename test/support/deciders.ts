import { newId } from '../../store/ids.ts';
import { credentialStatus } from '../../tools/core/access/credential-status.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { EngineWorld } from './engine-world.ts';

/** The principal as it is now. */
export async function standingOf(
  world: EngineWorld,
  type: Principal['type'],
  id: string,
  name = id,
): Promise<Principal> {
  const { catalog, now } = world.registry.server;
  const found = await credentialStatus({ type, id, name }, world.store, { catalog, now: now() });
  if (typeof found === 'string') throw new Error(found);
  return found;
}

/** An admin user with full access, signed in. */
export async function personIn(world: EngineWorld, name: string): Promise<Principal> {
  const email = `${name}-${newId('usr')}@example.com`;
  const { id } = await world.store.transaction((tx) => tx.adminUsers.insert({ email, role: 'admin', isActive: true }));
  return standingOf(world, 'session', id, email);
}
