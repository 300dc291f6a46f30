import { z } from 'zod';
import { bookkeeping, email, recordId, timestamp } from './fields.ts';

/** A person who administers the workspace. `email` is unique whatever its case. */
export const adminUser = z.object({
  id: recordId,
  email,
  name: z.string().min(1).max(200).optional(),
  role: z.string().min(1).max(40).describe('A label; `owner` marks those of whom one must stay active.'),
  isActive: z.boolean(),
  lastSignInAt: timestamp.optional(),
  ...bookkeeping,
});
export type AdminUser = z.infer<typeof adminUser>;
