import { randomUUID } from 'node:crypto';
import jwt from 'jsonwebtoken';
import type { AdminUser } from '../../resources/admin-user.ts';
import { type VerifiedIdentity, verifyIdToken } from './id-token.ts';
import type { SigningKeys } from './signing-keys.ts';

/** How long what signs in once may be used: an ID token or a link. */
export const SIGN_IN_MS = 10 * 60 * 1000;

/** The client id of this server with its own issuer. */
const AUDIENCE = 'agent-admin';

export interface IssuedToken {
  readonly idToken: string;
  readonly expiresAt: Date;
}

/** The built-in issuer of ID tokens: vouches for those who proved that they read mail to an address, or whom an admin vouches for. */
export class Issuer {
  readonly #issuer: string;
  readonly #keys: SigningKeys;
  readonly #now: () => Date;

  /** `issuer`: the base URL of the server. */
  constructor(issuer: string, keys: SigningKeys, now: () => Date) {
    this.#issuer = issuer;
    this.#keys = keys;
    this.#now = now;
  }

  get jwks(): SigningKeys['jwks'] {
    return this.#keys.jwks;
  }

  /** Each token is for one sign-in. `link`: id of the sign-in link with which it ends. */
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
      keys: async ({ kid }) => this.#keys.publicKeys.get(kid ?? ''),
      nonce,
      now: this.#now,
    });
  }
}
