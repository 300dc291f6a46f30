import { z } from 'zod';
import { plainLine, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import type { Message } from '../../resources/message.ts';
import { thread, threadFields } from '../../resources/thread.ts';
import { makerOf, openThread } from '../core/access/visibility.ts';
import { CREATES, defineTool, type Fail } from '../core/registry/define-tool.ts';
import { messagesBack, threadId } from './messages.ts';
import { showThread, startThread } from './threads.ts';

const FORKED = ' (fork)';
const LONGEST_TITLE = 200;
/** Other writers wait while a fork is made: half a second for this many messages or this much text. */
export const MOST_COPIED = 20_000;
export const MOST_CHARACTERS = 20_000_000;

export const forkThread = defineTool({
  name: 'fork_thread',
  title: 'Fork thread',
  description:
    'Copy a thread, up to a message or whole, into a new thread of the same visibility that you own. Returns the new thread.',
  keywords:
    'branch a conversation, duplicate a chat, copy, try another direction from an earlier message, split, continue differently from an earlier message, copy a conversation',
  access: { scope: 'threads:write', grant: ['thread:write', 'thread:read:{id}'] },
  annotations: CREATES,
  input: z.strictObject({
    id: threadId,
    messageId: refTo('message', recordId).optional().describe('The last message to copy; all are copied without it.'),
    title: plainLine(threadFields.title).optional().describe('Default: the title of the thread, followed by "(fork)".'),
    latest: z.int().min(1).max(MOST_COPIED).optional().describe('Copy only this many, the latest before that message.'),
  }),
  output: thread,
  errors: ['not_found', 'conflict'],

  async handler({ id, messageId, title, latest }, context) {
    const { store, principal, fail, server } = context;
    const source = await openThread(context, id);
    const end = messageId === undefined ? undefined : await store.messages.get(messageId);
    if (messageId !== undefined && end?.threadId !== id) {
      throw fail('not_found', `The thread has no message ${messageId}; list_messages shows those it has.`);
    }
    const originals = (await messagesBack(store, id, latest ?? MOST_COPIED + 1, end)).toReversed();
    requireCopyable(originals, fail);
    const last = originals.at(-1);
    const now = server.now();
    const fork = await startThread(
      store,
      principal,
      {
        title: title ?? `${source.title.slice(0, LONGEST_TITLE - FORKED.length)}${FORKED}`,
        source: source.source,
        agentIds: source.agentIds,
        visibility: source.visibility,
        forkedFrom: {
          threadId: id,
          ...(last && { messageId: last.id }),
          at: now.toISOString(),
          by: makerOf(principal).id,
        },
      },
      now,
    );
    // Copies keep the times of the originals, so that the fork reads in the same order.
    await store.messages.insertAll(
      originals.map(({ id: sourceMessageId, ...original }) => ({ ...original, threadId: fork.id, sourceMessageId })),
    );
    if (!last) return showThread(fork);
    const counts = { messageCount: originals.length, lastMessageAt: last.createdAt };
    return showThread(await store.threads.touch(fork.id, counts));
  },
});

function requireCopyable(originals: readonly Message[], fail: Fail<'conflict'>): void {
  const characters = originals.reduce((sum, { content }) => sum + content.length, 0);
  if (originals.length <= MOST_COPIED && characters <= MOST_CHARACTERS) return;
  const [most, longest] = [MOST_COPIED.toLocaleString('en'), MOST_CHARACTERS.toLocaleString('en')];
  const message = `A fork copies at most ${most} messages of ${longest} characters; name an earlier messageId, or give \`latest\`.`;
  throw fail('conflict', message);
}
