import type { AccessEntry, AccessPrincipal, ThreadRecord, ThreadRole } from '../../resources/thread.ts';
import type { Reader, Readers, Where } from '../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import type { Fail } from '../define-tool.ts';
import { onlyThese } from '../paging.ts';

/**
 * Who may see a thread, in one place: `accessKeys` is what lists, counts and search filter by, `roleIn` judges a single thread.
 * Both start from nothing and add, so what is not provided for is not seen.
 */
const ADMINS = 'admin';
const WORKSPACE = 'workspace';
const RANK: Readonly<Record<ThreadRole, number>> = { viewer: 1, editor: 2, owner: 3 };

type Shared = Pick<ThreadRecord, 'visibility' | 'entries'>;

/** The keys to store with a thread of this access. An agent's entry opens nothing: it never widens the caller it runs for. */
export function accessKeysOf({ visibility, entries }: Shared): string[] {
  if (visibility === 'workspace') return [ADMINS, WORKSPACE];
  const people = entries.filter(({ principal }) => principal.type !== 'agent');
  return [ADMINS, ...people.map(({ principal }) => keyOf(principal))];
}

/** The keys a caller holds; no thread has two of them. */
function keysHeldBy(principal: Principal): readonly string[] {
  if (principal.rights.isAdmin) return [ADMINS];
  const own = entryPrincipalOf(principal);
  return own ? [WORKSPACE, keyOf(own)] : [WORKSPACE];
}

/** The filter for all threads, for what is kept about them whoever may see them. */
export const everyThread: Where<ThreadRecord> = { accessKeys: ADMINS };

/** The filter for the threads a caller may see. */
export function visibleTo(principal: Principal): Where<ThreadRecord> {
  return { accessKeys: keysHeldBy(principal) };
}

/** The threads a caller may see, narrowed by its grants too, as lists and counts read them. */
export function threadsSeenBy(
  { threads }: Pick<Readers, 'threads'>,
  principal: Principal,
): Pick<Reader<ThreadRecord>, 'find' | 'count'> {
  const any = onlyThese<ThreadRecord>(principal.rights.limitedTo('thread', 'read'), 'id');
  return {
    find: (query) => threads.find({ ...query, where: { ...query.where, ...visibleTo(principal) }, any }),
    /** By one key at a time, which an index counts; the sum is right because no thread has two keys of one caller. */
    async count(query) {
      const counts = keysHeldBy(principal).map((accessKeys) =>
        threads.count({ ...query, where: { ...query.where, accessKeys }, any }),
      );
      return (await Promise.all(counts)).reduce((total, count) => total + count, 0);
    },
  };
}

/** What the caller is in the thread; undefined where it may not know of it. */
export function roleIn({ visibility, entries }: Shared, principal: Principal): ThreadRole | undefined {
  if (principal.rights.isAdmin) return 'owner';
  const own = entryPrincipalOf(principal);
  const entry = own && entries.find((candidate) => isSame(candidate.principal, own));
  return entry?.role ?? (visibility === 'workspace' ? 'editor' : undefined);
}

/** The name of a caller in access entries. Agents and flows act for somebody else and have none of their own. */
export function entryPrincipalOf(principal: Principal): AccessPrincipal | undefined {
  if (principal.type === 'session') return { type: 'user', id: principal.ownerId };
  if (principal.type === 'api-key' || principal.type === 'capsule') return { type: principal.type, id: principal.id };
  return undefined;
}

/** Who owns what the caller makes. */
export function makerOf(principal: Principal): AccessPrincipal {
  return entryPrincipalOf(principal) ?? { type: 'user', id: principal.ownerId };
}

/**
 * The thread, for a caller in at least the role.
 * @throws not_found where the caller may not see it, as if it did not exist; forbidden where it may see but not do more.
 */
export async function openThread(
  { store, principal, fail }: { store: Pick<Readers, 'threads'>; principal: Principal; fail: Fail<'not_found'> },
  id: string,
  needed: ThreadRole = 'viewer',
): Promise<ThreadRecord> {
  const found = await store.threads.get(id);
  const role = found && roleIn(found, principal);
  if (!found || !role) throw fail('not_found', `There is no thread ${id}; list_threads shows the ones you can see.`);
  if (RANK[role] >= RANK[needed]) return found;
  throw fail('forbidden', 'Insufficient permissions', {
    required: { role: needed },
    issues: [
      { path: 'id', message: `You are ${role} of this thread and this takes ${needed}; its owners can share it.` },
    ],
  });
}

export function isSame(a: AccessPrincipal, b: AccessPrincipal): boolean {
  return a.type === b.type && a.id === b.id;
}

export function hasOwner(entries: readonly AccessEntry[]): boolean {
  return entries.some(({ role }) => role === 'owner');
}

function keyOf({ type, id }: AccessPrincipal): string {
  return `${type}:${id}`;
}
