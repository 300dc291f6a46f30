import type { Row } from '../../kind/spec.ts';

/** As `list_api_keys` filters them. */
export function stateOf({ revokedAt, expiresAt }: Row): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== undefined) return 'revoked';
  return typeof expiresAt === 'string' && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'active';
}
