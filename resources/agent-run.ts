import { z } from 'zod';
import { principalRef } from './audit-entry.ts';
import { errorCode } from './error.ts';
import { bookkeeping, recordId, timestamp } from './fields.ts';

export const tokenUsage = z.object({ inputTokens: z.int().min(0), outputTokens: z.int().min(0) });
export type TokenUsage = z.infer<typeof tokenUsage>;

export const stopReason = z
  .enum(['end', 'max_steps', 'length', 'content_filter'])
  .describe('end: it said what it had to say; max_steps: `maxSteps` turns were used up; length: `maxTokens` were.');
export type StopReason = z.infer<typeof stopReason>;

/** One run of an agent, or of the assistant where no agent was named: which model it used and how it ended, but nothing that was said. */
export const agentRun = z.object({
  id: recordId,
  kind: z.enum(['chat', 'invoke']),
  status: z.enum(['running', 'succeeded', 'failed', 'cancelled']),
  agentId: recordId.optional(),
  threadId: recordId.optional(),
  model: z.string(),
  principal: principalRef.describe('Who asked for it.'),
  steps: z.int().min(0).describe('Turns of the model.'),
  usage: tokenUsage,
  stopReason: stopReason.optional(),
  error: z.object({ code: errorCode, message: z.string() }).optional(),
  finishedAt: timestamp.optional(),
  ...bookkeeping,
});
export type AgentRun = z.infer<typeof agentRun>;
