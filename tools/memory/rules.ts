import type { Memory, MemoryRecord } from '../../resources/memory.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { isHiddenByLimit } from '../core/access/reach.ts';
import { isSeen } from '../core/access/visibility.ts';
import { invalidMember } from '../core/errors.ts';
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
export async function findReplaced(
  { store, principal }: Omit<Caller<never>, 'fail'>,
  id: string,
): Promise<MemoryRecord> {
  const found = await store.memories.get(id);
  if (found && isSeen(found, principal) && !isHiddenByLimit(principal, 'memory', 'write', found)) return found;
  throw invalidMember('supersedes', `There is no memory ${id}; see list_memories.`);
}

type Owners = { readonly [Member in 'agentId' | 'threadId' | 'userId']?: string | null | undefined };

const ownerOfScope = { agent: 'agentId', thread: 'threadId', user: 'userId' } as const;

export function requireOwnerOfScope(state: Owners & Pick<Memory, 'scope'>): void {
  const member = state.scope === 'workspace' ? undefined : ownerOfScope[state.scope];
  if (member && !state[member]) throw invalidMember(member, `A memory of scope ${state.scope} needs ${member}.`);
}
