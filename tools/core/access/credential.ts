import { OWNER } from '../../../resources/admin-user.ts';
import type { ApiKeyRecord } from '../../../resources/api-key.ts';
import type { CapsuleRecord } from '../../../resources/capsule.ts';
import type { AccessPrincipal } from '../../../resources/thread.ts';
import type { Readers } from '../../../store/port.ts';
import { forbidden } from '../errors.ts';
import { requireAskFirstWithin } from './ask-first.ts';
import { type DelegatedRights, requireWithinRights } from './delegation.ts';
import { grantsOf } from './grants.ts';
import type { GuardedCatalog } from './guarded-tool.ts';
import { isOwn, requireOwner } from './ownership.ts';
import type { Principal } from './principal.ts';
import { requireEntriesWithin } from './visibility.ts';

/** A credential that a call makes, replaces, moves or changes, with all that comes with it. */
export interface Credential {
  /**
   * make: it acts for the caller. rotate: it gets another secret and acts for whom it did. take-over: from now on it acts for the caller.
   * change: it does something else, for whom it did. sign-in: a person can sign in, or in another way.
   */
  readonly way: 'make' | 'rotate' | 'take-over' | 'change' | 'sign-in';
  readonly rights: DelegatedRights;
  readonly ownerId?: string | undefined;
  /** The role that its person has before the call, or gets by it. By default that of `ownerId`. */
  readonly role?: string | undefined;
  /** The key or capsule, which may have entries in restricted threads. */
  readonly holder?: AccessPrincipal | undefined;
  /** It uses the accounts at integrations of the person for whom it acts. */
  readonly usesAccounts?: boolean;
}

interface Obtaining {
  readonly store: Pick<Readers, 'adminUsers' | 'threads'>;
  readonly principal: Principal;
}

/** The only check that nobody gets a credential beyond their own rights, lifetime, accounts, rank and threads. @throws ToolError (forbidden) */
export async function requireCredential({ store, principal }: Obtaining, credential: Credential): Promise<void> {
  const { way, rights, ownerId, role, holder, usesAccounts } = credential;
  requireWithinRights(principal, rights);
  requireAskFirstWithin(principal, rights.askFirst);
  const isOthers = ownerId !== undefined && ownerId !== principal.ownerId;
  if (isOthers && way === 'rotate') throw forbidden(TAKE_OVER);
  if (isOthers && way === 'change' && usesAccounts) throw forbidden(ACCOUNTS, undefined, 'integrationAccounts');
  if (way === 'take-over' || way === 'sign-in') {
    const owner = ownerId === undefined ? undefined : await store.adminUsers.get(ownerId);
    if (role === OWNER || owner?.role === OWNER) await requireOwner(store, principal);
  }
  if (holder) await requireEntriesWithin({ store, principal }, holder);
}

const TAKE_OVER =
  'It acts for somebody else; take_over has it act for you and gives it another secret. Only its owner rotates it.';
const ACCOUNTS = 'It uses the accounts of its owner, so only the owner changes what it does; give "none" to end that.';

export function keyCredential(
  principal: Principal,
  key: ApiKeyRecord,
  catalog: GuardedCatalog,
): Omit<Credential, 'way'> {
  const { id, ownerId, expiresAt } = key;
  const rights = { ...keyRights(principal, key, catalog), lifetime: { expiresAt } };
  return { rights, ownerId, holder: { type: 'api-key', id } };
}

/** Of one's own key, more rights than one's own mean nothing. */
export function keyRights(principal: Principal, key: ApiKeyRecord, catalog: GuardedCatalog): DelegatedRights {
  const { askFirst = [] } = key;
  if (key.id === principal.id || isOwn(principal, key.ownerId)) return { askFirst };
  return { scopes: key.scopes, grants: grantsOf(key), catalog, askFirst };
}

type Capsule = Pick<CapsuleRecord, 'id' | 'ownerId' | 'allowedTools' | 'integrationAccounts' | 'askFirst'>;

export function capsuleCredential(
  { id, ownerId, allowedTools, askFirst, integrationAccounts }: Capsule,
  catalog: GuardedCatalog,
  lifetime: DelegatedRights['lifetime'],
): Omit<Credential, 'way'> {
  const rights = { ...capsuleRights({ allowedTools, askFirst }, catalog), lifetime };
  return { rights, ownerId, holder: { type: 'capsule', id }, usesAccounts: integrationAccounts === 'owner' };
}

/** Nobody makes or changes a capsule, or gets its token, if it reaches more than they do. */
export function capsuleRights(
  { allowedTools, askFirst = [] }: Pick<CapsuleRecord, 'allowedTools' | 'askFirst'>,
  catalog: GuardedCatalog,
): DelegatedRights {
  return { askFirst, tools: { entries: allowedTools, catalog, named: true } };
}
