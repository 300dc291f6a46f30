import { z } from 'zod';
import { bookkeeping, email, recordId, timestamp } from './fields.ts';

/** The role with a meaning of its own: one of those who have it must stay active. */
export const OWNER = 'owner';

/** Limits shared by the record and the inputs that write it. */
export const adminUserFields = {
  email,
  name: z.string().trim().min(1).max(200),
  role: z.string().trim().min(1).max(40),
};

/** A person who administers the workspace. `email` is unique whatever its case. */
export const adminUser = z.object({
  id: recordId,
  email,
  name: adminUserFields.name.optional(),
  role: adminUserFields.role.describe('A label; `owner` marks those of whom one must stay active.'),
  isActive: z.boolean(),
  lastSignInAt: timestamp.optional(),
  ...bookkeeping,
});
export type AdminUser = z.infer<typeof adminUser>;
