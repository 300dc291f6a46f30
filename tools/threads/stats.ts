import { z } from 'zod';
import { type ThreadRecord, type ThreadStats, threadStats, threadStatus } from '../../resources/thread.ts';
import type { Position, Readers, Where } from '../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import { type Day, lastDays } from '../days.ts';
import { defineTool, READS } from '../define-tool.ts';
import { readSettings } from '../settings/settings.ts';
import { keysHeldBy, roleIn } from './visibility.ts';

const DAYS = 30;
const MOST_SOURCES = 100;
const BATCH = 1000;

type Stored = Pick<Readers, 'threads' | 'messages' | 'threadSources'>;
type MessageCount = (range: { from?: string; to?: string }) => Promise<number>;
type ThreadCount = (where: Where<ThreadRecord>) => Promise<number>;

export const getThreadStats = defineTool({
  name: 'get_thread_stats',
  title: 'Get thread stats',
  description:
    'Count the threads you can see, by status and source, and their messages, in all, per day of the last 30 and on average.',
  access: { scope: 'threads:read', grant: 'thread:read', narrows: true },
  annotations: READS,
  input: z.strictObject({}),
  output: threadStats,
  errors: [],

  async handler(_, { store, principal, server }) {
    const now = server.now();
    const { timezone } = await readSettings(store);
    const countThreads = threadCounter(store, principal);
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

/** No thread has two keys of one caller, so counts by key add up; each is read from an index. */
function threadCounter({ threads }: Stored, principal: Principal): ThreadCount {
  const only = principal.rights.limitedTo('thread', 'read');
  const any = only && [{ id: only }];
  return async (where) => {
    const counts = keysHeldBy(principal).map((key) => threads.count({ where: { ...where, accessKeys: key }, any }));
    return sum(await Promise.all(counts));
  };
}

/** Of all messages, or of all but those in threads the caller may not see, or of the threads it is limited to. */
async function messageCounter(store: Stored, principal: Principal): Promise<MessageCount> {
  const { messages } = store;
  const countIn = async (ids: readonly string[], range: object) =>
    ids.length === 0 ? 0 : messages.count({ where: { threadId: ids }, ...range });
  const only = principal.rights.limitedTo('thread', 'read');
  if (only) {
    const found = await Promise.all([...new Set(only)].map((id) => store.threads.get(id)));
    const seen = found.flatMap((thread) => (thread && roleIn(thread, principal) ? thread.id : []));
    return (range) => countIn(seen, range);
  }
  const hidden = principal.rights.isAdmin ? [] : await hiddenFrom(principal, store);
  return async (range) => (await messages.count(range)) - (await countIn(hidden, range));
}

/** Restricted threads are few beside all threads. */
async function hiddenFrom(principal: Principal, { threads }: Stored): Promise<readonly string[]> {
  const hidden: string[] = [];
  let after: Position | undefined;
  do {
    const page = await threads.find({ where: { visibility: 'restricted' }, limit: BATCH, after });
    for (const thread of page.records) {
      if (!roleIn(thread, principal) && thread.messageCount > 0) hidden.push(thread.id);
    }
    after = page.next ?? undefined;
  } while (after);
  return hidden;
}

async function bySource({ threadSources }: Stored, countThreads: ThreadCount): Promise<ThreadStats['bySource']> {
  const counted: ThreadStats['bySource'] = [];
  let after: Position | undefined;
  do {
    const page = await threadSources.find({ limit: BATCH, after });
    for (const { source } of page.records) counted.push({ source, threads: await countThreads({ source }) });
    after = page.next ?? undefined;
  } while (after);
  return counted
    .filter(({ threads }) => threads > 0)
    .sort((a, b) => b.threads - a.threads || a.source.localeCompare(b.source))
    .slice(0, MOST_SOURCES);
}

function perDay(days: readonly Day[], countMessages: MessageCount): Promise<ThreadStats['messagesPerDay']> {
  return Promise.all(days.map(async ({ date, from, to }) => ({ date, messages: await countMessages({ from, to }) })));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
