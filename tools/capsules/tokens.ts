import type { CapsuleRecord } from '../../resources/capsule.ts';
import { hashSecret, newSecret, prefixOf } from '../core/access/key-secret.ts';

type GraceTokens = CapsuleRecord['graceTokens'];
const MOST_IN_GRACE = 5;

/** The earlier tokens that still work. A rotation without grace ends all of them. */
export function tokensInGrace({ token, graceTokens }: CapsuleRecord, now: Date, graceSeconds: number): GraceTokens {
  if (graceSeconds === 0) return [];
  const until = new Date(now.getTime() + graceSeconds * 1000).toISOString();
  const good = graceTokens.filter((earlier) => Date.parse(earlier.until) > now.getTime());
  return [...good, { ...token, until }].slice(-MOST_IN_GRACE);
}

export function newToken(now: Date, graceTokens: GraceTokens) {
  const secret = newSecret('capsule');
  const token = { prefix: prefixOf('capsule', secret) ?? '', hash: hashSecret(secret) };
  const tokenPrefixes = [token, ...graceTokens].map(({ prefix }) => prefix);
  return { secret, members: { token, graceTokens, tokenPrefixes, tokenRotatedAt: now.toISOString() } };
}

/** The members that keep the newest token alone. */
export function withoutEarlier({ token }: Pick<CapsuleRecord, 'token'>) {
  return { graceTokens: [], tokenPrefixes: [token.prefix] };
}
