import { z } from 'zod';
import { bookkeeping, recordId } from './fields.ts';

/** The first answer to a call with an idempotency key. `key` is a hash of the principal, the operation and the idempotency key. */
export const idempotencyRecord = z.object({
  id: recordId,
  key: z.string(),
  inputHash: z.string(),
  answer: z
    .unknown()
    .optional()
    .describe('Absent if the answer holds a secret and may not be kept, or held a purged record.'),
  begun: z
    .literal(true)
    .optional()
    .describe('It acts outside, and has no answer yet: where nobody runs it any more, it was cut off.'),
  limit: z.string().optional().describe('Hash of the tools and fixed arguments that the caller was held to.'),
  recordIds: z.array(recordId).optional().describe('Ids in the answer, and those below.'),
  guardedIds: z
    .array(recordId)
    .optional()
    .describe(
      'Records in the input or the answer that not everybody sees. A caller who no longer sees one of them gets no repeat.',
    ),
  ...bookkeeping,
});
