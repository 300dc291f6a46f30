import { z } from 'zod';
import { bookkeeping, recordId, timestamp } from './fields.ts';

export const passkeyFields = { name: z.string().trim().min(1).max(100) };

/** The stored record: the public half of a passkey. The private half never leaves the authenticator of the person. */
export const passkeyRecord = z.object({
  id: recordId,
  userId: recordId,
  name: passkeyFields.name,
  /** What the authenticator calls it, and the COSE key to check its signatures with; both base64url. */
  credentialId: z.string().max(1400),
  publicKey: z.string().max(8000),
  /** The highest count of uses that the authenticator told. Those that do not count say 0. */
  counter: z.int().min(0),
  transports: z.array(z.string().max(40)).max(10).optional(),
  isSynced: z.boolean(),
  lastUsedAt: timestamp.optional(),
  ...bookkeeping,
});
export type PasskeyRecord = z.infer<typeof passkeyRecord>;

/** A way to sign in: a key pair in a device or password manager of the person. */
export const passkey = passkeyRecord
  .omit({ credentialId: true, publicKey: true, counter: true, transports: true })
  .extend({
    userId: recordId.describe('Admin user who signs in with it.'),
    isSynced: z.boolean().describe('Whether it is kept by a password manager that has it on several devices.'),
  });
export type Passkey = z.infer<typeof passkey>;
