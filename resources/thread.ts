import { z } from 'zod';
import { agentRef, bookkeeping, recordId, timestamp } from './fields.ts';
import { timezone } from './locale.ts';
import { orAgentName } from './markers.ts';

export const threadStatus = z.enum(['active', 'archived']);
export const threadVisibility = z
  .enum(['workspace', 'restricted'])
  .describe('restricted: only its access entries and admins can see that the thread exists.');
export const threadRole = z
  .enum(['viewer', 'editor', 'owner'])
  .describe('viewer reads and forks; editor also chats, renames, archives; owner also changes access and deletes.');
export type ThreadRole = z.infer<typeof threadRole>;

export const threadFields = {
  title: z.string().trim().min(1).max(200),
  source: z.string().trim().min(1).max(100).describe('Where the thread comes from, such as api, chat, mcp, flow.'),
  agentIds: z.array(agentRef).max(50),
};

export const accessPrincipal = z.object({
  type: z.enum(['user', 'api-key', 'capsule', 'agent']),
  id: orAgentName(recordId.describe('Of an admin user, API key, capsule or agent; of an agent also the name.'), 'type'),
});
export type AccessPrincipal = z.infer<typeof accessPrincipal>;

const accessEntry = z.object({
  principal: accessPrincipal,
  role: threadRole,
  createdAt: timestamp,
  grantedBy: recordId.describe('Admin user, API key or capsule.'),
});
export type AccessEntry = z.infer<typeof accessEntry>;

/** The largest number of principals that a thread can be shared with. */
export const MOST_ENTRIES = 100;

/** A conversation as answers show it. */
export const thread = z.object({
  id: recordId,
  title: threadFields.title,
  status: threadStatus,
  source: threadFields.source,
  agentIds: threadFields.agentIds.optional(),
  visibility: threadVisibility,
  messageCount: z.int().min(0),
  lastMessageAt: timestamp.optional(),
  forkedFrom: z
    .object({
      threadId: recordId,
      messageId: recordId.optional().describe('The last message that was copied; absent where there was none.'),
      at: timestamp,
      by: recordId,
    })
    .optional(),
  createdBy: recordId.describe('Admin user, API key or capsule.'),
  ...bookkeeping,
});
export type Thread = z.infer<typeof thread>;

/** Keys by which lists and counts find the records that a caller may see. */
export const accessKeys = z.array(z.string());

/** What the model is given in place of the older messages of a thread. */
export const threadSummary = z.object({
  messageId: recordId.describe('The last message that it stands for.'),
  messages: z.int().min(1).describe('How many messages it stands for.'),
  leftOut: z.int().min(0).describe('How many of these are in no text, so that the model knows nothing of them.'),
  text: z.string().optional().describe('By the model of the agent; absent where none could be made.'),
  summarizedTo: recordId.optional().describe('The last message that is in the text.'),
  createdAt: timestamp,
});
export type ThreadSummary = z.infer<typeof threadSummary>;

/** The stored record, with the principals that may see the thread. */
export const threadRecord = thread.extend({
  entries: z.array(accessEntry).max(MOST_ENTRIES),
  accessKeys,
  summary: threadSummary.optional(),
});
export type ThreadRecord = z.infer<typeof threadRecord>;

/** Who may do what with a thread. */
export const threadAccess = z.object({
  visibility: threadVisibility,
  entries: z.array(accessEntry),
  revision: bookkeeping.revision.describe('Of the thread; changes of its access count.'),
});

/** A source that at least one thread has. Each source has one record, which is deleted when the last thread with that source is. */
export const threadSource = z.object({ id: recordId, source: threadFields.source, createdAt: timestamp });

export const threadStats = z.object({
  asOf: timestamp,
  timezone: timezone.describe('The time zone of the workspace, by which days are counted.'),
  threads: z.int().min(0),
  byStatus: z.object({ active: z.int().min(0), archived: z.int().min(0) }),
  bySource: z
    .array(z.object({ source: z.string(), threads: z.int().min(0) }))
    .describe('Most threads first, at most 100 sources.'),
  messages: z.int().min(0),
  messagesPerDay: z
    .array(z.object({ date: z.iso.date(), messages: z.int().min(0) }))
    .describe('The last 30 days in the time zone, today last.'),
  averageMessagesPerThread: z.number().min(0).nullable().describe('messages / threads; null without threads.'),
});
export type ThreadStats = z.infer<typeof threadStats>;
