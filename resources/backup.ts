import { z } from 'zod';
import { timestamp } from './fields.ts';

export const backup = z.object({
  name: z.string().describe('Its folder in BACKUP_FOLDER.'),
  at: timestamp.describe('It holds everything that was stored before.'),
  bytes: z.int().min(0),
  records: z.int().min(0),
  auditEntries: z.int().min(0),
  verified: z
    .boolean()
    .describe('Whether it was opened and its records counted when it was made, and its size has not changed since.'),
});
export type Backup = z.infer<typeof backup>;
