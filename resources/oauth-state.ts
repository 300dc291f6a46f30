import { z } from 'zod';
import { bookkeeping, recordId, timestamp } from './fields.ts';

/**
 * What the authorization server keeps between two requests: tokens, codes, grants, interactions, and what was used once. None of it can
 * be used as it is stored: `key` is a hash of the text that a client or browser shows, and the payload does not hold that text.
 */
export const oauthStateRecord = z.object({
  id: recordId,
  kind: z.string(),
  key: z.string().length(64).describe('SHA-256 (hex) of the kind and of the text that is shown.'),
  grantId: recordId.optional().describe('The connected app that it belongs to.'),
  payload: z.record(z.string(), z.unknown()),
  consumedAt: timestamp.optional(),
  expiresAt: timestamp,
  ...bookkeeping,
});
export type OAuthStateRecord = z.infer<typeof oauthStateRecord>;
