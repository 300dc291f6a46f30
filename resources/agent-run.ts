import { z } from 'zod';
import { door, principalRef } from './audit-entry.ts';
import { errorCode } from './error.ts';
import { bookkeeping, recordId, timestamp } from './fields.ts';
import { accessKeys, threadSummary } from './thread.ts';

const tokens = z.int().min(0);

export const tokenUsage = z.object({
  inputTokens: tokens.describe('Cached or not.'),
  outputTokens: tokens.describe('With reasoning.'),
  cachedInputTokens: tokens.optional().describe('Of the input, read from a cache.'),
  cacheWriteTokens: tokens.optional().describe('Of the input, written to it.'),
  reasoningTokens: tokens.optional().describe('Of the output.'),
});
export type TokenUsage = z.infer<typeof tokenUsage>;

export const stopReason = z
  .enum(['end', 'max_steps', 'length', 'content_filter', 'approval'])
  .describe(
    'end: the model finished; max_steps: the limit `maxSteps` was reached; length: the limit `maxTokens` was; approval: a call waits for a person, and the run goes on by itself when that one has decided.',
  );
export type StopReason = z.infer<typeof stopReason>;

export const agentRunStatus = z.enum(['running', 'waiting', 'succeeded', 'failed', 'cancelled']);

/** A record in the state that was read, see get_version where the kind has versions. */
const recordRevision = z.object({ id: recordId, revision: z.int().min(1) });
export type RecordRevision = z.infer<typeof recordRevision>;

/** A passage of a document in the prompt. */
const givenPassage = recordRevision.extend({
  number: z.int().min(1).describe('By which the answer cites it.'),
  path: z.string().describe('The headings above it.'),
  offset: z.int().min(0).describe('Where it begins, see get_document.'),
});
export type GivenPassage = z.infer<typeof givenPassage>;

const givenFile = z.object({
  id: recordId.describe('Of an attachment of a message; gone where the run had no thread.'),
  mediaType: z.string(),
  sha256: z.string(),
  as: z.enum(['file', 'text', 'left out']),
});

const milliseconds = z.number().min(0);

export const agentTurn = z.object({
  model: z.string(),
  at: timestamp.optional().describe('When it began.'),
  usage: tokenUsage,
  ms: milliseconds.describe('How long the model took.'),
  summarizes: z.boolean().optional().describe('It made the summary of older messages.'),
  calls: z.int().min(0).describe('Calls that the model made in this turn.'),
  cutOff: z.boolean().optional().describe('It broke off, so the model was asked again. Its usage is an estimate.'),
});
export type AgentTurn = z.infer<typeof agentTurn>;

const fallbackReason = z.enum(['overloaded', 'timeout', 'failed', 'unreachable']);
export type FallbackReason = z.infer<typeof fallbackReason>;

export const modelFallback = z.object({
  model: z.string().describe('That did not answer.'),
  reason: fallbackReason,
  turn: z.int().min(1).describe('Index in `turns` of the turn that another model took, from 1.'),
});
export type ModelFallback = z.infer<typeof modelFallback>;

const agentRunCall = z.object({
  turn: z.int().min(1).describe('Index in `turns`, from 1.'),
  tool: z.string(),
  toolCallId: z.string().optional().describe('As messages name it.'),
  auditId: recordId.optional().describe('Its audit entry. Absent for a call that was not run.'),
  outcome: z.enum(['ok', 'failed']),
  code: errorCode.optional(),
  at: timestamp.optional(),
  ms: milliseconds,
  records: z.array(recordRevision).describe('Records in its answer, each in the state that the model saw.'),
  runId: recordId.optional().describe('The run that the call began.'),
});
export type AgentRunCall = z.infer<typeof agentRunCall>;

const waitingCall = z.object({
  approvalId: recordId.describe('See get_approval.'),
  toolCallId: z.string(),
  tool: z.string(),
});

/** The run that the call began, and that waits itself. The same call under its key goes on with it. */
const innerRun = z.object({
  runId: recordId,
  key: z.string().describe('Idempotency key.'),
  sealed: z.string().describe('The arguments.'),
  approvalId: recordId.optional().describe('Under which the call is made, where it had to ask itself.'),
});
const waitingCallRecord = waitingCall.extend({ inner: innerRun.optional() });
export type WaitingCall = z.infer<typeof waitingCallRecord>;

/** One run of an agent, or of the assistant where no agent was named: which model it used and how it ended, but nothing that was said. */
export const agentRun = z.object({
  id: recordId,
  kind: z.enum(['chat', 'invoke']),
  status: agentRunStatus,
  agentId: recordId.optional().describe('Absent for the assistant, which is not an agent.'),
  agentRevision: z.int().min(1).optional(),
  threadId: recordId.optional(),
  continues: recordId.optional().describe('The run that was cut off or failed, and whose work it finishes.'),
  model: z.string(),
  principal: principalRef.describe('Who asked for it.'),
  onBehalfOf: z.array(principalRef).optional().describe('On whose behalf, nearest first.'),
  door: door.optional(),
  requestId: z.string().optional().describe('Its calls in the audit log, see list_audit_entries.'),
  capsuleId: recordId.optional(),
  appId: recordId.optional(),
  flowRunId: recordId.optional().describe('The run of a flow that asked for it.'),
  steps: z.int().min(0).describe('Turns of the model.'),
  usage: tokenUsage,
  stopReason: stopReason.optional(),
  waitsFor: z.array(waitingCall).optional().describe('Calls of it that wait for a person.'),
  error: z.object({ code: errorCode, message: z.string() }).optional(),
  finishedAt: timestamp.optional(),
  ...bookkeeping,
});

/** A run with all that it was given and did. */
export const wholeAgentRun = agentRun.extend({
  prompt: recordRevision.optional().describe('The bot config, versions of `agent-config`.'),
  skills: z.array(recordRevision).optional().describe('Whose text was in the prompt.'),
  memories: z.array(recordRevision).optional().describe('That were in the prompt.'),
  passages: z.array(givenPassage).optional().describe('Of documents, that were in the prompt.'),
  summary: threadSummary
    .pick({ messageId: true, messages: true, leftOut: true })
    .partial({ messageId: true })
    .optional()
    .describe('That stood in the prompt for older messages of the thread; list_messages shows the latest.'),
  attachments: z
    .array(givenFile)
    .optional()
    .describe('Files of the message and of earlier ones, as they were in the prompt.'),
  turns: z.array(agentTurn).optional(),
  calls: z.array(agentRunCall).optional(),
  fallbacks: z.array(modelFallback).optional().describe('Models that did not answer, in place of which others did.'),
});
export type AgentRun = z.infer<typeof wholeAgentRun>;

export const agentRunRecord = wholeAgentRun.extend({
  waitsFor: z.array(waitingCallRecord).optional(),
  accessKeys: accessKeys.default([]),
  askers: z.array(z.string()).optional().describe('Ids of the asker and of all it acted for.'),
  worker: z.string().optional().describe('The process that runs it, where there can be several.'),
  resumesAs: principalRef
    .extend({ endsWith: recordId.optional() })
    .optional()
    .describe('As whom it goes on when it waited.'),
  chosenModels: z
    .object({
      model: z.string().optional(),
      fallbackModels: z.array(z.string()).optional(),
      maxTokens: z.int().optional(),
    })
    .optional()
    .describe('What its call said of models, with which it goes on when it waited.'),
  continuedBy: recordId.optional().describe('The newest run that goes on with it, where it had no thread.'),
  makerKey: z.string().optional().describe('The principal behind the asker, as access keys name it.'),
  begunBy: z.string().optional().describe('The key of the call that asked for it.'),
  begunWith: z.string().optional().describe('Tells the input of that call from others.'),
  cutOff: z
    .boolean()
    .optional()
    .describe('Its process or its store was gone before it ended, so nobody knows what it would have said.'),
  cancelAsked: z.boolean().optional().describe('Cancellation was requested.'),
});
export type AgentRunRecord = z.infer<typeof agentRunRecord>;
