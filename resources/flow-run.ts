import { z } from 'zod';
import { principalRef } from './audit-entry.ts';
import { errorCode } from './error.ts';
import { bookkeeping, recordId, timestamp } from './fields.ts';
import { flowRunAs, flowStep } from './flow.ts';

export const flowRunStatus = z.enum(['queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled']);

const failure = z.object({ code: errorCode, message: z.string().optional() });

const flowRunStep = z.object({
  id: z.string(),
  tool: z.string(),
  status: z.enum(['pending', 'running', 'waiting', 'succeeded', 'failed', 'skipped']),
  attempts: z
    .int()
    .min(0)
    .describe('Tries so far, without calls that the server itself makes again, as they were certainly not made.'),
  input: z.record(z.string(), z.unknown()).optional().describe('As called; sensitive values replaced.'),
  output: z.record(z.string(), z.unknown()).optional(),
  error: failure.optional(),
  approvalId: recordId.optional().describe('The approval that it waits or waited for, see get_approval.'),
  retryAt: timestamp.optional().describe('When the next try is due.'),
  startedAt: timestamp.optional(),
  finishedAt: timestamp.optional(),
});
export type FlowRunStep = z.infer<typeof flowRunStep>;

const flowRunTrigger = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('manual'), by: principalRef }),
  z.object({ kind: z.literal('webhook'), by: principalRef }),
  z.object({ kind: z.literal('cron'), at: timestamp.describe('The time of the schedule.') }),
  z.object({ kind: z.literal('event'), type: z.string(), id: z.string().describe('The record it is about.') }),
]);
export type FlowRunTrigger = z.infer<typeof flowRunTrigger>;

/** One run of a flow. Only `runAs` and admins see its input, outputs and error messages. */
export const flowRun = z.object({
  id: recordId,
  flowId: recordId,
  flowRevision: z.int().min(1).optional().describe('Of the flow as it ran.'),
  status: flowRunStatus,
  trigger: flowRunTrigger,
  retryOf: recordId.optional().describe('The run that it does again, with the same input.'),
  runAs: flowRunAs.describe('Whose rights the run has.'),
  input: z.unknown().optional().describe('An object, or whatever else a webhook sent.'),
  steps: z.array(flowRunStep),
  error: failure.optional().describe('Why it failed or was cancelled.'),
  startedAt: timestamp.optional(),
  finishedAt: timestamp.optional(),
  ...bookkeeping,
});
export type FlowRun = z.infer<typeof flowRun>;

/** The stored record. It also holds the steps that are still to do, so that the run can continue after a crash. */
export const flowRunRecord = flowRun.extend({
  plan: z.array(flowStep),
  retriedRevision: z.int().optional().describe('Of the flow when outputs of an earlier run were taken over.'),
  begunBy: z
    .string()
    .optional()
    .describe('The try of a step of another run, or the key of the call, that triggered it.'),
  begunWith: z.string().optional().describe('Tells the input of that call from others.'),
  ownerId: z.string().optional().describe('Admin user on whose behalf it runs: runs take turns by owner.'),
  askedBy: z
    .array(z.string())
    .optional()
    .describe('Everybody behind who had it begun: they decide none of its approvals.'),
  causes: z.array(recordId).describe('Flows whose runs led to this one, the first at the front.'),
  underWay: z
    .object({
      step: z.string(),
      arguments: z.record(z.string(), z.unknown()).optional().describe('Absent if they hold a secret.'),
      approval: z
        .object({ id: recordId, inside: z.literal(true).optional().describe('It is of a call that this call made.') })
        .optional()
        .describe('Why it waits.'),
      first: z.int().optional().describe('The first of the tries that may have taken effect.'),
      unmade: z
        .object({ count: z.int().min(1), since: timestamp })
        .optional()
        .describe('Calls that were certainly not made, which count as no tries.'),
    })
    .optional()
    .describe(
      'The call under way, or about to be made again: templates with the time would give another one the next time.',
    ),
  recordIds: z.array(z.string()).optional().describe('Records that outputs contain, so that a purge finds them.'),
  worker: z.string().optional().describe('The process that runs it, where there can be several.'),
  awaits: z.string().optional().describe('The run that its step waits for, where there can be several processes.'),
  trace: z.string().optional().describe('Where in a trace it was asked for, as W3C Trace Context writes it.'),
  cancelAsked: z.boolean().optional().describe('It is to end at the next step.'),
});
export type FlowRunRecord = z.infer<typeof flowRunRecord>;
