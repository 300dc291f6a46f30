import { z } from 'zod';
import { bookkeeping, recordId } from './fields.ts';

/** What usage is counted from: the calls in the audit log, the runs of agents, or requests to embedding models. */
const usageSource = z.enum(['calls', 'runs', 'embeddings']);
export type UsageSource = z.infer<typeof usageSource>;

/** The figures of one hour, kept when the calls or runs themselves are deleted. `createdAt` is the beginning of the hour. */
export const usageHour = z.object({
  id: recordId,
  source: usageSource,
  counted: z.int().min(0).describe('How many audit entries or runs it was counted from.'),
  cells: z.string().describe('The figures by all groupings together, packed.'),
  ...bookkeeping,
});
export type UsageHour = z.infer<typeof usageHour>;
