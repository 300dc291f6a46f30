import { instant } from '../../resources/fields.ts';
import type { Memory, MemoryRecord } from '../../resources/memory.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { isHiddenByLimit } from '../core/access/reach.ts';
import { isSeen } from '../core/access/visibility.ts';
import type { Fail } from '../core/registry/define-tool.ts';

interface Caller<Code extends 'not_found'> {
  readonly store: Pick<Readers, 'memories'>;
  readonly principal: Principal;
  readonly fail: Fail<Code>;
}

export async function findMemory({ store, principal, fail }: Caller<'not_found'>, id: string): Promise<MemoryRecord> {
  const found = await store.memories.get(id);
  if (found && isSeen(found, principal)) return found;
  throw fail('not_found', `There is no memory ${id}; list_memories shows the ones you can see.`);
}

/** @throws if the caller sees no such memory, or it cannot be superseded. */
export async function findReplaced({ store, principal, fail }: Caller<never>, id: string): Promise<MemoryRecord> {
  const found = await store.memories.get(id);
  if (found && isSeen(found, principal) && !isHiddenByLimit(principal, 'memory', 'write', found)) return found;
  throw invalid(fail, 'supersedes', `There is no memory ${id}; see list_memories.`);
}

type Owners = { readonly [Member in 'agentId' | 'threadId' | 'userId']?: string | null | undefined };

const ownerOfScope = { agent: 'agentId', thread: 'threadId', user: 'userId' } as const;

export function requireOwnerOfScope(state: Owners & Pick<Memory, 'scope'>, fail: Fail<never>): void {
  const member = state.scope === 'workspace' ? undefined : ownerOfScope[state.scope];
  if (member && !state[member]) throw invalid(fail, member, `A memory of scope ${state.scope} needs ${member}.`);
}

export function future(expiresAt: string, now: Date, fail: Fail<never>): string {
  if (Date.parse(expiresAt) > now.getTime()) return instant(expiresAt);
  throw invalid(fail, 'expiresAt', 'expiresAt is in the past; give a later time or leave it out.');
}

function invalid(fail: Fail<never>, path: string, message: string) {
  return fail('invalid_input', message, { issues: [{ path, message }] });
}

type DefinedMembers<Members> = { [M in keyof Members]?: Exclude<Members[M], undefined> };

export function given<Members extends object>(members: Members): DefinedMembers<Members> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as DefinedMembers<Members>; // only members that are undefined are left out
}
