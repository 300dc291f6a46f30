const MCP_ADDRESS = /^(.*?)(\/api\/(?:v1|capsules\/[^/]+)\/mcp)$/;

/** Where the metadata about the MCP address is (RFC 9728), of which the URL is given. */
export function metadataUrlOf(resource: string): string {
  return resource.replace(MCP_ADDRESS, '$1/.well-known/oauth-protected-resource$2');
}

/** `WWW-Authenticate` for an app whose token is good but does not reach so far (RFC 6750, section 3.1). */
export function stepUpChallenge(resource: string, scopes: readonly string[]): string {
  return `Bearer error="insufficient_scope", scope="${scopes.join(' ')}", resource_metadata="${metadataUrlOf(resource)}"`;
}
