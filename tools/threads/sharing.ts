import { z } from 'zod';
import { expectedRevision } from '../../resources/fields.ts';
import { orAgentName } from '../../resources/markers.ts';
import {
  type AccessEntry,
  type AccessPrincipal,
  accessPrincipal,
  MOST_ENTRIES,
  type ThreadRecord,
  threadAccess,
  threadRole,
  threadVisibility,
} from '../../resources/thread.ts';
import type { Readers } from '../../store/port.ts';
import { accessKeysOf, hasOwner, haveSameAccess, isSame, makerOf, openThread } from '../core/access/visibility.ts';
import { invalidMember } from '../core/errors.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import { DELETES, defineTool, type Fail, READS, UPDATES } from '../core/registry/define-tool.ts';
import { threadId } from './messages.ts';

const principalInput = z.strictObject(accessPrincipal.shape);

const getThreadAccess = defineTool({
  name: 'get_thread_access',
  title: 'Get thread access',
  description: 'Show who may see a thread: its visibility, and its access entries with their roles.',
  keywords:
    'who can read this conversation, participants, members of a chat, sharing of a chat, who can see this chat, conversation permissions, is this chat shared',
  access: { scope: 'threads:read', grant: 'thread:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: threadId }),
  output: threadAccess,
  errors: ['not_found'],

  handler: async ({ id }, context) => openThread(context, id),
});

const addThreadAccess = defineTool({
  name: 'add_thread_access',
  title: 'Add thread access',
  description: 'Share a thread: add access entries, or change the role of existing ones. Returns who has access.',
  keywords:
    'share a conversation, invite a colleague to a chat, let somebody read, add a participant, collaborator, share a chat with somebody, thread sharing, let a colleague see my chat, add people to a conversation',
  access: { scope: 'threads:write', grant: 'thread:share:{id}' },
  threadRole: 'owner',
  annotations: UPDATES,
  input: z.strictObject({
    id: threadId,
    entries: z
      .array(z.strictObject({ principal: principalInput, role: threadRole }))
      .min(1)
      .max(MOST_ENTRIES),
    expectedRevision,
  }),
  output: threadAccess,
  errors: ['not_found', 'conflict'],

  async handler({ id, entries, expectedRevision }, context) {
    const { store, principal, fail, server } = context;
    const current = await openThread(context, id, 'owner');
    await requirePrincipals(store, entries, fail);
    const added = { createdAt: server.now().toISOString(), grantedBy: makerOf(principal).id };
    const merged = entries.reduce((all, entry) => withEntry(all, { ...entry, ...added }), current.entries);
    if (merged.length > MOST_ENTRIES) {
      throw fail('conflict', `A thread has at most ${MOST_ENTRIES} access entries; remove some first.`);
    }
    return changeAccess(store, current, { entries: merged }, { expectedRevision, fail });
  },
});

const updateThreadAccess = defineTool({
  name: 'update_thread_access',
  title: 'Update thread access',
  description: 'Open a thread to the whole workspace or restrict it to its access entries. Returns who has access.',
  keywords:
    'make a conversation public or private, visibility, open a chat to everybody, restrict, everybody in the workspace may read the chat, make a chat private',
  access: { scope: 'threads:write', grant: 'thread:share:{id}' },
  threadRole: 'owner',
  annotations: UPDATES,
  input: z.strictObject({ id: threadId, visibility: threadVisibility, expectedRevision }),
  output: threadAccess,
  errors: ['not_found', 'conflict'],

  async handler({ id, visibility, expectedRevision }, context) {
    const current = await openThread(context, id, 'owner');
    return changeAccess(context.store, current, { visibility }, { expectedRevision, fail: context.fail });
  },
});

const removeThreadAccess = defineTool({
  name: 'remove_thread_access',
  title: 'Remove thread access',
  description:
    'Remove access entries, named by principals, or one by principalType and principalId. One owner must stay. Returns who has access.',
  keywords:
    'unshare, stop sharing a conversation, kick a participant, revoke access to a chat, stop somebody from seeing a chat',
  access: { scope: 'threads:write', grant: 'thread:share:{id}' },
  threadRole: 'owner',
  annotations: DELETES,
  input: z.strictObject({
    id: threadId,
    principals: z.array(principalInput).min(1).max(MOST_ENTRIES).optional(),
    principalType: accessPrincipal.shape.type.optional(),
    principalId: orAgentName(accessPrincipal.shape.id, 'principalType').optional(),
    expectedRevision,
  }),
  output: threadAccess,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision, ...named }, context) {
    const { store, fail } = context;
    const current = await openThread(context, id, 'owner');
    const removed = principalsOf(named);
    const entries = current.entries.filter((entry) => !removed.some((gone) => isSame(gone, entry.principal)));
    return changeAccess(store, current, { entries }, { expectedRevision, fail });
  },
});

export const sharingTools = [getThreadAccess, addThreadAccess, updateThreadAccess, removeThreadAccess];

/** An entry with an unchanged role keeps who granted it and when. */
function withEntry(entries: AccessEntry[], added: AccessEntry): AccessEntry[] {
  const place = entries.findIndex(({ principal }) => isSame(principal, added.principal));
  const before = entries[place];
  if (!before) return [...entries, added];
  return before.role === added.role ? entries : entries.with(place, added);
}

/** The only function that changes who sees a thread. It also changes the keys by which the thread and its records are found. */
async function changeAccess(
  store: Pick<HistoryWriters, 'threads' | 'memories' | 'artifacts' | 'agentRuns'>,
  current: ThreadRecord,
  change: Partial<Pick<ThreadRecord, 'visibility' | 'entries'>>,
  { expectedRevision, fail }: { expectedRevision: number | undefined; fail: Fail<'conflict'> },
): Promise<ThreadRecord> {
  const next = { visibility: current.visibility, entries: current.entries, ...change };
  if (!hasOwner(next.entries)) throw fail('conflict', 'The last owner must stay; make somebody else owner first.');
  const changed = await store.threads.update(
    current.id,
    { ...next, accessKeys: accessKeysOf(next) },
    { expectedRevision },
  );
  if (changed.accessKeys.join() !== current.accessKeys.join()) await haveSameAccess(store, changed);
  return changed;
}

interface NamedPrincipals {
  readonly principals?: readonly AccessPrincipal[] | undefined;
  readonly principalType?: AccessPrincipal['type'] | undefined;
  readonly principalId?: string | undefined;
}

function principalsOf({
  principals,
  principalType: type,
  principalId: id,
}: NamedPrincipals): readonly AccessPrincipal[] {
  if (principals && type === undefined && id === undefined) return principals;
  if (!principals && type !== undefined && id !== undefined) return [{ type, id }];
  throw invalidMember('principals', 'Give either principals, or principalType and principalId.');
}

const LISTS: Readonly<Record<AccessPrincipal['type'], string>> = {
  user: 'list_admin_users',
  'api-key': 'list_api_keys',
  capsule: 'list_capsules',
  agent: 'list_agents',
};

/** Checks that the principals exist: a mistyped id would share the thread with nobody, and no one would notice. */
async function requirePrincipals(
  store: Readers,
  entries: readonly { readonly principal: AccessPrincipal }[],
  fail: Fail<never>,
): Promise<void> {
  const exists = await Promise.all(entries.map(({ principal }) => principalExists(store, principal)));
  const issues = entries.flatMap(({ principal: { type, id } }, index) =>
    exists[index]
      ? []
      : [{ path: `entries[${index}].principal.id`, message: `There is no ${type} ${id}; see ${LISTS[type]}.` }],
  );
  if (issues[0]) throw fail('invalid_input', issues[0].message, { issues });
}

async function principalExists(store: Readers, { type, id }: AccessPrincipal): Promise<boolean> {
  if (type === 'user') return (await store.adminUsers.get(id)) !== undefined;
  if (type === 'api-key') return (await store.apiKeys.get(id)) !== undefined;
  if (type === 'capsule') return (await store.capsules.get(id)) !== undefined;
  return (await store.agents.get(id)) !== undefined;
}
