import type { Issue } from '../../../resources/error.ts';
import { collections } from '../../../store/collections.ts';
import type { Reader, Readers } from '../../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import { isHiddenByLimit } from '../access/reach.ts';
import { includingHidden, isGuarded, isSeen } from '../access/visibility.ts';
import type { Fail } from '../errors.ts';
import type { RecordKind } from '../kind.ts';
import type { ServerContext } from './context.ts';

interface Caller<Code extends 'conflict'> {
  readonly store: Readers;
  readonly principal: Principal;
  readonly server: Pick<ServerContext, 'kinds'>;
  readonly fail: Fail<Code>;
}

/** Every record that the given members refer to is there for the caller, and no deleted agent. @throws naming all that are not. */
export async function requireReferences(caller: Caller<never>, record: object): Promise<void> {
  const members = Object.entries(record);
  const issues = (await Promise.all(members.map(([member, id]) => problemOf(caller, member, id)))).flat();
  if (issues[0]) throw caller.fail('invalid_input', issues[0].message, { issues });
}

async function problemOf(caller: Caller<never>, member: string, id: unknown): Promise<Issue[]> {
  const kind = referredBy(caller.server.kinds, member);
  if (!kind || typeof id !== 'string') return [];
  const found = await foundBy(caller, kind, id);
  if (!found) return [{ path: member, message: absent(kind, id) }];
  const status: unknown = 'status' in found ? found.status : undefined;
  if (kind.collection !== 'agents' || status !== 'deleted') return [];
  return [{ path: member, message: `The agent ${id} is deleted; name another, or revive it with update_agent.` }];
}

export type ReferenceCaller = Pick<Caller<never>, 'store' | 'principal' | 'server'>;

/** The message that the caller sees no record of this type and id. Undefined if it does, or the type does not exist. */
export async function missingRecord(caller: ReferenceCaller, type: string, id: string): Promise<string | undefined> {
  const kind = caller.server.kinds.find((one) => one.type === type);
  return kind && !(await foundBy(caller, kind, id)) ? absent(kind, id) : undefined;
}

/** The record as far as the caller may know of it. */
async function foundBy(
  { store, principal }: ReferenceCaller,
  { collection, resource }: RecordKind,
  id: string,
): Promise<object | undefined> {
  const found = await store[collection].get(id);
  const isSeenBy = found && !(isGuarded(found) && !isSeen(found, principal));
  return isSeenBy && !isHiddenByLimit(principal, resource, 'read', found) ? found : undefined;
}

function absent({ noun, list }: RecordKind, id: string): string {
  return `There is no ${noun} ${id}${list ? `; see ${list.name}` : ''}.`;
}

function referredBy(kinds: readonly RecordKind[], member: string): RecordKind | undefined {
  const referring = kinds.find(({ refersTo = {} }) => Object.hasOwn(refersTo, member));
  return kinds.find(({ type }) => type === referring?.refersTo?.[member]);
}

/** Serves as `prepareRestore`: refuses a state that refers to something that is gone, unless the record refers to it now too. */
export async function restoreWithReferences<State extends object>(
  state: State,
  current: State | undefined,
  caller: Caller<'conflict'>,
): Promise<State> {
  const kept = new Map(Object.entries(current ?? {}));
  const added = Object.entries(state).filter(([member, id]) => kept.get(member) !== id);
  await requireReferencesToRestore(caller, Object.fromEntries(added));
  return state;
}

/** As `requireReferences`, for members of a state that is to be restored. */
export function requireReferencesToRestore(
  { store, principal, server, fail }: Caller<'conflict'>,
  state: object,
): Promise<void> {
  const refuse: Fail<never> = (_, message) => fail('conflict', message);
  return requireReferences({ store, principal, server, fail: refuse }, state);
}

const NAMED_AT_MOST = 5;

/** No record refers to the record of this type. @throws naming a few that do, as far as the caller may see them. */
export async function requireUnreferenced(caller: Caller<'conflict'>, type: string, id: string): Promise<void> {
  const uses = new Map<string, string[]>();
  for (const kind of caller.server.kinds) {
    for (const [member, referred] of Object.entries(kind.refersTo ?? {})) {
      if (referred !== type) continue;
      const found = await usesBy(caller, kind, { [member]: id });
      if (found.length > 0) uses.set(member, [...(uses.get(member) ?? []), ...found]);
    }
  }
  if (uses.size === 0) return;
  const named = Array.from(uses, ([member, records]) => `the ${member} of ${records.join(', ')}`).join(' and ');
  throw caller.fail('conflict', `Still ${named}; change or delete what names it first.`);
}

/** The records of the kind that have the member, each by type, title and id. Records that the caller may not see are only said to exist. */
async function usesBy(
  { store, principal }: Caller<never>,
  kind: RecordKind,
  member: Readonly<Record<string, string>>,
): Promise<string[]> {
  const { collection, noun, scope, resource } = kind;
  const reader: Pick<Reader<Readonly<Record<string, unknown>>>, 'find'> = store[collection];
  const guarded = 'accessKeys' in collections[collection].schema.shape;
  const found = await reader.find({ where: { ...member, ...(guarded && includingHidden) }, limit: NAMED_AT_MOST });
  if (found.records.length === 0) return [];
  const seen = principal.rights.allows({ scope, needs: [{ resource, op: 'read' }] });
  const shown = seen ? found.records.filter((record) => !isGuarded(record) || isSeen(record, principal)) : [];
  const uses = shown.map((record) => `${noun} ${titleOf(record)}${record.id}`);
  const rest = shown.length < found.records.length || found.next;
  return rest ? [...uses, `${shown.length > 0 ? 'more' : 'some'} ${noun.replace(/y$/, 'ie')}s`] : uses;
}

function titleOf(record: object): string {
  if ('title' in record) return `"${record.title}" `;
  return 'name' in record ? `"${record.name}" ` : '';
}
