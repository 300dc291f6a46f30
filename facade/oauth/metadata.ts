import { type Addresses, paths, type Resource } from './addresses.ts';

/** What people can hand out at the unified endpoint. */
export const SCOPES = ['read', 'write', 'admin'] as const;
/** The reach of one capsule: all there is at its endpoint, and what a person can hand out instead of the scopes. */
export const CAPSULE_SCOPE = 'capsule';

/** What a client gets that asks for nothing. Some ask for all that is listed as supported, so this alone is listed. */
export function leastScope({ capsuleId }: Pick<Resource, 'capsuleId'>): string {
  return capsuleId === undefined ? 'read' : CAPSULE_SCOPE;
}

/** RFC 9728. `origin`: that of the address which the client typed. */
export function protectedResource(addresses: Addresses, resource: Resource, origin: string) {
  return {
    resource: addresses.typed(resource, origin),
    authorization_servers: [addresses.issuer],
    scopes_supported: [leastScope(resource)],
    bearer_methods_supported: ['header'],
    resource_name: 'agent-admin',
  };
}

export const PROTECTED_RESOURCE = '/.well-known/oauth-protected-resource';

/** RFC 8414. It is also found under the name of OpenID Connect, where some clients look first. */
export function authorizationServer(addresses: Addresses) {
  const methods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'];
  return {
    issuer: addresses.issuer,
    authorization_endpoint: addresses.at(paths.authorize),
    token_endpoint: addresses.at(paths.token),
    registration_endpoint: addresses.at(paths.register),
    revocation_endpoint: addresses.at(paths.revoke),
    scopes_supported: ['read'],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256', 'RS256'],
    revocation_endpoint_auth_methods_supported: methods,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}
