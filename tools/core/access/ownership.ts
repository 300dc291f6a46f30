import type { Filter, Where } from '../../../store/port.ts';
import type { Principal } from './principal.ts';
import { whereWithin } from './record-limit.ts';

/**
 * The filter for records the caller may list by its rights or owns. Undefined: all records. For tools that also serve the caller's own
 * records.
 */
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
