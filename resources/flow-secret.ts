import { z } from 'zod';
import { bookkeeping, recordId, timestamp } from './fields.ts';
import { webhookScheme } from './flow.ts';

/** The secret of a flow's webhook, sealed. It has the id of its flow, and is no part of it, so that no version or answer can hold it. */
export const flowSecretRecord = z.object({
  id: recordId,
  scheme: webhookScheme,
  sealed: z.string(),
  givenAt: timestamp,
  ...bookkeeping,
});
export type FlowSecretRecord = z.infer<typeof flowSecretRecord>;
