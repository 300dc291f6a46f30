import { z } from 'zod';
import { bookkeeping, email, recordId, timestamp } from './fields.ts';

export const SESSION_COOKIE = 'admin-session';

/** The stored record. A session is ended by deleting its record, so a session without a record opens nothing. */
export const sessionRecord = z.object({
  id: recordId,
  userId: recordId,
  email,
  client: z.string().max(200).optional(),
  makerId: recordId.optional().describe('Another admin user, who made the sign-in link it began with.'),
  keyId: recordId.optional().describe('API key that made the sign-in link it began with. It ends with that key.'),
  expiresAt: timestamp,
  lastUsedAt: timestamp.optional(),
  confirmedAt: timestamp
    .optional()
    .describe('When the person last signed in, or confirmed their identity with a passkey.'),
  ...bookkeeping,
});
export type SessionRecord = z.infer<typeof sessionRecord>;

export const session = sessionRecord.extend({
  userId: recordId.describe('Admin user who signed in.'),
  client: sessionRecord.shape.client.describe('What the browser calls itself.'),
  lastUsedAt: timestamp.optional().describe('To the minute.'),
  isCurrent: z.boolean().describe('Whether it is the session you call with.'),
});
export type Session = z.infer<typeof session>;
