import { z } from 'zod';
import { bookkeeping, recordId, timestamp } from './fields.ts';
import { webhookScheme } from './flow.ts';

export const deliveryOutcome = z.enum(['run', 'ping', 'challenge', 'refused', 'late', 'bad_signature']);

/** The stored record of what a sender delivered to the webhook of a flow. What it sent is the input of the run. */
export const flowDeliveryRecord = z.object({
  id: recordId,
  flowId: recordId,
  key: z
    .string()
    .optional()
    .describe('Equal for repeats. Absent if nothing was begun, so that the sender may try again.'),
  scheme: webhookScheme,
  event: z.string().optional(),
  outcome: deliveryOutcome,
  reason: z.string().optional(),
  runId: recordId.optional(),
  count: z.int().min(1),
  lastAt: timestamp.optional(),
  expiresAt: timestamp,
  ...bookkeeping,
});
export type FlowDeliveryRecord = z.infer<typeof flowDeliveryRecord>;

export const flowDelivery = z.object({
  id: recordId,
  at: timestamp,
  scheme: webhookScheme,
  event: z.string().optional().describe('What it is about, as its sender says.'),
  outcome: deliveryOutcome.describe(
    '`run`: it began one. `ping` and `challenge`: the sender tried the address and was answered. `refused`: signed well, but no run began. `late`: its time stamp was older or newer than 5 minutes.',
  ),
  reason: z.string().optional().describe('Why no run began; only for `runAs` and admins.'),
  runId: recordId.optional(),
  count: z.int().min(1).describe('How often it came: repeats begin no further run.'),
  lastAt: timestamp.optional().describe('When it came last, if more than once.'),
  body: z
    .unknown()
    .optional()
    .describe('What was sent, while the run is kept; only for `runAs` and admins. Where it is long, see get_flow_run.'),
});
export type FlowDelivery = z.infer<typeof flowDelivery>;
