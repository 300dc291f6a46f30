import { z } from 'zod';
import { agentFields } from '../../resources/agent.ts';
import { type AgentRunRecord, modelFallback, stopReason, tokenUsage } from '../../resources/agent-run.ts';
import { recordId } from '../../resources/fields.ts';
import { A_MODEL, withFormHints } from '../../resources/markers.ts';
import { toolCall } from '../../resources/message.ts';
import type { RunOutcome } from '../agents/exports.ts';

const leftOut = z
  .object({ messages: z.int().min(0), files: z.int().min(0) })
  .describe(
    'What the model was not shown: older messages without a summary, and files it cannot read or had no room for.',
  );

/** The members that the answers to chat and to invoke share. */
export const runAnswer = {
  runId: recordId,
  agentId: recordId.optional(),
  model: z.string().describe('That answered.'),
  fallbacks: z.array(modelFallback).optional(),
  leftOut: leftOut.optional(),
  toolCalls: z.array(toolCall.extend({ ok: z.boolean() })).describe('Every call of the run, in order.'),
  usage: tokenUsage.describe('Of the whole run.'),
  stopReason,
};

type AnsweredRun = Pick<RunOutcome, 'calls' | 'usage' | 'stopReason'> &
  Partial<Pick<RunOutcome, 'model' | 'fallbacks' | 'leftOut'>>;

export function answerOf(
  { id: runId, agentId, model: chosen }: Pick<AgentRunRecord, 'id' | 'agentId' | 'model'>,
  { calls: toolCalls, usage, stopReason, model = chosen, fallbacks = [], leftOut }: AnsweredRun,
) {
  return {
    runId,
    ...(agentId !== undefined && { agentId }),
    model,
    ...(fallbacks.length > 0 && { fallbacks: [...fallbacks] }),
    ...(leftOut && { leftOut }),
    toolCalls,
    usage,
    stopReason,
  };
}

export const modelInput = withFormHints(z.string().min(1).max(200), A_MODEL).describe(
  'Model id, see list_models. Default: that of the agent.',
);
export const fallbackModelsInput = agentFields.fallbackModels.describe(
  'Asked in turn where it does not answer. Default: those of the agent; [] for none.',
);
export const MOST_TOKENS = 1_000_000;
export const maxTokensInput = z.int().min(1).max(MOST_TOKENS).describe('Of a turn of the model.');
export const LONGEST_INPUT = 100_000;
