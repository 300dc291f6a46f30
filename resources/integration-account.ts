import { z } from 'zod';
import { bookkeeping, recordId, timestamp } from './fields.ts';

export const integrationAccountRecord = z.object({
  id: recordId,
  integrationId: recordId,
  userId: recordId.optional().describe('Whose account it is. Absent for the one that all share.'),
  /** The integration, and the person or `shared`: there is one account of each. */
  key: z.string(),
  status: z
    .enum(['connected', 'connect_again'])
    .describe('`connect_again`: its provider no longer accepts its token, or its server asks for more scopes.'),
  scopes: z.array(z.string()).describe('What its provider granted, as far as it says so.'),
  connectedAt: timestamp,
  lastUsedAt: timestamp.optional(),
  /** Tokens, the client they were given to and where they are renewed, encrypted as one text. */
  sealed: z.string(),
  ...bookkeeping,
});
export type IntegrationAccountRecord = z.infer<typeof integrationAccountRecord>;

export const integrationAccount = integrationAccountRecord
  .pick({ integrationId: true, userId: true, status: true, scopes: true, connectedAt: true })
  .extend({ lastUsedAt: timestamp.optional().describe('To the minute.') });

/** A link to connect an account, for one person, once. Its secret and the provider's `state` are stored as SHA-256 hashes. */
export const integrationLinkRecord = z.object({
  id: recordId,
  hash: z.string().length(64),
  integrationId: recordId,
  userId: recordId,
  shared: z.boolean().describe('Whether the account is for all.'),
  scopes: z.array(z.string()).optional().describe('To ask for instead of the default ones.'),
  expiresAt: timestamp,
  stateHash: z.string().length(64).optional().describe('Present once the link was opened.'),
  /** What the provider was asked with, encrypted as one text. */
  sealed: z.string().optional(),
  ...bookkeeping,
});
export type IntegrationLinkRecord = z.infer<typeof integrationLinkRecord>;
