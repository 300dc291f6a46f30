import type { IncomingMessage } from 'node:http';
import type { Readers } from '../../store/port.ts';
import { appPrincipal } from '../../tools/core/access/app-principal.ts';
import { prefixOf } from '../../tools/core/access/key-secret.ts';
import type { ErrorDetail } from '../../tools/core/errors.ts';
import type { Catalog } from '../../tools/core/registry/catalog-index.ts';
import type { AccessTokens } from '../http/authenticate.ts';
import { metadataUrlOf } from '../http/respond.ts';
import { targetOf } from '../http/target.ts';
import type { Addresses, Resource } from './addresses.ts';
import { leastScope } from './metadata.ts';
import { findState } from './states.ts';

interface AccessTokenOptions {
  readonly store: Readers;
  readonly catalog: Catalog;
  readonly addresses: Addresses;
  now(): Date;
}

export function createAccessTokens({ store, catalog, addresses, now: time }: AccessTokenOptions): AccessTokens {
  return {
    async find(secret) {
      if (prefixOf('access', secret) === undefined) return undefined;
      const token = await findState(store, 'AccessToken', secret);
      const app = token?.grantId === undefined ? undefined : await store.connectedApps.get(token.grantId);
      return token && app && { token, app };
    },
    async isSame({ token, app }) {
      return (await store.oauthStates.get(token.id)) === token && (await store.connectedApps.get(app.id)) === app;
    },
    /** A token opens the one address that it was made for, and nothing else (RFC 8707). */
    async holder({ token, app }, request) {
      const [now, resource] = [time(), resourceOf(request, addresses)?.url];
      if (resource === undefined || token.payload.aud !== resource || app.resource !== resource) return undefined;
      if (Date.parse(token.expiresAt) <= now.getTime()) return undefined;
      const found = await appPrincipal(store, app, { catalog, now });
      return typeof found === 'string' ? undefined : found;
    },
    challenge: (request) => metadataFor(request, addresses),
  };
}

function resourceOf(request: IncomingMessage, addresses: Addresses): Resource | undefined {
  return addresses.resourceAt(targetOf(request).path);
}

/** Nothing at addresses with `?auth=key`: some hosts would sign in rather than send the header that they were given. */
function metadataFor(request: IncomingMessage, addresses: Addresses): Pick<ErrorDetail, 'signIn'> {
  const resource = resourceOf(request, addresses);
  if (!resource || targetOf(request).url?.searchParams.get('auth') === 'key') return {};
  const metadata = metadataUrlOf(addresses.typed(resource, addresses.originFor(request)));
  return { signIn: { metadata, scope: leastScope(resource) } };
}
