import { z } from 'zod';
import { bookkeeping, nameText, recordId, timestamp } from './fields.ts';

export const oauthClientKind = z
  .enum(['metadata', 'registered', 'made'])
  .describe('metadata: by the document at its id; registered: by itself; made: by an administrator.');

export const oauthClientFields = {
  name: nameText(120),
  redirectUris: z.array(z.string().min(1).max(2000)).max(50),
};

/** The stored record of a program that asks people to let it act for them. Of a secret it keeps the SHA-256 (hex) only. */
export const oauthClientRecord = z.object({
  id: recordId,
  /** As the protocol names it. For a client with a metadata document, that document's URL. */
  clientId: z.string().min(1).max(2000),
  kind: oauthClientKind,
  /** What the client calls itself. Nobody checked it, and older records are not held to the rule for names. */
  name: z.string().max(1000),
  redirectUris: oauthClientFields.redirectUris,
  secretHash: z.string().length(64).optional(),
  /** The client's own metadata (RFC 7591), as the protocol reads it. */
  metadata: z.record(z.string(), z.unknown()),
  /** SHA-256 (hex) of the network that it became known from. */
  networkHash: z.string().length(64).optional(),
  lastUsedAt: timestamp.optional(),
  ...bookkeeping,
});
export type OAuthClientRecord = z.infer<typeof oauthClientRecord>;

/** A program that asks people to let it act for them, as answers show it. */
export const oauthClient = oauthClientRecord
  .pick({ id: true, clientId: true, name: true, kind: true, redirectUris: true, createdAt: true })
  .extend({
    clientId: z.string().describe('As the program gives it when it asks.'),
    lastUsedAt: timestamp.optional().describe('To the minute.'),
  });
export type OAuthClient = z.infer<typeof oauthClient>;
