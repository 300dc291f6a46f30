import { z } from 'zod';
import { askFirst } from './approval.ts';
import { bookkeeping, recordId, timestamp } from './fields.ts';

/** What a person can let an app do, apart from the use of one capsule. Each includes the ones before it. */
export const APP_SCOPES = ['read', 'write', 'admin'] as const;
export const appScope = z.enum(APP_SCOPES);
export type AppScope = z.infer<typeof appScope>;

/** The program that was let in, as it was shown when somebody agreed. */
export const appClient = z.object({
  name: z.string().max(1000).describe('What it calls itself.'),
  host: z.string().max(300).describe('Where it sends people back to.'),
  verified: z.boolean().describe('Whether its name was published by its own host.'),
});

/** The stored record: a client may act at one MCP address. Its id is that of the protocol's grant. Deleting the record ends the connection. */
export const connectedAppRecord = z.object({
  id: recordId,
  clientId: z.string().min(1).max(2000),
  client: appClient,
  /** The URL of the MCP address that its tokens open. */
  resource: z.string().min(1).max(2000),
  /** Empty if it has the reach of a capsule. */
  scopes: z.array(appScope),
  /** Absent if the capsule's token was given instead of a sign-in. */
  userId: recordId.optional(),
  capsuleId: recordId.optional(),
  /** The prefix of the capsule's token that was given. The connection ends with that token. */
  tokenPrefix: z.string().optional(),
  endsWith: recordId
    .optional()
    .describe('Expiring API key behind the session of the person who agreed; the app ends with that key.'),
  askFirst: askFirst.optional(),
  /** See `budgetSubjects` of principals. */
  budgetSubjects: z.array(z.string()).optional(),
  lastUsedAt: timestamp.optional(),
  ...bookkeeping,
});
export type ConnectedAppRecord = z.infer<typeof connectedAppRecord>;

/** A program that acts for a person, or with the reach of a capsule. */
export const connectedApp = connectedAppRecord
  .pick({
    id: true,
    client: true,
    resource: true,
    scopes: true,
    userId: true,
    capsuleId: true,
    askFirst: true,
    createdAt: true,
    revision: true,
  })
  .extend({
    resource: z.string().describe('URL of the MCP address that it may use.'),
    scopes: connectedAppRecord.shape.scopes.describe('Granted scopes; empty where it has the tools of the capsule.'),
    userId: recordId.optional().describe('Admin user it acts for; absent where a capsule token was given.'),
    capsuleId: recordId.optional().describe('Capsule whose tools it has.'),
    lastUsedAt: timestamp.optional().describe('To the minute.'),
  });
export type ConnectedApp = z.infer<typeof connectedApp>;
