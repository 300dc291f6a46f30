import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import type { AdminUser } from '../../resources/admin-user.ts';
import { DAY_MS } from '../../resources/durations.ts';
import { timestamp } from '../../resources/fields.ts';
import { type VerifiedIdentity, verifyIdToken } from './id-token.ts';

/** How long an ID token or a sign-in link is valid. */
export const SIGN_IN_MS = 10 * 60 * 1000;

/** The client id of this server at its own issuer. */
const AUDIENCE = 'agent-admin';

interface IssuedToken {
  readonly idToken: string;
  readonly expiresAt: Date;
}

/** The built-in issuer of ID tokens, for people who have shown that they read the mail of an address, or whom an admin trusts. */
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

/** The stored keys of the built-in issuer, newest first. The first one signs; of the others only the public half is kept. */
export const keptSigningKeys = z.object({
  keys: z
    .array(
      z.object({
        createdAt: timestamp,
        jwk: z.object({
          kty: z.literal('EC'),
          crv: z.literal('P-256'),
          x: z.string(),
          y: z.string(),
          d: z.string().optional(),
        }),
      }),
    )
    .min(1),
});
export type StoredSigningKeys = z.infer<typeof keptSigningKeys>;
type StoredSigningKey = StoredSigningKeys['keys'][number];

const ROTATED_AFTER_MS = 90 * DAY_MS;
/** Much longer than a token is valid, and than other servers cache the key set. */
const PUBLISHED_AFTER_ROTATION_MS = 7 * DAY_MS;

/** The keys to use from now on. Adds a key if there is none or the newest is old. */
export function currentKeys(kept: StoredSigningKeys | undefined, now: Date): StoredSigningKeys {
  const isOlder = ({ createdAt }: StoredSigningKey, ms: number) => now.getTime() - Date.parse(createdAt) >= ms;
  const [newest, ...older] = kept?.keys ?? [];
  if (!newest) return { keys: [newKey(now)] };
  const keys = isOlder(newest, ROTATED_AFTER_MS) ? [newKey(now), publicHalf(newest), ...older] : [newest, ...older];
  // Each key was replaced when the one before it in the list was made.
  const isPublished = (_: StoredSigningKey, index: number) => {
    const successor = keys[index - 1];
    return !successor || !isOlder(successor, PUBLISHED_AFTER_ROTATION_MS);
  };
  return { keys: keys.filter(isPublished) };
}

function publicHalf({ createdAt, jwk: { d: _, ...jwk } }: StoredSigningKey) {
  return { createdAt, jwk };
}

function newKey(now: Date): StoredSigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // An exported P-256 key has exactly these members.
  return { createdAt: now.toISOString(), jwk: privateKey.export({ format: 'jwk' }) as StoredSigningKey['jwk'] };
}

export interface SigningKeys {
  readonly kid: string;
  readonly privateKey: KeyObject;
  /** By key id, including older keys. */
  readonly publicKeys: ReadonlyMap<string, KeyObject>;
  /** The public keys as a JSON Web Key Set. */
  readonly jwks: { readonly keys: readonly JsonWebKey[] };
}

/** @throws Error if the first key is not a private one */
export function openKeys({ keys }: StoredSigningKeys): SigningKeys {
  const [signer] = keys;
  const d = signer?.jwk.d;
  if (!signer || d === undefined) throw new Error('The first signing key has no private half.');
  const published = keys.map((key) => {
    const { jwk } = publicHalf(key);
    return { ...jwk, kid: thumbprint(jwk), use: 'sig', alg: 'ES256' };
  });
  return {
    kid: thumbprint(signer.jwk),
    privateKey: createPrivateKey({ key: { ...signer.jwk, d }, format: 'jwk' }),
    publicKeys: new Map(published.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })])),
    jwks: { keys: published },
  };
}

/** RFC 7638. */
function thumbprint({ crv, kty, x, y }: StoredSigningKey['jwk']): string {
  return createHash('sha256').update(canonicalize({ crv, kty, x, y })).digest('base64url');
}
