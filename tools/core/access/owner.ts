import { OWNER } from '../../../resources/admin-user.ts';
import type { Readers } from '../../../store/port.ts';
import { ToolError } from '../errors.ts';
import type { Principal } from './principal.ts';
import { FORBIDDEN } from './reach.ts';

/**
 * Only an owner, or a key or session of one, may make an owner, change how an owner signs in, or sign in as an owner.
 * @throws ToolError (forbidden)
 */
export async function requireOwner(store: Pick<Readers, 'adminUsers'>, { ownerId }: Principal): Promise<void> {
  const user = await store.adminUsers.get(ownerId);
  if (user?.role === OWNER) return;
  const message = 'This concerns an owner, so only another owner may do it; list_admin_users shows the owners.';
  throw new ToolError('forbidden', FORBIDDEN, { issues: [{ path: '', message }] });
}
