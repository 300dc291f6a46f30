import type { AdminUser } from '../../../resources/admin-user.ts';
import type { CapsuleRecord } from '../../../resources/capsule.ts';
import type { RequiredRight } from '../../../resources/error.ts';
import type { Readers } from '../../../store/port.ts';
import { oncePer } from '../once-per.ts';
import { allowlistLimit } from './allowlist.ts';
import { FOLLOWING } from './ask-first.ts';
import { madeBy } from './budgets.ts';
import { CapsuleRights } from './capsule-rights.ts';
import type { GuardedCatalog, GuardedTool, ToolLimit } from './guarded-tool.ts';
import { type KeyReaders, keyProblem } from './key-principal.ts';
import { prefixOf, secretMatches } from './key-secret.ts';
import type { Principal } from './principal.ts';
import { withinOwner } from './principal.ts';

/** Tools of these resources manage things that act with rights of their own. */
export const MANAGEMENT_RESOURCES: readonly string[] = [
  'key',
  'capsule',
  'session',
  'admin-user',
  'integration',
  'app',
  'oauth-client',
  'webhook',
  'model-provider',
];

/** False for tools that manage credentials, people, sessions, integrations, apps, webhooks and model providers, even where a capsule names them. */
export function canBeInCapsule({ access, forPeople }: GuardedTool): boolean {
  if (forPeople) return false;
  const grants = 'among' in access ? access.among.flatMap(({ grant }) => grant) : [access.grant].flat();
  return !grants.some((text) => MANAGEMENT_RESOURCES.some((resource) => text.startsWith(`${resource}:`)));
}

export interface CapsuleDefinition extends Pick<CapsuleRecord, 'name' | 'allowedTools' | 'deniedTools'> {
  readonly constraints?: CapsuleRecord['constraints'] | undefined;
  readonly askFirst?: CapsuleRecord['askFirst'] | undefined;
}

function limitOf({ name, allowedTools, deniedTools, constraints = {}, askFirst = [] }: CapsuleDefinition) {
  const allowed = askFirst.length > 0 ? [...allowedTools, ...FOLLOWING] : allowedTools;
  const limit = allowlistLimit(`the capsule "${name}"`, allowed, deniedTools);
  const fixed = new Map(Object.entries(constraints));
  return {
    ...limit,
    fingerprint: JSON.stringify([limit.fingerprint, constraints]),
    allows: oncePer((tool: GuardedTool) => limit.allows(tool) && canBeInCapsule(tool)),
    fixed: ({ name }) => fixed.get(name),
  } satisfies ToolLimit;
}

/** The reach of a capsule, stored or not: what its tools need and no more. */
export function reachOfCapsule(
  definition: CapsuleDefinition,
  { entries }: GuardedCatalog,
): Required<Pick<Principal, 'grants' | 'rights' | 'tools'>> {
  const limit = limitOf(definition);
  const tools = entries.map(({ tool }) => tool).filter((tool) => limit.allows(tool));
  const held = new CapsuleRights(tools, limit.fixed);
  return {
    tools: { ...limit, narrowed: (tool) => held.narrowed(tool), admits: (tool, input) => held.admits(tool, input) },
    grants: held.grants,
    rights: held.rights,
  };
}

const principals = new WeakMap<CapsuleRecord, { readonly entries: unknown; readonly principal: Principal }>();

/** What the capsule may do, and the person it acts for. */
export function capsulePrincipal(
  capsule: CapsuleRecord,
  catalog: GuardedCatalog,
  owner: AdminUser | undefined,
): Principal {
  return withinOwner(ownPrincipal(capsule, catalog), owner);
}

/** Made once for each state of the capsule and of the catalog. */
function ownPrincipal(capsule: CapsuleRecord, catalog: GuardedCatalog): Principal {
  const known = principals.get(capsule);
  if (known?.entries === catalog.entries) return known.principal;
  const { id, name, ownerId, expiresAt } = capsule;
  const principal: Principal = {
    type: 'capsule',
    id,
    name,
    scopes: [],
    ownerId,
    budgetSubjects: madeBy(capsule),
    ...(capsule.askFirst?.length && { askFirst: capsule.askFirst }),
    ...(capsule.integrationAccounts === 'owner' && { integrationAccounts: 'owner' }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...reachOfCapsule(capsule, catalog),
  };
  principals.set(capsule, { entries: catalog.entries, principal });
  return principal;
}

/** A token of a capsule; `until` is when a replaced one stops being accepted. */
export interface PresentedToken {
  readonly capsule: CapsuleRecord;
  readonly until: string | undefined;
}

/** The capsule token for this secret, accepted or not. Undefined if the secret is not one. */
export async function findToken(store: Pick<Readers, 'capsules'>, secret: string): Promise<PresentedToken | undefined> {
  const prefix = prefixOf('capsule', secret);
  if (prefix === undefined) return undefined;
  const { records } = await store.capsules.find({ where: { tokenPrefixes: prefix }, limit: 10 });
  for (const capsule of records) {
    if (secretMatches(secret, capsule.token.hash)) return { capsule, until: undefined };
    const replaced = capsule.graceTokens.find(({ hash }) => secretMatches(secret, hash));
    if (replaced) return { capsule, until: replaced.until };
  }
  return undefined;
}

/** The capsule of the token, whether or not it is served. Undefined if the token opens nothing any more. */
export async function tokenPrincipal(
  { adminUsers }: Pick<Readers, 'adminUsers'>,
  { capsule, until }: PresentedToken,
  { catalog, now }: { readonly catalog: GuardedCatalog; readonly now: Date },
): Promise<Principal | undefined> {
  if (hasPassed(capsule.expiresAt, now) || hasPassed(until, now)) return undefined;
  return capsulePrincipal(capsule, catalog, await adminUsers.get(capsule.ownerId));
}

export function hasPassed(time: string | undefined, now: Date): boolean {
  return time !== undefined && Date.parse(time) <= now.getTime();
}

/** Why the capsule is not served now. Undefined if it is. */
export async function capsuleProblem(
  store: KeyReaders,
  { status, ownerId, expiresAt, endsWith }: CapsuleRecord,
  now: Date,
): Promise<string | undefined> {
  if (status !== 'live') return `This capsule is ${status}; update_capsule with {"status": "live"} has it served.`;
  if (hasPassed(expiresAt, now)) return `This capsule expired at ${expiresAt}.`;
  const key = endsWith === undefined ? undefined : await store.apiKeys.get(endsWith);
  if (endsWith !== undefined && (!key || (await keyProblem(store, key, now)) !== undefined)) {
    return 'This capsule ended with the API key that made it; rotate_capsule_token, called with a credential that does not expire, gives it a token that lasts.';
  }
  const owner = await store.adminUsers.get(ownerId);
  return owner?.isActive ? undefined : `This capsule acts for the admin user ${ownerId}, who is deactivated.`;
}

/** Why a principal may not use a door: the tokens of a capsule open its own door and no other. `capsuleId` is undefined for all other doors. */
export async function doorProblem(
  store: KeyReaders & Pick<Readers, 'capsules'>,
  { type, id }: Principal,
  { capsuleId, now }: { readonly capsuleId: string | undefined; readonly now: Date },
): Promise<DoorProblem | undefined> {
  if (type !== 'capsule') return capsuleId === undefined ? undefined : WRONG_CREDENTIAL;
  if (id !== capsuleId) return { message: OTHER_ENDPOINT, required: { endpoint: `/api/capsules/${id}/mcp` } };
  const capsule = await store.capsules.get(id);
  const message = capsule ? await capsuleProblem(store, capsule, now) : 'This capsule is deleted.';
  return message === undefined ? undefined : { message };
}

/** Why a caller is not admitted, and with what it would be. */
export interface DoorProblem {
  readonly message: string;
  readonly required?: RequiredRight;
}

const WRONG_CREDENTIAL: DoorProblem = {
  message: 'This endpoint takes the token of its capsule.',
  required: { credential: 'capsule-token' },
};
const OTHER_ENDPOINT =
  'The token of a capsule opens the endpoint of that capsule and, where its tools allow, /api/v1/openai; nothing else.';
