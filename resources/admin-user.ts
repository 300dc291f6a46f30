import { z } from 'zod';
import { apiKeyFields } from './api-key.ts';
import { bookkeeping, email, recordId, timestamp } from './fields.ts';

/** The only role that means something to the server: at least one active user must have it. */
export const OWNER = 'owner';

export const adminUserFields = {
  email,
  name: z.string().trim().min(1).max(200),
  role: z.string().trim().min(1).max(40),
};

export const personAccess = z
  .strictObject({
    scopes: apiKeyFields.scopes.describe('read, write, admin, or finer ones such as agents:read.'),
    grants: apiKeyFields.grants
      .optional()
      .describe('If given, only grants are checked and scopes are ignored, as for keys.'),
  })
  .describe('The most that their sessions, keys, capsules, apps and flows may do. Without it: everything.');
export type PersonAccess = z.infer<typeof personAccess>;

/** A person who administers the workspace. Two people cannot have the same `email`, also not in different case. */
export const adminUser = z.object({
  id: recordId,
  email,
  name: adminUserFields.name.optional(),
  role: adminUserFields.role.describe('A label; one `owner` must always be active.'),
  isActive: z.boolean(),
  access: personAccess.optional(),
  lastSignInAt: timestamp.optional(),
  ...bookkeeping,
});
export type AdminUser = z.infer<typeof adminUser>;
