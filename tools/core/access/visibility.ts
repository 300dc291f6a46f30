import { setImmediate } from 'node:timers/promises';
import type { AccessEntry, AccessPrincipal, ThreadRecord, ThreadRole } from '../../../resources/thread.ts';
import { type CollectionName, collections } from '../../../store/collections.ts';
import { pagesOf } from '../../../store/pages.ts';
import type { Reader, Readers, Where } from '../../../store/port.ts';
import { type Fail, forbidden, type ToolError } from '../errors.ts';
import type { HistoryWriters } from '../history-writers.ts';
import type { VersionedKind } from '../kind.ts';
import type { Principal } from './principal.ts';
import { whereAllowed } from './record-limit.ts';

/**
 * Who may see a thread and the records that name it, decided in one place: lists, counts and search filter by `accessKeys`, `roleIn` judges
 * one thread, and `isSeen` one record. Each begins with no access and adds to it, so a case that was forgotten is hidden.
 */
const ADMINS = 'admin';
const WORKSPACE = 'workspace';
const RANK: Readonly<Record<ThreadRole, number>> = { viewer: 1, editor: 2, owner: 3 };

type Shared = Pick<ThreadRecord, 'visibility' | 'entries'>;
/** A thread, or a record that is visible to everybody who sees the thread that it names. */
type Restricted = Pick<ThreadRecord, 'accessKeys'>;
type Naming = { readonly threadId?: string | null | undefined };

/** The keys to store with a thread. An entry for an agent adds none: an agent never sees more than the caller that it runs for. */
export function accessKeysOf({ visibility, entries }: Shared): string[] {
  if (visibility === 'workspace') return [ADMINS, WORKSPACE];
  const people = entries.filter(({ principal }) => principal.type !== 'agent');
  return [ADMINS, ...people.map(({ principal }) => keyOf(principal))];
}

/** The keys to store with a record that its maker alone may see. */
export function ownAccessKeys(principal: Principal): string[] {
  return [ADMINS, makerKeyOf(principal)];
}

/** The key of the principal behind a caller, see `makerOf`. */
export function makerKeyOf(principal: Principal): string {
  return keyOf(makerOf(principal));
}

/** The keys of a caller. No thread has two of them. */
function keysHeldBy(principal: Principal): readonly string[] {
  if (principal.rights.isAdmin) return [ADMINS];
  const own = entryPrincipalOf(principal);
  return own ? [WORKSPACE, keyOf(own)] : [WORKSPACE];
}

/** The filter for all records, also those that only admins may see. */
export const includingHidden = { accessKeys: ADMINS } as const;

/** The filter for what a caller may see. */
export function visibleTo(principal: Principal): { readonly accessKeys: readonly string[] } {
  return { accessKeys: keysHeldBy(principal) };
}

/** Whether some callers may not see the record. */
export function isGuarded(record: object): record is Restricted {
  return 'accessKeys' in record;
}

export function isSeen({ accessKeys }: Restricted, principal: Principal): boolean {
  return keysHeldBy(principal).some((key) => accessKeys.includes(key));
}

/** Reads the records that a caller may see. */
export function seenBy<Kept extends Restricted>(
  records: Reader<Kept>,
  principal: Principal,
): Pick<Reader<Kept>, 'find' | 'count'> {
  // TypeScript does not know that guarded records have `accessKeys`.
  const keyed = (where: Where<Kept> | undefined, keys: object) => ({ ...where, ...keys }) as Where<Kept>;
  return {
    find: (query) => records.find({ ...query, where: keyed(query.where, visibleTo(principal)) }),
    /** Counts by one key at a time, because an index can do that. The sum is right because no record has two keys of one caller. */
    async count(query) {
      const counts = keysHeldBy(principal).map((accessKeys) =>
        records.count({ ...query, where: keyed(query.where, { accessKeys }) }),
      );
      return (await Promise.all(counts)).reduce((total, count) => total + count, 0);
    },
  };
}

/** Reads the threads that a caller may see, and that its grants allow. */
export function threadsSeenBy({ threads }: Pick<Readers, 'threads'>, principal: Principal) {
  const any = whereAllowed<ThreadRecord>(principal.rights.limitedTo('thread', 'read'), 'id');
  const seen = seenBy(threads, principal);
  return {
    find: (query) => seen.find({ ...query, any }),
    count: (query) => seen.count({ ...query, any }),
  } satisfies Pick<Reader<ThreadRecord>, 'find' | 'count'>;
}

/** The keys to store with a record that names the thread, or none. If the thread is deleted, the record keeps its keys. */
export async function accessKeysWith(
  { threads }: Pick<Readers, 'threads'>,
  { threadId }: Naming,
  before?: Restricted & Naming,
): Promise<string[]> {
  if (before && (before.threadId ?? null) === (threadId ?? null)) return before.accessKeys;
  if (typeof threadId !== 'string') return [ADMINS, WORKSPACE];
  return (await threads.get(threadId))?.accessKeys ?? [ADMINS];
}

const FOLLOWING = ['memories', 'artifacts', 'agentRuns'] as const;
const BATCH = 500;

/** After the access of a thread changed: gives the records that name it the same keys. */
export async function haveSameAccess(
  store: Pick<HistoryWriters, (typeof FOLLOWING)[number]>,
  { id, accessKeys }: Pick<ThreadRecord, 'id' | 'accessKeys'>,
): Promise<void> {
  for (const collection of FOLLOWING) {
    const reader: Pick<Reader<Restricted & Naming & { readonly id: string }>, 'find'> = store[collection];
    for await (const records of pagesOf(reader, { where: { threadId: id, ...includingHidden }, limit: BATCH })) {
      for (const record of records) await store[collection].touch(record.id, { accessKeys });
      await setImmediate(); // lets other calls run
    }
  }
}

/** Collections of records that some callers may not see, by the prefix of their ids. */
const guarded = new Map(
  Object.entries(collections).flatMap(
    ([name, { schema, idPrefix }]) =>
      'accessKeys' in schema.shape ? [[idPrefix as string, name as CollectionName] as const] : [], // the collection's own key
  ),
);

const LONGEST_ID = 40;

/** The ids of records that some callers may not see, wherever they are in the value. Ids of runs do not tell agents' from flows'. */
export function guardedIdsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.length <= LONGEST_ID && isOfGuarded(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(guardedIdsIn) : [];
}

function isOfGuarded(id: string): boolean {
  const prefix = /^([a-z]+)_[0-9a-z]{26}$/.exec(id)?.[1] ?? '';
  return guarded.has(prefix) && !isShared(prefix);
}

function isShared(prefix: string): boolean {
  return Object.values(collections).filter(({ idPrefix }) => idPrefix === prefix).length > 1;
}

/** The records with these ids that exist and that some callers may not see. */
export async function guardedAmong(
  store: Readers,
  ids: readonly string[],
): Promise<(Restricted & { readonly id: string })[]> {
  const found = await Promise.all(
    [...new Set(ids)].map((id) => {
      const collection = guarded.get(id.slice(0, id.indexOf('_')));
      return collection && store[collection].get(id);
    }),
  );
  return found.flatMap((record) => (record && 'accessKeys' in record ? record : []));
}

/** Whether the caller may know about the record and its history. For a deleted record, the thread that its last state named decides. */
export async function mayKnowOf(
  { store, principal }: { readonly store: Readers; readonly principal: Principal },
  { type, collection }: Pick<VersionedKind, 'type' | 'collection'>,
  id: string,
): Promise<boolean> {
  const record = await store[collection].get(id);
  if (record) return !('accessKeys' in record) || isSeen(record, principal);
  const latest = await store.versions.first({ where: { entityType: type, entityId: id } });
  const threadId = latest?.payload.threadId;
  return typeof threadId !== 'string' || isThreadSeen(store, threadId, principal);
}

/** Whether the caller sees the thread. A deleted thread is visible to admins only, because nobody knows any more who saw it. */
export async function isThreadSeen(
  { threads }: Pick<Readers, 'threads'>,
  id: string,
  principal: Principal,
): Promise<boolean> {
  return isSeen((await threads.get(id)) ?? { accessKeys: [ADMINS] }, principal);
}

export function roleIn({ visibility, entries }: Shared, principal: Principal): ThreadRole | undefined {
  if (principal.rights.isAdmin) return 'owner';
  const own = entryPrincipalOf(principal);
  const entry = own && entries.find((candidate) => isSame(candidate.principal, own));
  return entry?.role ?? (visibility === 'workspace' ? 'editor' : undefined);
}

export function hasRole(thread: Shared, principal: Principal, needed: ThreadRole): boolean {
  const role = roleIn(thread, principal);
  return role !== undefined && RANK[role] >= RANK[needed];
}

/** Who gets or changes a credential of another principal needs at least its role in each restricted thread. @throws ToolError (forbidden) */
export async function requireEntriesWithin(
  { store, principal }: { readonly store: Pick<Readers, 'threads'>; readonly principal: Principal },
  other: AccessPrincipal,
  { batch = BATCH }: { readonly batch?: number } = {},
): Promise<void> {
  if (principal.rights.isAdmin) return;
  for await (const threads of pagesOf(store.threads, { where: { accessKeys: keyOf(other) }, limit: batch })) {
    if (threads.some((thread) => entriesBeyond(thread, principal, other))) throw beyondEntries(other);
    await setImmediate();
  }
}

function entriesBeyond(thread: Shared, principal: Principal, other: AccessPrincipal): boolean {
  const role = roleIn(thread, principal);
  const entry = thread.entries.find((candidate) => isSame(candidate.principal, other));
  return entry !== undefined && (!role || RANK[role] < RANK[entry.role]);
}

/** The message does not name the threads. */
function beyondEntries({ type, id }: AccessPrincipal): ToolError {
  const reason = `The ${type} ${id} has access to restricted threads in which you have less or none; somebody with full access can do this, or owners of these threads take it out of their access entries.`;
  return forbidden(reason);
}

/** The name of a caller in access entries. Agents, flows and apps have the name of the principal that they act for. */
function entryPrincipalOf(principal: Principal): AccessPrincipal | undefined {
  if (principal.type === 'capsule' && principal.actsFor) {
    // An app of a person with a capsule sees what both see; with full access, what the capsule sees.
    return principal.actsFor.rights.isAdmin ? { type: 'capsule', id: principal.id } : undefined;
  }
  if (principal.actsFor) return entryPrincipalOf(principal.actsFor);
  if (principal.type === 'session') return { type: 'user', id: principal.ownerId };
  if (principal.type === 'api-key' || principal.type === 'capsule') return { type: principal.type, id: principal.id };
  return undefined;
}

/** The owner of what the caller makes. */
export function makerOf(principal: Principal): AccessPrincipal {
  return entryPrincipalOf(principal) ?? { type: 'user', id: principal.ownerId };
}

/** The thread, for a caller with at least this role. @throws not_found if the caller may not see it, forbidden if its role is lower */
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
      { path: 'id', message: `You are ${role} of this thread and this requires ${needed}; its owners can share it.` },
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
