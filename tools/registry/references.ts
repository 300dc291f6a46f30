import type { Issue } from '../../resources/error.ts';
import { collections } from '../../store/collections.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import { isKeptFrom } from '../access/reach.ts';
import { isSeen, whoeverSees } from '../access/visibility.ts';
import type { Fail } from './errors.ts';

/** Where the record is that a member names. */
const named = {
  projectId: { collection: 'projects', noun: 'project', see: 'list_projects' },
  goalId: { collection: 'goals', noun: 'goal', see: 'list_goals' },
  assigneeAgentId: { collection: 'agents', noun: 'agent', see: 'list_agents' },
  threadId: { collection: 'threads', noun: 'thread', see: 'list_threads' },
  databaseId: { collection: 'databases', noun: 'database', see: 'list_databases' },
} as const;
type Reference = keyof typeof named;
type References = { readonly [Member in Reference]?: string | null | undefined };

interface Caller<Code extends 'conflict'> {
  readonly store: Readers;
  readonly principal: Principal;
  readonly fail: Fail<Code>;
}

/** Every record that the given members name is there for the caller, and no deleted agent. @throws naming all that are not. */
export async function requireReferences(caller: Caller<never>, record: References): Promise<void> {
  const members = Object.keys(named) as Reference[]; // the keys of the table above
  const issues = (await Promise.all(members.map((member) => problemOf(caller, member, record[member])))).flat();
  if (issues[0]) throw caller.fail('invalid_input', issues[0].message, { issues });
}

async function problemOf(
  { store, principal }: Caller<never>,
  member: Reference,
  id: string | null | undefined,
): Promise<Issue[]> {
  if (id === undefined || id === null) return [];
  const { collection, noun, see } = named[member];
  const resource = collection === 'databases' ? 'record' : noun;
  const found = await store[collection].get(id);
  const isSeenBy = found && !('accessKeys' in found && !isSeen(found, principal));
  if (!isSeenBy || isKeptFrom(principal, resource, 'read', found)) {
    return [{ path: member, message: `There is no ${noun} ${id}; see ${see}.` }];
  }
  if (collection !== 'agents' || !('status' in found) || found.status !== 'deleted') return [];
  return [{ path: member, message: `The agent ${id} is deleted; name another, or revive it with update_agent.` }];
}

/** Serves as `prepareRestore`: a state is not brought back while something is gone that it names and the record now does not. */
export async function restoreWithReferences<State extends References>(
  state: State,
  current: State | undefined,
  { store, principal, fail }: Caller<'conflict'>,
): Promise<State> {
  const added = Object.entries(state).filter(([member, id]) => current?.[member as Reference] !== id); // others are undefined
  const refuse: Fail<never> = (_, message) => fail('conflict', message);
  await requireReferences({ store, principal, fail: refuse }, Object.fromEntries(added));
  return state;
}

/** What names others, with the right that it takes to see it. */
const naming = {
  memories: { noun: 'memory', scope: 'memory:read', resource: 'memory' },
  flows: { noun: 'flow', scope: 'flows:read', resource: 'flow' },
  threads: { noun: 'thread', scope: 'threads:read', resource: 'thread' },
  goals: { noun: 'goal', scope: 'goals:read', resource: 'goal' },
  tasks: { noun: 'task', scope: 'tasks:read', resource: 'task' },
  documents: { noun: 'document', scope: 'documents:read', resource: 'document' },
  artifacts: { noun: 'artifact', scope: 'artifacts:read', resource: 'artifact' },
  databaseRecords: { noun: 'record', scope: 'records:read', resource: 'record' },
} as const;
type Naming = keyof typeof naming;

const NAMED_AT_MOST = 5;

/** Nothing in these collections names the record. @throws naming a few that do, as far as the caller may see them. */
export async function requireUnnamed(
  { store, principal, fail }: Caller<'conflict'>,
  where: { readonly [Member in Reference | 'agentIds' | 'agentId' | 'userId']?: string },
  ...among: readonly Naming[]
): Promise<void> {
  const uses: string[] = [];
  for (const collection of among) {
    // Each of these collections has the member of `where`, which the types of all of them together do not tell.
    const guarded = 'accessKeys' in collections[collection].schema.shape;
    const all = { ...where, ...(guarded && whoeverSees) } as never;
    const found = await store[collection].find({ where: all, limit: NAMED_AT_MOST });
    if (found.records.length === 0) continue;
    const { noun, scope, resource } = naming[collection];
    const seen = principal.rights.allows({ scope, needs: [{ resource, op: 'read' }] });
    const shown = seen ? found.records.filter((record) => !('accessKeys' in record) || isSeen(record, principal)) : [];
    uses.push(...shown.map((record) => `${noun} ${titleOf(record)}${record.id}`));
    const rest = shown.length < found.records.length || found.next;
    if (rest) uses.push(`${shown.length > 0 ? 'more' : 'some'} ${noun === 'memory' ? 'memories' : `${noun}s`}`);
  }
  if (uses.length === 0) return;
  const [member = ''] = Object.keys(where);
  throw fail('conflict', `Still the ${member} of ${uses.join(', ')}; change or delete what names it first.`);
}

function titleOf(record: object): string {
  if ('title' in record) return `"${record.title}" `;
  return 'name' in record ? `"${record.name}" ` : '';
}
