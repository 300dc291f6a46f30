import type { ErrorDetail } from '../../tools/core/errors.ts';

const MCP_ADDRESS = /^(.*?)(\/api\/(?:v1|capsules\/[^/]+)\/mcp)$/;

/** The URL of the metadata (RFC 9728) about the MCP address with the given URL. */
export function metadataUrlOf(resource: string): string {
  return resource.replace(MCP_ADDRESS, '$1/.well-known/oauth-protected-resource$2');
}

/** `WWW-Authenticate` for a caller who is not let in (RFC 6750), with where a token is to be had (RFC 9728, section 5.1). */
export function signInChallenge({ invalidToken, signIn }: Pick<ErrorDetail, 'invalidToken' | 'signIn'>): string {
  const parts = [
    ...(invalidToken ? ['error="invalid_token"'] : []),
    ...(signIn ? [`resource_metadata="${signIn.metadata}"`, `scope="${signIn.scope}"`] : []),
  ];
  return parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`;
}

/** `WWW-Authenticate` for an app whose token is valid but lacks a scope (RFC 6750, section 3.1). */
export function stepUpChallenge(resource: string, scopes: readonly string[]): string {
  return `Bearer error="insufficient_scope", scope="${scopes.join(' ')}", resource_metadata="${metadataUrlOf(resource)}"`;
}
