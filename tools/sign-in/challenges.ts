import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** How long somebody may take to use a passkey. */
export const CHALLENGE_MS = 5 * 60 * 1000;
const RANDOM_BYTES = 16;
const TIME_BYTES = 6;
const STATED_BYTES = RANDOM_BYTES + TIME_BYTES;

/** What a challenge is for: signing in or adding a passkey, in one browser, and whose passkey it is where that is known. */
export interface Purpose {
  readonly step: 'sign-in' | 'confirm' | 'register';
  readonly browser: string;
  readonly userId?: string | undefined;
}

/** Challenges for passkeys, signed instead of stored, so that showing a sign-in page writes nothing. Accepting one marks it as used. */
export class Challenges {
  readonly #secrets: readonly string[];
  readonly #now: () => Date;

  /** The first secret signs; all of them verify. */
  constructor(secrets: readonly string[], now: () => Date) {
    this.#secrets = secrets;
    this.#now = now;
  }

  make(purpose: Purpose): string {
    const time = Buffer.alloc(TIME_BYTES);
    time.writeUIntBE(this.#now().getTime() + CHALLENGE_MS, 0, TIME_BYTES);
    const stated = Buffer.concat([randomBytes(RANDOM_BYTES), time]);
    const [signer = ''] = this.#secrets;
    return Buffer.concat([stated, sign(signer, purpose, stated)]).toString('base64url');
  }

  /** When the challenge expires. Undefined if it has, or if it was not made for this purpose. */
  expiryOf(challenge: string, purpose: Purpose): Date | undefined {
    const bytes = Buffer.from(challenge, 'base64url');
    const [stated, signature] = [bytes.subarray(0, STATED_BYTES), bytes.subarray(STATED_BYTES)];
    const isOurs = this.#secrets.some((secret) => equal(signature, sign(secret, purpose, stated)));
    if (stated.length < STATED_BYTES || !isOurs || bytes.toString('base64url') !== challenge) return undefined;
    const expiresAt = new Date(stated.readUIntBE(RANDOM_BYTES, TIME_BYTES));
    return expiresAt > this.#now() ? expiresAt : undefined;
  }
}

function sign(secret: string, { step, browser, userId = '' }: Purpose, stated: Buffer): Buffer {
  const meant = JSON.stringify(['passkey', step, browser, userId, stated.toString('base64url')]);
  return createHmac('sha256', secret).update(meant).digest();
}

function equal(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
