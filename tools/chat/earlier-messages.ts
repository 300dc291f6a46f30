import type { Attachment } from '../../resources/attachment.ts';
import type { Message } from '../../resources/message.ts';
import type { ThreadRecord } from '../../resources/thread.ts';
import type { Readers } from '../../store/port.ts';
import type { Earlier } from '../agents/exports.ts';
import { messagesAfter } from '../threads/messages.ts';
import { sameFiles } from './message-files.ts';

/** Of so many messages that are in no summary, the latest are looked at. */
const MOST_READ = 1000;

/** The messages before this one. `isThere`: it is the last one already, sent again after a run that failed, and is not stored twice. */
export async function earlierIn(
  store: Pick<Readers, 'messages'>,
  { id, summary, messageCount: count }: ThreadRecord,
  message: string | undefined,
  attachments: readonly Attachment[],
): Promise<Earlier & { readonly isThere: boolean; readonly last?: Message }> {
  const [last, ...older] = await messagesAfter(store, id, { id: summary?.summarizedTo, most: MOST_READ });
  const isThere = last?.role === 'user' && last.content === message && sameFiles(last.attachments, attachments);
  const before = isThere || !last ? older : [last, ...older];
  const there = isThere ? { isThere, last } : { isThere };
  return { messages: before.toReversed(), count: isThere ? count - 1 : count, summary, ...there };
}
