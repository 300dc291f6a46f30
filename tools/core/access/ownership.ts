import { OWNER } from '../../../resources/admin-user.ts';
import type { Filter, Readers, Where } from '../../../store/port.ts';
import { forbidden } from '../errors.ts';
import type { Principal } from './principal.ts';
import { whereAllowed } from './record-limit.ts';

/** The filter for records the caller owns or may list by its rights. Undefined: all records. */
export function listFilter<Record extends { readonly id: string }>(
  { rights }: Principal,
  resource: string,
  own: Where<Record>,
): Filter<Record>['any'] {
  const owned = rights.isPerson ? [own] : [];
  if (!rights.allows({ scope: 'admin', needs: [{ resource, op: 'read' }], narrows: true })) return owned;
  const limited = whereAllowed<Record>(rights.limitedTo(resource, 'read'), 'id');
  return limited && [...limited, ...owned];
}

/** Whether what this admin user owns is the caller's own, who is that person. */
export function isOwn({ rights, ownerId }: Principal, userId: string | undefined): boolean {
  return rights.isPerson === true && userId === ownerId;
}

/** Whether the caller may do this to the record by its rights. */
export function hasRight(
  { rights }: Principal,
  resource: string,
  op: 'read' | 'write' | 'delete',
  id: string,
): boolean {
  return rights.allows({ scope: 'admin', needs: [{ resource, op, ids: [id] }] });
}

/** Only an owner, or a key or session of one, changes owners and how they sign in. @throws ToolError (forbidden) */
export async function requireOwner(store: Pick<Readers, 'adminUsers'>, { ownerId }: Principal): Promise<void> {
  const user = await store.adminUsers.get(ownerId);
  if (user?.role === OWNER) return;
  throw forbidden('This concerns an owner, so only another owner may do it; list_admin_users shows the owners.');
}
