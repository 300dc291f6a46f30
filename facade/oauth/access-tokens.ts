import type { Readers } from '../../store/port.ts';
import { appPrincipal } from '../../tools/core/access/app-principal.ts';
import { prefixOf } from '../../tools/core/access/key-secret.ts';
import type { Catalog } from '../../tools/core/registry/catalog-index.ts';
import type { AccessTokens } from '../http/authenticate.ts';
import type { Addresses } from './addresses.ts';
import { metadataFor, resourceOf } from './challenge.ts';
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
