import type { AdminUser, PersonAccess } from '../../../resources/admin-user.ts';
import type { Author } from '../../../resources/version.ts';
import { type Grant, grantsOf } from './grants.ts';
import type { ToolLimit } from './guarded-tool.ts';
import { callerRights, grantRights, narrowRights, personRights, type Rights, scopeRights } from './rights.ts';

/** Who makes a call. The door makes it, and it lives for one request. A session has the id of the admin user who signed in. */
export interface Principal {
  readonly type: 'session' | 'api-key' | 'app' | 'capsule' | 'agent' | 'flow' | 'webhook' | 'anonymous';
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly grants?: readonly Grant[];
  /** The admin user that the principal acts for. */
  readonly ownerId: string;
  readonly expiresAt?: string;
  /** For a session: the key that made its sign-in link. The session ends with that key. */
  readonly madeWith?: KeyBehind & Required<Pick<Principal, 'budgetSubjects'>>;
  /** Subjects of budgets that its use counts against too: what made it, and what made that. */
  readonly budgetSubjects?: readonly string[];
  readonly rights: Rights;
  /** The person it acts for, where that person may not do everything: its rights are also within theirs. */
  readonly limitedBy?: Principal;
  /** Where present, the principal cannot see or call any other tool, whatever its rights. */
  readonly tools?: ToolLimit;
  /** The principal that an agent, flow or app acts for, with its rights narrowed. An app acts for a person, or for a capsule of one. */
  readonly actsFor?: Principal;
  /** For an app: the URL of the MCP address that its tokens open. */
  readonly resource?: string;
  readonly integrationAccounts?: 'owner';
  /** Globs of tools whose calls wait for a person. What it acts for may have its own. */
  readonly askFirst?: readonly string[];
  /** For a flow: the flows whose runs led to this one, with itself last. */
  readonly causes?: readonly string[];
  /** For a flow or an agent: the run in which it acts. */
  readonly runId?: string;
  /** For a flow: everybody behind who had the run begun. */
  readonly askedBy?: readonly string[];
  /** For a flow: the attempt at a step of the run. It is the same when an interrupted attempt is repeated. */
  readonly attempt?: string;
}

/** A key that was used to make something else. */
interface KeyBehind {
  readonly id: string;
  readonly expiresAt?: string | undefined;
}

/** The principals that a principal acts for, nearest first. Empty for one that acts for itself. */
export function chainOf({ actsFor }: Principal): Principal[] {
  return actsFor ? [actsFor, ...chainOf(actsFor)] : [];
}

/** The principal, and those that it acts for. */
export function actorsOf(principal: Principal): Principal[] {
  return [principal, ...chainOf(principal)];
}

/** The key behind a call: the caller itself, the principal that it acts for, or the key whose link began the session. */
export function keyBehind(principal: Principal): KeyBehind | undefined {
  const { type, id, expiresAt, madeWith } = rootOf(principal);
  return type === 'api-key' ? { id, expiresAt } : madeWith;
}

/** When the credential behind a call expires for good. A session is no such credential, because its person can sign in again. */
export function endOf(principal: Principal): string | undefined {
  const { type, expiresAt, madeWith } = rootOf(principal);
  return type === 'session' ? madeWith?.expiresAt : expiresAt;
}

/** The key, if any, that ends whatever the call makes: when that key expires or is revoked, the thing ends too. */
export function endsWithKey(principal: Principal): { readonly endsWith?: string } {
  const key = keyBehind(principal);
  return key?.expiresAt === undefined ? {} : { endsWith: key.id };
}

/** The capsule that a caller is, or whose reach a connected app has. */
export function capsuleIn(principal: Principal): Principal | undefined {
  return actorsOf(principal).find(({ type }) => type === 'capsule');
}

function rootOf(principal: Principal): Principal {
  return chainOf(principal).at(-1) ?? principal;
}

/** The principal of a person who is signed in. */
export interface SessionPrincipal extends Principal {
  readonly type: 'session';
  readonly sessionId: string;
  readonly expiresAt: string;
  /** Until when the person counts as just signed in. Absent if that is over. */
  readonly freshUntil?: string;
}

/** False for a principal that acts for a session. */
export function isSession(principal: Principal): principal is SessionPrincipal {
  return principal.type === 'session' && 'sessionId' in principal;
}

export function authorOf({ type, id, name }: Principal): Author {
  return { type, id, name };
}

const RIGHTS = scopeRights([]);
const SIGNING_IN: ToolLimit = {
  holder: 'callers who are not signed in',
  fingerprint: 'signing in',
  allows: ({ session }) => session === 'begins',
};

/** A caller that is not authenticated. It can call only the tool that signs in. */
export function anonymous(address: string): Principal {
  return { type: 'anonymous', id: address, name: address, scopes: [], ownerId: '', rights: RIGHTS, tools: SIGNING_IN };
}

/** The only tool of such a principal. */
export const WEBHOOK_TOOL = 'receive_webhook';

const RECEIVING: ToolLimit = {
  holder: 'the webhooks of flows',
  fingerprint: 'webhook',
  allows: ({ name }) => name === WEBHOOK_TOOL,
};

/** The sender of a delivery signed with the secret of the flow's webhook. It may trigger that flow and nothing else. */
export function webhookPrincipal(flowId: string, sender: string): Principal {
  const grants: readonly Grant[] = [{ resource: 'flow', op: 'trigger', id: flowId }];
  return {
    type: 'webhook',
    id: flowId,
    name: `${sender} webhook`,
    scopes: [],
    grants,
    ownerId: '',
    rights: grantRights(grants),
    tools: RECEIVING,
  };
}

type Person = Pick<AdminUser, 'id' | 'email' | 'access'>;
type Reach = Pick<Principal, 'scopes' | 'grants' | 'rights'>;

/** Of a person without a limit. */
const EVERYTHING: Reach = { scopes: ['*'], rights: personRights(scopeRights(['*'])) };

/** A person with their current rights: of a session, or of what acts for them without one. */
export function personPrincipal({ id, email, access }: Person): Principal & { readonly type: 'session' } {
  return { type: 'session', id, name: email, ownerId: id, ...(access ? rightsOfPerson(id, access) : EVERYTHING) };
}

const rightsOfPeople = new WeakMap<PersonAccess, Reach>();

/** Made once for each state of the person: records never change. */
function rightsOfPerson(id: string, access: PersonAccess): Reach {
  const known = rightsOfPeople.get(access);
  if (known) return known;
  const { scopes } = access;
  const grants = access.grants && grantsOf(access);
  const rights = personRights(grants ? callerRights(id, grants) : scopeRights(scopes));
  const reach = { scopes, ...(grants && { grants }), rights };
  rightsOfPeople.set(access, reach);
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
