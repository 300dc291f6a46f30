import { z } from 'zod';
import { bookkeeping, email, recordId, timestamp } from './fields.ts';

/** A link that signs a person in once. Its secret and that of the browser it is bound to are stored as SHA-256 hashes (hex). */
export const signInLinkRecord = z.object({
  id: recordId,
  hash: z.string().length(64),
  email,
  userId: recordId.optional().describe('Absent if nobody may sign in with the e-mail; such a link opens nothing.'),
  makerId: recordId.optional().describe('Another admin user who made it.'),
  keyId: recordId.optional().describe('API key with which it was made, and with which it ends.'),
  browserHash: z.string().length(64).optional().describe('Absent if any browser may follow the link.'),
  expiresAt: timestamp,
  usedAt: timestamp.optional(),
  ...bookkeeping,
});
export type SignInLinkRecord = z.infer<typeof signInLinkRecord>;

/** An ID token that was used. It is stored until it expires, so that it cannot be used again. `key` is a hash of its issuer and `jti`. */
export const usedTokenRecord = z.object({
  id: recordId,
  key: z.string(),
  expiresAt: timestamp,
  ...bookkeeping,
});
