import type { ConnectedAppRecord } from '../../resources/connected-app.ts';
import type { OAuthStateRecord } from '../../resources/oauth-state.ts';
import type { Readers } from '../../store/port.ts';
import { appPrincipal } from '../../tools/core/access/app-principal.ts';
import { prefixOf } from '../../tools/core/access/key-secret.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { Catalog } from '../../tools/core/registry/catalog-index.ts';
import { findState } from './states.ts';

/** An access token that was shown, and the connection that it belongs to. */
export interface ShownAccess {
  readonly token: OAuthStateRecord;
  readonly app: ConnectedAppRecord;
}

/** The access token that the secret is, whether or not it is good here and now. Undefined where it is none. */
export async function findAccess(
  store: Pick<Readers, 'oauthStates' | 'connectedApps'>,
  secret: string,
): Promise<ShownAccess | undefined> {
  if (prefixOf('access', secret) === undefined) return undefined;
  const token = await findState(store, 'AccessToken', secret);
  const app = token?.grantId === undefined ? undefined : await store.connectedApps.get(token.grantId);
  return token && app && { token, app };
}

export async function isSameAccess(
  store: Pick<Readers, 'oauthStates' | 'connectedApps'>,
  { token, app }: ShownAccess,
): Promise<boolean> {
  return (await store.oauthStates.get(token.id)) === token && (await store.connectedApps.get(app.id)) === app;
}

interface Around {
  readonly store: Parameters<typeof appPrincipal>[0];
  readonly catalog: Catalog;
  /** The address that the request came to, where that is an MCP endpoint. */
  readonly resource: string | undefined;
  readonly now: Date;
}

/** Whom the token stands for. It opens the one address that it was made for, and nothing else (RFC 8707). */
export async function accessHolder(
  { token, app }: ShownAccess,
  { store, catalog, resource, now }: Around,
): Promise<Principal | undefined> {
  if (resource === undefined || token.payload.aud !== resource || app.resource !== resource) return undefined;
  if (Date.parse(token.expiresAt) <= now.getTime()) return undefined;
  const found = await appPrincipal(store, app, { catalog, now });
  return typeof found === 'string' ? undefined : found;
}
