import { randomUUID } from 'node:crypto';
import jwt from 'jsonwebtoken';
import type { AdminUser } from '../../resources/admin-user.ts';
import { type VerifiedIdentity, verifyIdToken } from './id-token.ts';
import type { SigningKeys } from './signing-keys.ts';

/** How long an ID token or a sign-in link is valid. */
export const SIGN_IN_MS = 10 * 60 * 1000;

/** The client id of this server at its own issuer. */
const AUDIENCE = 'agent-admin';

interface IssuedToken {
  readonly idToken: string;
  readonly expiresAt: Date;
}

/**
 * The built-in issuer of ID tokens. It confirms the identity of people who have shown that they read the mail of an address, or whom an
 * admin trusts.
 */
export class Issuer {
  readonly #issuer: string;
  #keys: SigningKeys;
  readonly #renewed: (() => Promise<SigningKeys>) | undefined;
  readonly #now: () => Date;

  /** `issuer` is the base URL of the server. `renewed` reads the keys again, where another process may have made a new one. */
  constructor(issuer: string, keys: SigningKeys, now: () => Date, renewed?: () => Promise<SigningKeys>) {
    this.#issuer = issuer;
    this.#keys = keys;
    this.#now = now;
    this.#renewed = renewed;
  }

  get jwks(): SigningKeys['jwks'] {
    return this.#keys.jwks;
  }

  async renewKeys(): Promise<void> {
    if (this.#renewed) this.#keys = await this.#renewed();
  }

  /** Makes a token for one sign-in. `link` is the id of its sign-in link; the token ends with that link. */
  issue({ id, email }: Pick<AdminUser, 'id' | 'email'>, link?: string): IssuedToken {
    const iat = Math.floor(this.#now().getTime() / 1000);
    const exp = iat + SIGN_IN_MS / 1000;
    const claims = { iat, exp, email, email_verified: true, ...(link !== undefined && { link }) };
    const idToken = jwt.sign(claims, this.#keys.privateKey, {
      algorithm: 'ES256',
      keyid: this.#keys.kid,
      issuer: this.#issuer,
      audience: AUDIENCE,
      subject: id,
      jwtid: randomUUID(),
    });
    return { idToken, expiresAt: new Date(exp * 1000) };
  }

  /** Checks a token of this issuer. @throws ToolError (unauthenticated) */
  verify(idToken: string, nonce?: string): Promise<VerifiedIdentity> {
    return verifyIdToken(idToken, {
      issuer: this.#issuer,
      audience: AUDIENCE,
      algorithms: ['ES256'],
      keys: async ({ kid = '' }) => {
        if (!this.#keys.publicKeys.has(kid)) await this.renewKeys();
        return this.#keys.publicKeys.get(kid);
      },
      nonce,
      now: this.#now,
    });
  }
}
