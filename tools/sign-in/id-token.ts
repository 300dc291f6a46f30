import type { KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import { email } from '../../resources/fields.ts';
import { ToolError } from '../core/errors.ts';

/** The largest difference between the clocks of an issuer and of this server. */
export const CLOCK_SKEW_SECONDS = 60;
const LONGEST_TOKEN = 16_384;

/** Signature algorithms whose signing key only the issuer has. */
export type Algorithm = 'RS256' | 'RS384' | 'RS512' | 'PS256' | 'PS384' | 'PS512' | 'ES256' | 'ES384' | 'ES512';

export interface TokenRules {
  readonly issuer: string;
  /** The client id that the issuer gave this server. */
  readonly audience: string;
  readonly algorithms: readonly Algorithm[];
  /** The issuer's public key for the header of a token. Undefined if the issuer has no such key. May throw a ToolError (unavailable). */
  keys(header: TokenHeader): Promise<KeyObject | undefined>;
  /** The nonce that was sent with the request for the token. Without it, a token that contains a nonce is refused. */
  readonly nonce?: string | undefined;
  /** Asks the issuer for `email` and `email_verified` of the subject, where the token contains neither. Issuers may leave them out. */
  askEmail?(subject: string): Promise<object>;
  now(): Date;
}

export interface TokenHeader {
  readonly alg: string;
  readonly kid: string | undefined;
}

/** The person in a token that passed the check. */
export interface VerifiedIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** In lower case, and verified by the issuer. */
  readonly email: string;
  readonly jti: string | undefined;
  readonly expiresAt: Date;
  /** For a token of the built-in issuer: its sign-in link. */
  readonly link?: string;
}

const text = z.string().min(1).max(1000);
const seconds = z.number().int().positive().max(100_000_000_000);
const claims = z.object({
  sub: text,
  aud: z.union([text, z.array(text)]),
  azp: text.optional(),
  exp: seconds,
  iat: seconds,
  nonce: text.optional(),
  jti: text.optional(),
  email,
  email_verified: z.literal(true),
  link: text.optional().catch(undefined),
});

/** The only check of ID tokens, our own and others'. @throws ToolError (unauthenticated) for every fault; its cause says which */
export async function verifyIdToken(token: string, rules: TokenRules): Promise<VerifiedIdentity> {
  try {
    return await verify(token, rules);
  } catch (thrown) {
    if (thrown instanceof ToolError) throw thrown;
    throw refuseSignIn(`the ID token: ${thrown instanceof Error ? thrown.message : 'unreadable'}`, thrown);
  }
}

async function verify(token: string, rules: TokenRules): Promise<VerifiedIdentity> {
  const { issuer, audience } = rules;
  const key = await keyFor(token, rules);
  const nowSeconds = Math.floor(rules.now().getTime() / 1000);
  const payload = jwt.verify(token, key, {
    algorithms: [...rules.algorithms],
    issuer,
    audience,
    clockTolerance: CLOCK_SKEW_SECONDS,
    clockTimestamp: nowSeconds,
  });
  const { sub, aud, azp, exp, iat, nonce, jti, link, ...person } = claims.parse(await withEmail(payload, rules));
  if (iat > nowSeconds + CLOCK_SKEW_SECONDS) throw refuseSignIn('the ID token is from the future');
  if (nonce !== rules.nonce) throw refuseSignIn('the ID token has another nonce');
  const needsParty = Array.isArray(aud) && aud.length > 1;
  if ((needsParty || azp !== undefined) && azp !== audience) {
    throw refuseSignIn('the ID token was given to another client');
  }
  const identity = { issuer, subject: sub, email: person.email.toLowerCase(), jti, expiresAt: new Date(exp * 1000) };
  return link === undefined ? identity : { ...identity, link };
}

async function withEmail(payload: string | jwt.JwtPayload, { askEmail }: TokenRules): Promise<unknown> {
  if (typeof payload === 'string' || !askEmail || typeof payload.sub !== 'string') return payload;
  if (payload.email !== undefined || payload.email_verified !== undefined) return payload;
  const { email, email_verified } = (await askEmail(payload.sub)) as Readonly<Record<string, unknown>>; // any object
  return { ...payload, email, email_verified };
}

async function keyFor(token: string, { algorithms, keys }: TokenRules): Promise<KeyObject> {
  if (token.length > LONGEST_TOKEN) throw refuseSignIn('the ID token is too long');
  const header = jwt.decode(token, { complete: true })?.header;
  if (!header) throw refuseSignIn('the ID token is malformed');
  const { alg, kid, crit } = header;
  if (!(algorithms as readonly string[]).includes(alg)) throw refuseSignIn(`the ID token is signed with ${alg}`);
  if (crit !== undefined) throw refuseSignIn('the ID token has critical headers');
  const key = await keys({ alg, kid: typeof kid === 'string' ? kid : undefined });
  if (!key) throw refuseSignIn('the ID token is signed with a key that its issuer does not have');
  if (key.type !== 'public') throw refuseSignIn('the key of the issuer is not a public one');
  return key;
}

/** Why a sign-in was refused. Only the log shows it; callers learn no more than that they were refused. */
export class SignInRefused extends Error {}

/** The same answer for every failed attempt. The reason is its cause, which is logged. */
export function refuseSignIn(reason: string, cause?: unknown): ToolError {
  const logged = new SignInRefused(reason, cause === undefined ? undefined : { cause });
  return new ToolError('unauthenticated', 'Authentication required', {}, logged);
}
