import { z } from 'zod';
import { agentRef, bookkeeping, plainLine, recordId, time } from './fields.ts';
import { refTo } from './markers.ts';
import { accessKeys } from './thread.ts';

export const kindOfMemory = z.enum(['fact', 'preference', 'instruction', 'episode', 'summary']);
export const memoryScope = z.enum(['workspace', 'agent', 'thread', 'user']);

export const memoryFields = {
  content: z.string().trim().min(1).max(20_000).describe('What is remembered, one thing in plain words.'),
  kind: kindOfMemory,
  scope: memoryScope.describe('Who it is for; agent, thread and user need the id.'),
  agentId: agentRef,
  threadId: recordId,
  userId: recordId.describe('`uid` of a product user.'),
  tag: z.string().trim().normalize('NFC').min(1).max(100),
  tags: z.array(z.string().trim().normalize('NFC').min(1).max(100)).max(50),
  importance: z.number().min(0).max(1),
  pinned: z.boolean().describe('Always in the prompt of the agents in its scope.'),
  source: z.string().trim().min(1).max(500).describe('Where it comes from.'),
  expiresAt: time.describe('From then on it is gone.'),
  supersedes: refTo('memory', recordId).describe('Memory that this one replaces.'),
};

export const memoryTags = z.array(plainLine(z.string().trim().normalize('NFC').min(1).max(100))).max(50);

/** Something that agents remember from one conversation to the next. */
export const memory = z.object({
  id: recordId,
  content: memoryFields.content,
  kind: memoryFields.kind,
  scope: memoryFields.scope,
  agentId: memoryFields.agentId.optional(),
  threadId: memoryFields.threadId.optional(),
  userId: memoryFields.userId.optional(),
  tags: memoryFields.tags,
  importance: memoryFields.importance,
  pinned: memoryFields.pinned,
  source: memoryFields.source.optional(),
  expiresAt: memoryFields.expiresAt.optional(),
  supersedes: memoryFields.supersedes.optional(),
  superseded: z.boolean().default(false).describe('Another memory replaced it; lists and searches leave it out.'),
  ...bookkeeping,
});
export type Memory = z.infer<typeof memory>;

/** The stored record. A memory that names a thread is visible to everybody who can see the thread. */
export const memoryRecord = memory.extend({ accessKeys: accessKeys.default([]) });
export type MemoryRecord = z.infer<typeof memoryRecord>;
