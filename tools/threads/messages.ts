import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { pageOf, paging, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { type Message, message, messageFields, messageRole } from '../../resources/message.ts';
import { type ThreadRecord, threadSummary } from '../../resources/thread.ts';
import type { NewRecord, Position, Readers } from '../../store/port.ts';
import { openThread } from '../core/access/visibility.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';

export const threadId = refTo('thread', recordId).describe('Thread id (`thr_…`), see list_threads.');

export const messageInput = z.strictObject({
  role: messageRole,
  content: messageFields.content.min(1),
});

/** A page of long messages ends early, as a page of versions does. */
const MOST_CHARACTERS = 4_000_000;

export const listMessages = defineTool({
  name: 'list_messages',
  title: 'List messages',
  description:
    'Read the messages of a thread, newest first; order=oldest reads from the beginning. Returns a page with `nextCursor`.',
  keywords:
    'transcript, read what was said, chat log, conversation content, replies, read everything that was said, full conversation',
  access: { scope: 'threads:read', grant: 'thread:read:{id}' },
  annotations: READS,
  input: z.strictObject({
    id: threadId,
    order: z.enum(['newest', 'oldest']).default('newest').describe('Which end to begin at.'),
    ...paging,
    limit: paging.limit.default(50),
  }),
  output: pageOf(message).extend({
    summary: threadSummary.optional().describe('What agents read in place of older messages; on the first page.'),
  }),
  errors: ['not_found'],

  async handler({ id, order, ...input }, context) {
    const { summary } = await openThread(context, id);
    const query = { where: { threadId: id }, order };
    const page = await listPage(context.store.messages, input, query, (record) => record, MOST_CHARACTERS);
    return { ...page, ...(summary && input.cursor === undefined && { summary }) };
  },
});

/** The only function that adds to a thread. It changes the thread's count and the time of its last message in the same transaction. */
export async function appendMessages(
  store: Pick<HistoryWriters, 'messages' | 'threads'>,
  thread: ThreadRecord,
  messages: readonly Omit<NewRecord<Message>, 'threadId'>[],
): Promise<{ readonly thread: ThreadRecord; readonly added: readonly Message[] }> {
  const added = await store.messages.insertAll(messages.map((message) => ({ ...message, threadId: thread.id })));
  const last = added.at(-1);
  if (!last) return { thread, added };
  const counts = { messageCount: thread.messageCount + added.length, lastMessageAt: last.createdAt };
  return { thread: await store.threads.touch(thread.id, counts), added };
}

const BATCH = 1000;

/** Messages of a thread, newest first, from `end` (by default the newest) backwards: all, or as many as given. */
export async function messagesBack(
  store: Pick<Readers, 'messages'>,
  threadId: string,
  most = Number.POSITIVE_INFINITY,
  end?: Message,
): Promise<Message[]> {
  const found: Message[] = end ? [end] : [];
  let after: Position | undefined = end;
  while (found.length < most) {
    const limit = Math.min(BATCH, most - found.length);
    const page = await store.messages.find({ where: { threadId }, limit, after });
    found.push(...page.records);
    if (!page.next) break;
    after = page.next;
    await setImmediate();
  }
  return found;
}

const PAGE = 200;

/** Messages of a thread after this one, newest first; where it is not among so many, the newest of these. */
export async function messagesAfter(
  store: Pick<Readers, 'messages'>,
  threadId: string,
  { id, most }: { readonly id: string | undefined; readonly most: number },
): Promise<Message[]> {
  const found: Message[] = [];
  let after: Position | undefined;
  do {
    const { records, next } = await store.messages.find({ where: { threadId }, limit: PAGE, after });
    const end = id === undefined ? -1 : records.findIndex((message) => message.id === id);
    found.push(...(end === -1 ? records : records.slice(0, end)));
    after = end === -1 ? (next ?? undefined) : undefined;
  } while (after && found.length < most);
  return found;
}

export const messageKind = defineKind({
  type: 'message',
  collection: 'messages',
  list: listMessages,
  names: ['threadId'],
  event: { name: 'thread.message', words: 'A message of a thread' },
});
