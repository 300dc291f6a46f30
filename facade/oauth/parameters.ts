import type { OAuthStateRecord } from '../../resources/oauth-state.ts';
import type { Addresses, Resource } from './addresses.ts';
import { CAPSULE_SCOPE, leastScope, SCOPES } from './metadata.ts';
import { OAuthError } from './oauth-error.ts';

/** Members of OpenID Connect, which clients send to any server; the library refuses them where no `openid` is asked for. */
const FOREIGN = [
  'nonce',
  'max_age',
  'id_token_hint',
  'acr_values',
  'claims',
  'claims_locales',
  'display',
  'ui_locales',
];
/** Scopes that clients ask of any server. Refresh tokens come without one. */
const FOREIGN_SCOPES = new Set(['openid', 'profile', 'email', 'offline_access']);

/** A request to be let in, as the library takes it: the endpoint by its one name, and scopes that there are at it. */
export function authorizationQuery(search: string, addresses: Addresses): string {
  const query = new URLSearchParams(search);
  for (const name of FOREIGN) query.delete(name);
  const [mode = 'query'] = query.getAll('response_mode');
  if (mode !== 'query') throw new OAuthError('invalid_request', 'Answers come in the query; leave response_mode out.');
  // The person is asked in any case; `none` is the one prompt that changes the answer.
  if (query.get('prompt') !== 'none') query.delete('prompt');
  const resources = [...new Set(query.getAll('resource').map((text) => canonical(text, addresses)))];
  query.delete('resource');
  for (const resource of resources.length === 0 ? [addresses.unified.url] : resources) {
    query.append('resource', resource);
  }
  if (query.getAll('scope').length <= 1) {
    const resource = addresses.resourceNamed(query.get('resource') ?? '') ?? addresses.unified;
    query.set('scope', scopeFor(query.get('scope') ?? '', resource));
  }
  return query.toString();
}

/** The form of a request to the token endpoint, likewise. */
export function tokenForm(given: ReadonlyMap<string, string>, addresses: Addresses): URLSearchParams {
  const form = new URLSearchParams([...given]);
  const [resource, scope] = [given.get('resource'), given.get('scope')];
  if (resource !== undefined) form.set('resource', canonical(resource, addresses));
  if (scope !== undefined) {
    const left = words(scope).filter((word) => !FOREIGN_SCOPES.has(word));
    if (left.length === 0) form.delete('scope');
    else form.set('scope', left.join(' '));
  }
  return form;
}

/** The library sees a wrong resource only after it has used the code or token up. @throws OAuthError (invalid_target) */
export function requireResource(form: URLSearchParams, state: OAuthStateRecord | undefined): void {
  const resource = form.get('resource');
  if (resource === null || !state) return;
  const granted = [state.payload.resource].flat();
  if (!granted.includes(resource)) {
    throw new OAuthError('invalid_target', 'The person agreed to another resource; leave it out, or ask again.');
  }
}

/** The known scopes among those asked for, or what everybody gets who asks for none. */
function scopeFor(asked: string, resource: Resource): string {
  if (resource.capsuleId !== undefined) return CAPSULE_SCOPE;
  const known: readonly string[] = SCOPES;
  const wanted = words(asked).filter((word) => known.includes(word));
  return wanted.length === 0 ? leastScope(resource) : [...new Set(wanted)].join(' ');
}

function canonical(text: string, addresses: Addresses): string {
  return addresses.resourceNamed(text)?.url ?? text;
}

function words(text: string): string[] {
  return text.split(' ').filter(Boolean);
}
