import type { AdminUser } from '../../../resources/admin-user.ts';
import type { ApiKeyRecord } from '../../../resources/api-key.ts';
import type { CapsuleRecord } from '../../../resources/capsule.ts';
import { APP_SCOPES, type AppScope, type ConnectedAppRecord } from '../../../resources/connected-app.ts';
import type { Readers } from '../../../store/port.ts';
import type { ToolError } from '../errors.ts';
import { oncePer } from '../once-per.ts';
import {
  canBeInCapsule,
  capsulePrincipal,
  capsuleProblem,
  hasPassed,
  MANAGEMENT_RESOURCES,
} from './capsule-principal.ts';
import type { GuardedCatalog, GuardedTool } from './guarded-tool.ts';
import { intersectToolLimits, type ToolLimit } from './guarded-tool.ts';
import { type KeyReaders, keyProblem, keyReference } from './key-principal.ts';
import { chainOf, type Principal, personPrincipal } from './principal.ts';
import { refusal, seesTool } from './reach.ts';
import { accessFor } from './requirement.ts';
import { intersectRights, narrowRights, scopeRightsWithout } from './rights.ts';
import { scopesSatisfy } from './scopes.ts';

/** What decides about a connection. Its record need not be stored: the consent page asks what one would reach. */
export type AppConnection = Pick<
  ConnectedAppRecord,
  | 'id'
  | 'client'
  | 'resource'
  | 'scopes'
  | 'userId'
  | 'capsuleId'
  | 'tokenPrefix'
  | 'endsWith'
  | 'budgetSubjects'
  | 'askFirst'
>;

type AppReaders = KeyReaders & Pick<Readers, 'capsules'>;

interface AppDeps {
  readonly catalog: GuardedCatalog;
  readonly now: Date;
}

/** The records that a connection depends on. */
interface Behind {
  readonly user: AdminUser | undefined;
  readonly capsule: CapsuleRecord | undefined;
  /** The admin user that the capsule acts for. */
  readonly owner: AdminUser | undefined;
  readonly key: ApiKeyRecord | undefined;
  readonly entries: unknown;
}

const principals = new WeakMap<AppConnection, Behind & { readonly principal: Principal }>();

/** The principal of a connected app as it is now, never with more rights than its person; or why the connection is not accepted. */
export async function appPrincipal(
  store: AppReaders,
  app: AppConnection,
  { catalog, now }: AppDeps,
): Promise<Principal | string> {
  const capsule = app.capsuleId === undefined ? undefined : await store.capsules.get(app.capsuleId);
  const behind = {
    user: app.userId === undefined ? undefined : await store.adminUsers.get(app.userId),
    capsule,
    owner: capsule && (await store.adminUsers.get(capsule.ownerId)),
    key: app.endsWith === undefined ? undefined : await store.apiKeys.get(app.endsWith),
    entries: catalog.entries,
  };
  const problem = await connectionProblem(store, app, behind, now);
  if (problem !== undefined) return problem;
  const known = principals.get(app);
  if (known && isSame(known, behind)) return known.principal;
  const principal = principalOf(app, behind, catalog);
  principals.set(app, { ...behind, principal });
  return principal;
}

/** Whether connected apps can have the tool. They cannot create anything with rights of its own, and see no secret. */
export function canBeInApp(tool: GuardedTool): boolean {
  return !tool.answersSecret && !tool.session && canBeInCapsule(tool);
}

/** Whether the person may let apps use the capsule. One that uses the accounts of its owner is for apps of the owner alone. */
export function mayUseCapsule(
  { rights, ownerId }: Pick<Principal, 'rights' | 'ownerId'>,
  { id, integrationAccounts, ownerId: capsuleOwnerId }: Pick<CapsuleRecord, 'id' | 'integrationAccounts' | 'ownerId'>,
): boolean {
  if (integrationAccounts === 'owner' && ownerId !== capsuleOwnerId) return false;
  return rights.allows({ scope: 'admin', needs: [{ resource: 'capsule', op: 'use', ids: [id] }] });
}

/** Records never change, so equal ones are the very same. */
function isSame(one: Behind, other: Behind): boolean {
  return (['user', 'capsule', 'owner', 'key', 'entries'] as const).every((part) => one[part] === other[part]);
}

async function connectionProblem(
  store: AppReaders,
  { userId, capsuleId, tokenPrefix, endsWith }: AppConnection,
  { user, capsule, key }: Behind,
  now: Date,
): Promise<string | undefined> {
  if (userId === undefined && (capsuleId === undefined || tokenPrefix === undefined)) return 'It acts for nobody.';
  if (userId !== undefined && !user?.isActive) return 'The admin user it acts for is deactivated or gone.';
  if (endsWith !== undefined && (!key || (await keyProblem(store, key, now)) !== undefined)) {
    return 'The API key behind the session in which it was connected has ended.';
  }
  if (capsuleId === undefined) return undefined;
  if (!capsule) return 'Its capsule is deleted.';
  if (tokenPrefix !== undefined && !isGoodToken(capsule, tokenPrefix, now)) {
    return 'The token of the capsule with which it was connected was replaced; connect it again with the new one.';
  }
  if (user && !mayUseCapsule(personPrincipal(user), capsule)) {
    return 'The admin user it acts for may no longer use its capsule.';
  }
  return capsuleProblem(store, capsule, now);
}

function isGoodToken({ token, graceTokens }: CapsuleRecord, prefix: string, now: Date): boolean {
  return token.prefix === prefix || graceTokens.some((old) => old.prefix === prefix && !hasPassed(old.until, now));
}

function principalOf(
  app: AppConnection,
  { user, key, capsule: record, owner }: Behind,
  catalog: GuardedCatalog,
): Principal {
  // If a key's link signed the person in, what the app makes ends with that key too.
  const madeWith = key && keyReference(key);
  const person = user && { ...personPrincipal(user), ...(madeWith && { madeWith }) };
  const capsule = record && capsulePrincipal(record, catalog, owner);
  const holder = `the connected app ${nameOf(app)}`;
  const limit: ToolLimit = { holder, fingerprint: 'app', allows: oncePer(canBeInApp) };
  const { id, resource, budgetSubjects = [], askFirst } = app;
  const asks = askFirst?.length ? { askFirst } : {};
  const named = { type: 'app', id, name: nameOf(app), resource, budgetSubjects, ...asks } as const;
  if (capsule) {
    const { rights, grants, ownerId, expiresAt, tools } = capsule;
    return {
      ...named,
      scopes: [],
      ...(grants && { grants }),
      ownerId: person?.ownerId ?? ownerId,
      ...(expiresAt !== undefined && { expiresAt }),
      rights: person ? intersectRights(rights, person.rights) : rights,
      tools: intersectToolLimits(tools, limit),
      actsFor: person ? { ...capsule, actsFor: person } : capsule,
    };
  }
  if (!person) throw new Error('A connection acts for a person or has a capsule.');
  const rights = narrowRights(scopeRightsWithout(app.scopes, MANAGEMENT_RESOURCES), person.rights);
  return { ...named, scopes: app.scopes, ownerId: person.id, rights, tools: limit, actsFor: person };
}

/** Anybody can take any name, so its host stands beside it. */
function nameOf({ client: { name, host } }: AppConnection): string {
  return `${name.slice(0, 100)} (${host})`;
}

/** The error for a refused call. For a connected app it names what the app can ask its person for, if that would help. The input may be unchecked. */
export function refusalWithScopes(principal: Principal, tool: GuardedTool, input: object): ToolError {
  const refused = refusal(principal, tool, input);
  const missing = missingScopes(principal, tool, input);
  return missing ? refused.with({ missingScopes: missing }) : refused;
}

/** All scopes that a connected app must ask its person for, so that the call is allowed. Undefined if no scope would help. */
export function missingScopes(principal: Principal, tool: GuardedTool, input: object): AppScope[] | undefined {
  const person = principal.type === 'app' && isOpenToMore(principal) ? chainOf(principal).at(-1) : undefined;
  if (person?.type !== 'session') return undefined;
  const { scope } = accessFor(tool.access, input);
  if (scopesSatisfy(principal.scopes, scope) || !canBeInApp(tool) || !seesTool(person, tool)) return undefined;
  const needed = APP_SCOPES.findIndex((each) => scopesSatisfy([each], scope));
  return needed < 0 ? undefined : APP_SCOPES.slice(0, needed + 1);
}

/** False at the endpoint of a capsule, where there is nothing to hand out but the capsule. */
function isOpenToMore({ actsFor, resource = '' }: Principal): boolean {
  return actsFor?.type !== 'capsule' || !resource.includes(`/${actsFor.id}/`);
}
