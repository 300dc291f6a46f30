import { z } from 'zod';
import { type ThreadRecord, type ThreadStats, threadStats, threadStatus } from '../../resources/thread.ts';
import { pagesOf } from '../../store/pages.ts';
import type { Readers, Where } from '../../store/port.ts';
import { lastDays, type Period } from '../analytics/exports.ts';
import type { Principal } from '../core/access/principal.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { includingHidden, roleIn, threadsSeenBy, visibleTo } from '../core/access/visibility.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { readSettings } from '../settings/settings.ts';

const DAYS = 30;
const MOST_SOURCES = 100;
const BATCH = 1000;

type Stored = Pick<Readers, 'threads' | 'messages' | 'threadSources'>;
type Range = { readonly from?: string; readonly to?: string };
type MessageCount = (range: Range) => Promise<number>;
type ThreadCount = (where: Where<ThreadRecord>) => Promise<number>;

export const getThreadStats = defineTool({
  name: 'get_thread_stats',
  title: 'Get thread stats',
  description:
    'Count the threads you can see, by status and source, and their messages, in all, per day of the last 30 and on average.',
  keywords: 'number of conversations, messages per day, chat volume, average length, statistics',
  access: { scope: 'threads:read', grant: 'thread:read', narrows: true },
  annotations: READS,
  input: z.strictObject({}),
  output: threadStats,
  errors: [],

  async handler(_, { store, principal, server }) {
    const now = server.now();
    const { timezone } = await readSettings(store);
    const seen = threadsSeenBy(store, principal);
    const countThreads: ThreadCount = (where) => seen.count({ where });
    const countMessages = await messageCounter(store, principal);
    const threads = await countThreads({});
    const messages = await countMessages({});
    return {
      asOf: now.toISOString(),
      timezone,
      threads,
      byStatus: {
        active: await countThreads({ status: threadStatus.enum.active }),
        archived: await countThreads({ status: threadStatus.enum.archived }),
      },
      bySource: await bySource(store, countThreads),
      messages,
      messagesPerDay: await perDay(lastDays(now, timezone, DAYS), countMessages),
      averageMessagesPerThread: threads === 0 ? null : messages / threads,
    };
  },
});

/** Counts the messages that the caller may see: of all threads but the hidden ones or, where the caller is limited to some threads, of those. */
async function messageCounter(store: Stored, principal: Principal): Promise<MessageCount> {
  const { threads, messages } = store;
  const only = principal.rights.limitedTo('thread', 'read');
  if (only) {
    const any = whereAllowed<ThreadRecord>(only, 'id');
    const seen: ThreadRecord[] = [];
    for await (const page of pagesOf(threads, { any, limit: BATCH })) {
      seen.push(...page.filter((thread) => roleIn(thread, principal)));
    }
    return (range) => countIn(seen, range, messages);
  }
  if (principal.rights.isAdmin) return (range) => messages.count(range);
  const seen = visibleTo(principal);
  const restricted = { visibility: 'restricted' } as const;
  const [guarded, every] = await Promise.all([
    threads.count({ where: restricted }),
    threads.count({ where: includingHidden }),
  ]);
  // The messages of the fewer threads are counted.
  if (guarded > every / 2) return (range) => messages.count({ ...range, owner: { where: seen } });
  return async (range) => {
    const [every, guarded, shown] = await Promise.all([
      messages.count(range),
      messages.count({ ...range, owner: { where: restricted } }),
      messages.count({ ...range, owner: { where: { ...restricted, ...seen } } }),
    ]);
    return every - guarded + shown;
  };
}

/** The messages of the threads in the range. Threads that cannot have any are not read; without a range their own counts are used. */
async function countIn(
  threads: readonly ThreadRecord[],
  { from, to }: Range,
  messages: Stored['messages'],
): Promise<number> {
  if (from === undefined || to === undefined) return threads.reduce((sum, { messageCount }) => sum + messageCount, 0);
  const within = threads.filter(
    // A fork contains messages older than itself.
    ({ createdAt, lastMessageAt, forkedFrom }) =>
      lastMessageAt !== undefined && lastMessageAt >= from && (createdAt < to || forkedFrom),
  );
  if (within.length === 0) return 0;
  return messages.count({ where: { threadId: within.map(({ id }) => id) }, from, to });
}

async function bySource({ threadSources }: Stored, countThreads: ThreadCount): Promise<ThreadStats['bySource']> {
  const counted: ThreadStats['bySource'] = [];
  for await (const sources of pagesOf(threadSources, { limit: BATCH })) {
    for (const { source } of sources) counted.push({ source, threads: await countThreads({ source }) });
  }
  return counted
    .filter(({ threads }) => threads > 0)
    .sort((a, b) => b.threads - a.threads || a.source.localeCompare(b.source))
    .slice(0, MOST_SOURCES);
}

function perDay(days: readonly Period[], countMessages: MessageCount): Promise<ThreadStats['messagesPerDay']> {
  const iso = (time: number) => new Date(time).toISOString();
  return Promise.all(
    days.map(async ({ from: date, start, end }) => ({
      date,
      messages: await countMessages({ from: iso(start), to: iso(end) }),
    })),
  );
}
