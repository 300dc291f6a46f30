import { z } from 'zod';
import { askFirst } from './approval.ts';
import { bookkeeping, recordId, timestamp } from './fields.ts';

export const apiKeyFields = {
  name: z.string().trim().min(1).max(120),
  scopes: z.array(z.string().max(100)).max(50),
  grants: z.array(z.string().max(500)).max(200),
  askFirst,
};

const replacedSecret = z.object({ prefix: z.string().length(8), hash: z.string().length(64), until: timestamp });

/** The stored record. It keeps only the prefix of each secret and its SHA-256 (hex). */
export const apiKeyRecord = z.object({
  id: recordId,
  name: apiKeyFields.name,
  prefix: z.string().length(8),
  hash: z.string().length(64),
  replaced: z.array(replacedSecret).optional(),
  /** Prefixes of the replaced secrets. */
  replacedPrefixes: z.array(z.string()).optional(),
  rotatedAt: timestamp.optional(),
  scopes: apiKeyFields.scopes,
  grants: apiKeyFields.grants.optional(),
  askFirst: apiKeyFields.askFirst.optional(),
  ownerId: recordId,
  createdBy: recordId,
  endsWith: recordId.optional().describe('Expiring API key that created it, and with which it ends.'),
  /** See `budgetSubjects` of principals. Keys that older versions made have none. */
  budgetSubjects: z.array(z.string()).optional(),
  expiresAt: timestamp.optional(),
  revokedAt: timestamp.optional(),
  lastUsedAt: timestamp.optional(),
  ...bookkeeping,
});
export type ApiKeyRecord = z.infer<typeof apiKeyRecord>;

/** A credential for scripts, agents and external clients. */
export const apiKey = apiKeyRecord
  .omit({ hash: true, replaced: true, replacedPrefixes: true, budgetSubjects: true })
  .extend({
    prefix: z.string().describe('The secret starts with `ak_<prefix>_`.'),
    grants: apiKeyFields.grants.optional().describe('If present, only grants are checked and scopes are ignored.'),
    ownerId: recordId.describe('Admin user the key acts for.'),
    createdBy: recordId.describe('Principal that made the key.'),
    rotatedAt: timestamp.optional().describe('When the secret was made, if later than the key.'),
    lastUsedAt: timestamp.optional().describe('To the minute.'),
    earlierSecrets: z
      .array(z.object({ prefix: z.string(), until: timestamp }))
      .optional()
      .describe('Secrets that the last rotations replaced, and until when each works.'),
  });
export type ApiKey = z.infer<typeof apiKey>;
