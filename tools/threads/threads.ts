import { z } from 'zod';
import type { Door } from '../../resources/audit-entry.ts';
import { agentRef, expectedRevision, pageOf, paging, plainLine, recordId, sortBy } from '../../resources/fields.ts';
import {
  type Thread,
  type ThreadRecord,
  thread,
  threadFields,
  threadStatus,
  threadVisibility,
} from '../../resources/thread.ts';
import type { Readers } from '../../store/port.ts';
import { fileIn, threadFile } from '../attachments/thread-file.ts';
import { removeFiles } from '../attachments/thread-files.ts';
import type { Principal } from '../core/access/principal.ts';
import { isHiddenByLimit } from '../core/access/reach.ts';
import { accessKeysOf, includingHidden, makerOf, openThread, threadsSeenBy } from '../core/access/visibility.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import type { Context } from '../core/registry/context.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';
import { deleteAnswersAbout } from '../core/registry/idempotency.ts';
import { listPage } from '../core/registry/paging.ts';
import { appendMessages, messageInput, messagesBack, threadId } from './messages.ts';

const MOST_FIRST_MESSAGES = 100;
const agentIds = threadFields.agentIds.describe('Agents that take part.');

/** The thread without its access entries, which get_thread_access shows, and without the summary of its messages. */
export function showThread({ entries: _, accessKeys: __, summary: ___, ...shown }: ThreadRecord): Thread {
  return shown;
}

const listThreads = defineTool({
  name: 'list_threads',
  title: 'List threads',
  description: 'List the conversation threads you can see, newest first. Returns a page with `nextCursor`.',
  keywords:
    'conversations, chats, chat history, inbox, recent discussions, sessions with a bot, show recent conversations, my chats',
  access: {
    scope: 'threads:read',
    grant: 'thread:read',
    narrows: true,
    selects: { title: 'title', status: 'status', source: 'source', agentId: 'agentIds' },
  },
  annotations: READS,
  input: z.strictObject({
    title: threadFields.title.optional().describe('Exactly this title, which several threads may have.'),
    status: threadStatus.optional(),
    source: threadFields.source.optional(),
    agentId: agentRef.optional().describe('Only threads this agent takes part in.'),
    ...sortBy('title', 'lastMessageAt'),
    ...paging,
  }),
  output: pageOf(thread),
  errors: [],

  handler({ title, status, source, agentId, ...input }, { store, principal }) {
    const where = { title, status, source, agentIds: agentId };
    return listPage(threadsSeenBy(store, principal), input, { where }, showThread);
  },
});

const createThread = defineTool({
  name: 'create_thread',
  title: 'Create thread',
  description: 'Start a conversation thread, which you own, optionally with its first messages. Returns the thread.',
  keywords: 'new conversation, start a chat, open a discussion',
  access: { scope: 'threads:write', grant: 'thread:write' },
  annotations: CREATES,
  input: z.strictObject({
    title: plainLine(threadFields.title),
    source: plainLine(threadFields.source)
      .optional()
      .describe('Default: `api`, or `mcp`, `flow`, `agent` as made there.'),
    agentIds: agentIds.optional(),
    visibility: threadVisibility.default('workspace'),
    messages: z.array(messageInput).max(MOST_FIRST_MESSAGES).optional().describe('Oldest first, without files.'),
  }),
  output: thread,
  errors: [],

  async handler({ messages, source, ...input }, { store, principal, fail, server, door }) {
    await requireAgents({ store, principal, fail }, input.agentIds, []);
    const given = { ...input, source: source ?? sourceOf(door, 'created') };
    const started = await startThread(store, principal, given, server.now());
    return showThread((await appendMessages(store, started, messages ?? [])).thread);
  },
});

const getThread = defineTool({
  name: 'get_thread',
  title: 'Get thread',
  description: 'Read one thread: title, status, agents, message count. Its messages come from list_messages.',
  keywords: 'open a conversation, chat details, open that conversation, find a chat by id',
  access: { scope: 'threads:read', grant: 'thread:read:{id}' },
  annotations: READS,
  input: z.strictObject({
    id: threadId,
    file: recordId.optional().describe('Adds a link to this attachment.'),
  }),
  output: thread.extend({ file: threadFile.optional() }),
  errors: ['not_found'],

  async handler({ id, file }, context) {
    const found = showThread(await openThread(context, id));
    return file === undefined ? found : { ...found, file: await fileIn(id, file, context) };
  },
});

const updateThread = defineTool({
  name: 'update_thread',
  title: 'Update thread',
  description: 'Rename a thread, change its agents, archive it or make it active again. Returns the thread.',
  keywords:
    'rename a chat, archive a conversation, retitle, add an agent to a conversation, unarchive, archive a chat, change the title of a conversation',
  access: { scope: 'threads:write', grant: 'thread:write:{id}' },
  threadRole: 'editor',
  annotations: UPDATES,
  input: z.strictObject({
    id: threadId,
    title: plainLine(threadFields.title).optional(),
    status: threadStatus.optional(),
    agentIds: agentIds.nullable().optional(),
    expectedRevision,
  }),
  output: thread,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision, agentIds, ...rest }, context) {
    const current = await openThread(context, id, 'editor');
    await requireAgents(context, agentIds, current.agentIds ?? []);
    const change = { ...rest, agentIds: agentIds && [...new Set(agentIds)] };
    return showThread(await context.store.threads.update(id, change, { expectedRevision }));
  },
});

const deleteThread = defineTool({
  name: 'delete_thread',
  title: 'Delete thread',
  description: 'Delete a thread with its messages and access entries, for good. Its forks stay. Owners only.',
  keywords: 'remove a conversation for good, erase a chat',
  access: { scope: 'threads:write', grant: 'thread:delete:{id}' },
  threadRole: 'owner',
  annotations: DELETES,
  input: z.strictObject({ id: threadId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, context) {
    await removeThread(context.store, await openThread(context, id, 'owner'), expectedRevision);
    return {};
  },
});

export async function removeThread(
  store: Pick<HistoryWriters, 'threads' | 'threadSources' | 'messages' | 'documentFiles' | 'idempotency'>,
  { id, source, visibility }: ThreadRecord,
  expectedRevision?: number,
): Promise<void> {
  await store.threads.delete(id, { expectedRevision });
  // Once the thread is deleted, nothing says any more who was allowed to see these answers.
  if (visibility === 'restricted') await deleteAnswersAbout(store, id);
  await clearThread(store, { id, source });
}

/** Whether nothing was said or changed in the thread since then. */
export function isUnused({ updatedAt, lastMessageAt = '' }: ThreadRecord, since: string): boolean {
  return updatedAt < since && lastMessageAt < since;
}

/** Called after a thread was deleted. Deletes what only the thread needed. */
async function clearThread(
  store: Pick<HistoryWriters, 'threads' | 'threadSources' | 'messages' | 'documentFiles'>,
  { id, source }: Pick<ThreadRecord, 'id' | 'source'>,
): Promise<void> {
  await leaveSource(store, source);
  const messages = await messagesBack(store, id);
  await store.messages.deleteAll(messages.map((message) => message.id));
  await removeFiles(store, id);
}

export const threadTools = [listThreads, createThread, getThread, updateThread, deleteThread];

/** Agents that are deleted now may stay, but cannot be added. */
async function requireAgents(
  { store, principal, fail }: Pick<Context<Pick<Readers, 'agents'>, never>, 'store' | 'principal' | 'fail'>,
  agentIds: readonly string[] | null | undefined,
  known: readonly string[],
): Promise<void> {
  const found = await Promise.all((agentIds ?? []).map((id) => store.agents.get(id)));
  const issues = found.flatMap((agent, index) => {
    const id = agentIds?.[index] ?? '';
    const isThere = agent && agent.status !== 'deleted' && !isHiddenByLimit(principal, 'agent', 'read', agent);
    if (isThere || known.includes(id)) return [];
    return [{ path: `agentIds[${index}]`, message: `There is no agent ${id}; see list_agents.` }];
  });
  if (issues[0]) throw fail('invalid_input', issues[0].message, { issues });
}

export const threadKind = defineKind({
  type: 'thread',
  collection: 'threads',
  list: listThreads,
  get: getThread,
  update: updateThread,
  refersTo: { agentIds: 'agent' },

  async purge(id, context) {
    const { source } = await openThread(context, id, 'owner');
    const purged = await context.store.purge('threads', id);
    await clearThread(context.store, { id, source });
    return purged;
  },
});

type ThreadInput = Pick<Thread, 'title' | 'source' | 'agentIds' | 'visibility' | 'forkedFrom'>;

/** A new thread without messages. Its owner is its maker. */
export async function startThread(
  store: Pick<HistoryWriters, 'threads' | 'threadSources'>,
  principal: Principal,
  { agentIds, ...given }: ThreadInput,
  now: Date,
): Promise<ThreadRecord> {
  await enterSource(store, given.source);
  const maker = makerOf(principal);
  const entries = [{ principal: maker, role: 'owner' as const, createdAt: now.toISOString(), grantedBy: maker.id }];
  return store.threads.insert({
    ...given,
    ...(agentIds && { agentIds: [...new Set(agentIds)] }),
    status: 'active',
    messageCount: 0,
    createdBy: maker.id,
    entries,
    accessKeys: accessKeysOf({ visibility: given.visibility, entries }),
  });
}

/** The source of a new thread, by its door, where its maker gives none. */
export function sourceOf(door: Door, how: 'created' | 'chat'): string {
  if (door === 'agent' || door === 'flow') return door;
  if (door === 'rest' || door === 'dashboard' || door === 'openai') return how === 'chat' ? 'chat' : 'api';
  return 'mcp';
}

/** Stores that a thread has the source, so that stats can count by source without reading every thread. */
async function enterSource(store: Pick<HistoryWriters, 'threadSources'>, source: string): Promise<void> {
  if (!(await store.threadSources.first({ where: { source } }))) await store.threadSources.insert({ source });
}

/** Called after a thread was deleted. Deletes its source when no other thread has it. */
async function leaveSource(store: Pick<HistoryWriters, 'threads' | 'threadSources'>, source: string): Promise<void> {
  if (await store.threads.first({ where: { ...includingHidden, source } })) return;
  const kept = await store.threadSources.first({ where: { source } });
  if (kept) await store.threadSources.delete(kept.id);
}
