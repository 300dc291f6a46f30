import type { AdminUser } from '../../resources/admin-user.ts';
import type { Principal } from './principal.ts';
import { personRights } from './rights.ts';

const SCOPES = ['*'];
const RIGHTS = personRights(SCOPES);

/** A person, with what they may do now: of a session, or of what acts for them without one. */
export function personPrincipal({ id, email }: Pick<AdminUser, 'id' | 'email'>) {
  return { type: 'session', id, name: email, ownerId: id, scopes: SCOPES, rights: RIGHTS } as const satisfies Principal;
}
