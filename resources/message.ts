import { z } from 'zod';
import { tokenUsage } from './agent-run.ts';
import { attachment } from './attachment.ts';
import { recordId, timestamp } from './fields.ts';

export const messageRole = z.enum(['user', 'assistant', 'system', 'tool']);

export const messageFields = {
  content: z.string().max(1_000_000),
};

export const toolCall = z.object({
  id: z.string().min(1).max(200),
  tool: z.string().min(1).max(200),
  arguments: z.record(z.string(), z.unknown()),
});

/** A passage of a document that an answer names as `[number]`. */
export const citation = z.object({
  number: z.int().min(1),
  documentId: recordId,
  revision: z.int().min(1),
  offset: z.int().min(0).describe('Where the passage begins, for get_document.'),
});
export type Citation = z.infer<typeof citation>;

/** One message of a conversation. It never changes after it is written, and it is deleted with its thread. */
export const message = z.object({
  id: recordId,
  threadId: recordId,
  role: messageRole,
  content: messageFields.content,
  agentId: recordId.optional().describe('The agent that wrote it.'),
  toolCalls: z.array(toolCall).optional(),
  toolCallId: z.string().optional().describe('Of role tool: the call it is the result of.'),
  failed: z.boolean().optional().describe('Of role tool: the call failed.'),
  attachments: z.array(attachment).optional(),
  citations: z.array(citation).optional(),
  runId: recordId.optional().describe('The run that wrote it.'),
  usage: tokenUsage.optional(),
  sourceMessageId: recordId.optional().describe('In a fork: the message this is a copy of.'),
  createdAt: timestamp.describe('A copy in a fork keeps the time of its original.'),
});
export type Message = z.infer<typeof message>;
