import { webcrypto } from 'node:crypto';

/** The SHA-256 of the bytes in hex, computed beside this thread. */
export async function hashOf(bytes: Buffer): Promise<string> {
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex');
}
