import { z } from 'zod';
import { bookkeeping, recordId } from './fields.ts';

/** An import of a whole workspace that is under way. Its transactions renew the record, and the last one deletes it. */
export const moveRecord = z.object({
  id: recordId,
  exportId: z.string().describe('Id of the file that is imported.'),
  line: z.int().min(0).describe('The last line of the file that is in the store.'),
  ...bookkeeping,
});
