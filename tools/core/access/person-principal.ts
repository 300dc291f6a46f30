import type { AdminUser, PersonAccess } from '../../../resources/admin-user.ts';
import { grantsOf } from './grants.ts';
import type { Principal } from './principal.ts';
import { callerRights, narrowRights, personRights, scopeRights } from './rights.ts';

type Person = Pick<AdminUser, 'id' | 'email' | 'access'>;
type Reach = Pick<Principal, 'scopes' | 'grants' | 'rights'>;

/** Of a person without a limit. */
const EVERYTHING: Reach = { scopes: ['*'], rights: personRights(scopeRights(['*'])) };

/** A person with their current rights: of a session, or of what acts for them without one. */
export function personPrincipal({ id, email, access }: Person): Principal & { readonly type: 'session' } {
  return { type: 'session', id, name: email, ownerId: id, ...(access ? reachOf(id, access) : EVERYTHING) };
}

const reaches = new WeakMap<PersonAccess, Reach>();

/** Made once for each state of the person: records never change. */
function reachOf(id: string, access: PersonAccess): Reach {
  const known = reaches.get(access);
  if (known) return known;
  const { scopes } = access;
  const grants = access.grants && grantsOf(access);
  const rights = personRights(grants ? callerRights(id, grants) : scopeRights(scopes));
  const reach = { scopes, ...(grants && { grants }), rights };
  reaches.set(access, reach);
  return reach;
}

const within = new WeakMap<Principal, Principal>();

/** The key or capsule with no more than the person it acts for may do now. Every principal that a record stands for passes here. */
export function withinOwner(principal: Principal, owner: Person | undefined): Principal {
  if (!owner?.access) return principal;
  const person = personPrincipal(owner);
  const known = within.get(principal);
  if (known?.limitedBy?.rights === person.rights) return known;
  const limited = { ...principal, rights: narrowRights(principal.rights, person.rights), limitedBy: person };
  within.set(principal, limited);
  return limited;
}
