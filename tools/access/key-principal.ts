import type { ApiKeyRecord } from '../../resources/api-key.ts';
import type { Readers, Store } from '../../store/port.ts';
import { concerns, type Grant, parseGrant } from './grants.ts';
import { prefixOf, secretMatches } from './key-secret.ts';
import { isSession, type Principal } from './principal.ts';
import { grantRights, type Rights, scopeRights } from './rights.ts';

const USE_NOTED_EVERY_MS = 60_000;
const MOST_NOTED = 100_000;

/** The key with this secret, whether or not it still works. */
export async function findKey(store: Pick<Readers, 'apiKeys'>, secret: string): Promise<ApiKeyRecord | undefined> {
  const prefix = prefixOf('key', secret);
  if (prefix === undefined) return undefined;
  const { records } = await store.apiKeys.find({ where: { prefix }, limit: 1 });
  const key = records[0];
  return key && secretMatches(secret, key.hash) ? key : undefined;
}

/** The principal of an API key. Undefined where the key opens nothing, or no longer does. */
export async function keyHolder(store: KeyReaders, key: ApiKeyRecord, now: Date): Promise<Principal | undefined> {
  return (await keyProblem(store, key, now)) === undefined ? principalOf(key) : undefined;
}

/** The collections that show whether a key still works. */
export type KeyReaders = Pick<Readers, 'apiKeys' | 'adminUsers'>;

/** Why the key no longer works, or undefined where it does. */
export async function keyProblem(store: KeyReaders, key: ApiKeyRecord, now: Date): Promise<string | undefined> {
  for (let current: ApiKeyRecord | undefined = key; current; ) {
    const problem = await ownProblem(store, current, now);
    if (problem !== undefined) {
      return current === key ? problem : `The key ended with ${current.id}, with which it was made. ${problem}`;
    }
    if (current.endsWith === undefined) return undefined;
    current = await store.apiKeys.get(current.endsWith);
  }
  return 'The key with which the key was made is gone.';
}

async function ownProblem(store: KeyReaders, key: ApiKeyRecord, now: Date): Promise<string | undefined> {
  const { revokedAt, expiresAt, ownerId } = key;
  if (revokedAt !== undefined) return `The key was revoked at ${revokedAt}; make a new one with create_api_key.`;
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime()) return `The key expired at ${expiresAt}.`;
  const owner = await store.adminUsers.get(ownerId);
  return owner?.isActive ? undefined : `The owner of the key, ${ownerId}, is deactivated; see reactivate_admin_user.`;
}

/** The parsed grants of a key. A grant that can no longer be parsed allows nothing. */
export function grantsOf({ grants = [] }: Pick<ApiKeyRecord, 'grants'>): Grant[] {
  return grants.flatMap((text) => {
    const parsed = parseGrant(text);
    return parsed.ok ? [parsed.grant] : [];
  });
}

const principals = new WeakMap<ApiKeyRecord, Principal>();

/** Made once for each state of the key: records never change. */
export function principalOf(key: ApiKeyRecord): Principal {
  let principal = principals.get(key);
  if (!principal) {
    const grants = key.grants && grantsOf(key);
    principal = {
      type: 'api-key',
      id: key.id,
      name: key.name,
      scopes: key.scopes,
      ...(grants && { grants }),
      ownerId: key.ownerId,
      ...(key.expiresAt !== undefined && { expiresAt: key.expiresAt }),
      rights: grants ? keyRights(key.id, grants) : scopeRights(key.scopes),
    };
    principals.set(key, principal);
  }
  return principal;
}

function keyRights(id: string, grants: readonly Grant[]): Rights {
  const onThreads = grants.some(({ resource }) => resource === 'thread' || resource === '*');
  const invokes = grants.some((grant) => concerns(grant, { resource: 'agent', op: 'invoke' }));
  return invokes && !onThreads ? withOwnThreads(id, grants) : grantRights(grants);
}

/** A key that may invoke agents and has no grant for threads may read and continue the threads that it began, and no others. */
function withOwnThreads(id: string, grants: readonly Grant[]): Rights {
  const rightsTo = (...ops: readonly string[]): Rights =>
    grantRights([...grants, ...ops.map((op) => ({ resource: 'thread', op, id: '*' }))], {
      fingerprint: () => `threads of ${id}: ${ops}`,
      limits: (resource) => (resource === 'thread' ? { members: { createdBy: id } } : undefined),
      held: () => undefined,
      inCallOf: (tool) => (tool.continuesThreads ? talking : usual),
    });
  const [usual, talking] = [rightsTo('read'), rightsTo('read', 'write')];
  return usual;
}

/** Writes `lastUsedAt` of keys, sessions and connected apps, at most once a minute, without delaying the call that used them. */
export function createUseNotes(store: Store, onFailure: (cause: unknown) => void) {
  const noted = new Map<string, number>();
  return function noteUse(principal: Principal, now: Date): void {
    const id = isSession(principal) ? principal.sessionId : principal.id;
    const last = noted.get(id);
    if (last !== undefined && now.getTime() - last < USE_NOTED_EVERY_MS) return;
    if (noted.size >= MOST_NOTED) noted.clear();
    noted.set(id, now.getTime());
    const lastUsedAt = now.toISOString();
    store
      .transaction(async (tx) => {
        const used = isSession(principal) ? tx.sessions : principal.type === 'app' ? tx.connectedApps : tx.apiKeys;
        // The session or connection may have ended meanwhile.
        if (await used.get(id)) await used.touch(id, { lastUsedAt });
      })
      .catch(onFailure);
  };
}
