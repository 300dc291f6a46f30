import type { Filter, Where } from '../../../store/port.ts';
import type { Principal } from './principal.ts';
import { whereWithin } from './record-limit.ts';

/** What the caller may list by its rights, and what is its own. Undefined: everything. For tools that are also for what is one's own. */
export function listFilter<Record extends { readonly id: string }>(
  { rights }: Principal,
  resource: string,
  own: Where<Record>,
): Filter<Record>['any'] {
  const owned = rights.isPerson ? [own] : [];
  if (!rights.allows({ scope: 'admin', needs: [{ resource, op: 'read' }], narrows: true })) return owned;
  const limited = whereWithin<Record>(rights.limitedTo(resource, 'read'), 'id');
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
