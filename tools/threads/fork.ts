import { z } from 'zod';
import { plainLine, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import type { Message } from '../../resources/message.ts';
import { thread, threadFields } from '../../resources/thread.ts';
import type { Readers } from '../../store/port.ts';
import { copyFiles, discardUnkept, keepFiles } from '../attachments/thread-files.ts';
import { requireRoom } from '../core/access/storage.ts';
import { makerOf, openThread } from '../core/access/visibility.ts';
import type { Context } from '../core/registry/context.ts';
import { CREATES, defineTool, type Fail } from '../core/registry/define-tool.ts';
import { messagesBack, threadId } from './messages.ts';
import { showThread, startThread } from './threads.ts';

const FORKED = ' (fork)';
const LONGEST_TITLE = 200;
/** Other writers wait while a fork is made: half a second for this many messages or this much text. */
export const MOST_COPIED = 20_000;
export const MOST_CHARACTERS = 20_000_000;
export const MOST_FILES = 1000;
export const MOST_FILE_BYTES = 200 * 1024 * 1024;

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

  async stage(input, context) {
    await openThread(context, input.id);
    return copiesOf(await originalsOf(input, context), context);
  },

  /** Messages never change, so those that were read before are copied. */
  async handler({ id, title }, context, { originals, copies }) {
    const { store, principal, server } = context;
    const source = await openThread(context, id);
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
    await store.messages.insertAll(originals.map((original) => copyOf(original, fork.id, copies)));
    await keepFiles(store, fork.id, [...copies.values()]);
    if (!last) return showThread(fork);
    const counts = { messageCount: originals.length, lastMessageAt: last.createdAt };
    return showThread(await store.threads.touch(fork.id, counts));
  },
});

interface Wanted {
  readonly id: string;
  readonly messageId?: string | undefined;
  readonly latest?: number | undefined;
}

type Copying = Pick<Context<Readers, 'not_found' | 'conflict'>, 'store' | 'server' | 'principal' | 'fail'>;

/** Oldest first. */
async function originalsOf({ id, messageId, latest }: Wanted, { store, fail }: Copying): Promise<Message[]> {
  const end = messageId === undefined ? undefined : await store.messages.get(messageId);
  if (messageId !== undefined && end?.threadId !== id) {
    throw fail('not_found', `The thread has no message ${messageId}; list_messages shows those it has.`);
  }
  const originals = (await messagesBack(store, id, latest ?? MOST_COPIED + 1, end)).toReversed();
  requireCopyable(originals, fail);
  return originals;
}

/** The files of the messages, put again, as those of a fork stay when its thread goes. */
async function copiesOf(originals: readonly Message[], { store, server, principal, fail }: Copying) {
  const attachments = originals.flatMap((message) => message.attachments ?? []);
  const bytes = attachments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (bytes > MOST_FILE_BYTES || attachments.length > MOST_FILES) throw fail('conflict', TOO_MANY_FILES);
  await requireRoom(bytes, { principal, server });
  const copies = await copyFiles(attachments, { store, server });
  const ids = [...copies.values()].map(({ attachment: { id } }) => id);
  return { originals, copies, discard: () => discardUnkept(ids, { store, server }) };
}

const TOO_MANY_FILES = `A fork copies at most ${MOST_FILES.toLocaleString('en')} files of ${MOST_FILE_BYTES / 1024 / 1024} MB; name an earlier messageId, or give \`latest\`.`;

type Copies = Awaited<ReturnType<typeof copyFiles>>;

function copyOf({ id: sourceMessageId, attachments, ...original }: Message, threadId: string, copies: Copies) {
  const files = attachments?.flatMap((each) => copies.get(each.id)?.attachment ?? []);
  return { ...original, ...(files && { attachments: files }), threadId, sourceMessageId };
}

function requireCopyable(originals: readonly Message[], fail: Fail<'conflict'>): void {
  const characters = originals.reduce((sum, { content }) => sum + content.length, 0);
  if (originals.length <= MOST_COPIED && characters <= MOST_CHARACTERS) return;
  const [most, longest] = [MOST_COPIED.toLocaleString('en'), MOST_CHARACTERS.toLocaleString('en')];
  const message = `A fork copies at most ${most} messages of ${longest} characters; name an earlier messageId, or give \`latest\`.`;
  throw fail('conflict', message);
}
