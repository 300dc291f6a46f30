import { z } from 'zod';
import { bookkeeping, email, recordId, timestamp } from './fields.ts';

/** The only role that means something to the server: at least one active user must have it. */
export const OWNER = 'owner';

/** Limits shared by the record and the inputs that write it. */
export const adminUserFields = {
  email,
  name: z.string().trim().min(1).max(200),
  role: z.string().trim().min(1).max(40),
};

/** A person who administers the workspace. Two people cannot have the same `email`, also not in different case. */
export const adminUser = z.object({
  id: recordId,
  email,
  name: adminUserFields.name.optional(),
  role: adminUserFields.role.describe('A label; one `owner` must always be active.'),
  isActive: z.boolean(),
  lastSignInAt: timestamp.optional(),
  ...bookkeeping,
});
export type AdminUser = z.infer<typeof adminUser>;
