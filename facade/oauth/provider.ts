import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Configuration, JWK, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { newSecret, secretMatches } from '../../tools/core/access/key-secret.ts';
import { loadPackage } from '../../tools/core/load-package.ts';
import type { Fetch } from '../../tools/core/outbound/fetch.ts';
import { type Addresses, paths } from './addresses.ts';
import { OAuthError } from './answers.ts';
import type { Clients } from './clients.ts';
import { CAPSULE_SCOPE, SCOPES } from './metadata.ts';
import type { earlyErrors } from './problem-page.ts';
import { NoStates, type StateOptions, States } from './states.ts';

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
/** In seconds. */
export const lifetimes = {
  AccessToken: 15 * MINUTE,
  AuthorizationCode: MINUTE,
  /** A connection that is not used for so long ends. */
  RefreshToken: 30 * DAY,
  /** Then the person is asked again. */
  Grant: 365 * DAY,
  /** A person may have to wait for a mail to sign in. */
  Interaction: 60 * MINUTE,
  Session: 60 * MINUTE,
};

interface ProviderOptions extends StateOptions {
  readonly addresses: Addresses;
  readonly clients: Clients;
  readonly fetch: Fetch;
  isConnected(grantId: string): Promise<boolean>;
  renderError: NonNullable<Configuration['renderError']>;
  readonly earlyErrors: ReturnType<typeof earlyErrors>;
  /** A request failed in a way that is not an answer of the protocol. */
  onError(cause: unknown, response: ServerResponse): void;
  /** A client ended a connection, by revoking it or by showing again what was used. */
  onEnded(ended: { readonly app: string; readonly client: string | undefined; readonly by: string }): void;
}

/** The authorization server. It is large, so it is imported when it is first needed. */
export async function createProvider(options: ProviderOptions): Promise<Provider> {
  const { Provider: Library } = await loadPackage('oidc-provider', () => import('oidc-provider/lib/provider.js'));
  const provider = new Library(options.addresses.issuer, configurationOf(options));
  // Endpoint URLs are made from forwarded headers, which are overwritten from BASE_URL.
  provider.proxy = true;
  keepNames(provider);
  shapeSecrets(provider);
  provider.use(options.earlyErrors);
  provider.on('server_error', ({ res }, error) => options.onError(error, res));
  provider.on('grant.revoked', ({ oidc }, app) =>
    options.onEnded({ app, client: oidc.client?.clientId, by: oidc.route }),
  );
  return provider;
}

const clientDefaults: NonNullable<Configuration['clientDefaults']> = {
  // Allows the redirects of installed apps (RFC 8252): loopback with any port, and schemes of their own.
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  id_token_signed_response_alg: 'ES256',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
};

function configurationOf(options: ProviderOptions): Configuration {
  return {
    adapter: adapterFor(options),
    clients: [],
    clientDefaults,
    scopes: [...SCOPES, CAPSULE_SCOPE],
    responseTypes: ['code'],
    claims: {},
    jwks: { keys: [unusedKey()] },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    enabledJWA: { clientAuthSigningAlgValues: ['ES256', 'EdDSA', 'PS256', 'RS256'] },
    pkce: { required: () => true },
    allowOmittingSingleRegisteredRedirectUri: false,
    routes: { authorization: paths.authorize, token: paths.token, revocation: paths.revoke },
    cookies: { names: { session: 'oauth-session', interaction: 'oauth-interaction', resume: 'oauth-resume' } },
    features: featuresOf(options),
    interactions: {
      url: (_, { uid }) => options.addresses.at(paths.consent.replace('{id}', uid)),
      policy: alwaysAsk,
    },
    fetch: options.fetch as typeof globalThis.fetch, // it is called with addresses as text
    fetchResponseBodyLimits: { jwks_uri: 64 * 1024 },
    rotateRefreshToken: true,
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: () => false,
    clientBasedCORS: () => true,
    revokeGrantPolicy: () => true,
    async loadExistingGrant({ oidc }) {
      const grantId = oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
    },
    async findAccount(_, accountId, token) {
      const grantId = token && 'grantId' in token ? token.grantId : undefined;
      if (typeof grantId === 'string' && !(await options.isConnected(grantId))) return undefined;
      return { accountId, claims: () => ({ sub: accountId }) };
    },
    renderError: options.renderError,
    ttl: lifetimes,
  };
}

function featuresOf({ addresses }: ProviderOptions): NonNullable<Configuration['features']> {
  return {
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    dPoP: { enabled: false },
    revocation: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      async defaultResource(_, __, several) {
        if (several && several.length > 1) throw new OAuthError('invalid_target', ONE_RESOURCE);
        return several?.[0] ?? addresses.unified.url;
      },
      async getResourceServerInfo({ oidc }, url) {
        const resource = addresses.resourceNamed(url);
        if (!resource) throw new OAuthError('invalid_target', NO_RESOURCE);
        if ([oidc.params?.resource].flat().length > 1) throw new OAuthError('invalid_target', ONE_RESOURCE);
        return {
          audience: resource.url,
          scope: [...SCOPES, CAPSULE_SCOPE].join(' '),
          accessTokenFormat: 'opaque',
          accessTokenTTL: lifetimes.AccessToken,
        };
      },
    },
  };
}

const NO_RESOURCE = 'This server has no such resource; name the address of its MCP endpoint.';
const ONE_RESOURCE = 'A token is for one resource; ask for each in a request of its own.';

function adapterFor(options: ProviderOptions): NonNullable<Configuration['adapter']> {
  const clients = Object.assign(new NoStates(), { find: (id: string) => options.clients.find(id) });
  return (kind: string) => {
    if (kind === 'Client') return clients;
    return kind === 'Session' ? new NoStates() : new States(kind, options);
  };
}

/** The person is asked each time: the answer to this request is in its result, and nothing else counts. */
const alwaysAsk: NonNullable<NonNullable<Configuration['interactions']>['policy']> = [
  {
    name: 'consent',
    requestable: true,
    details: () => undefined,
    checks: [
      {
        reason: 'not_asked',
        description: 'the person has not been asked',
        error: 'consent_required',
        details: () => undefined,
        check: ({ oidc }: KoaContextWithOIDC) => oidc.result?.consent === undefined,
      },
    ] as never, // the library reads the members of the list alone
  },
];

/** The library wants a key to sign with and is never asked to: there are no ID tokens, and access tokens are opaque. */
function unusedKey(): JWK {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...(privateKey.export({ format: 'jwk' }) as JWK), alg: 'ES256', use: 'sig' }; // a JWK by its format
}

/** Stored records are recognised by the names of their classes, which a bundler may change. */
function keepNames(provider: Provider): void {
  const models = [...(Object.keys(lifetimes) as (keyof typeof lifetimes)[]), 'ReplayDetection', 'Client'] as const;
  for (const name of models) Object.defineProperty(provider[name], 'name', { value: name });
}

/** Tokens that show what they are, and secrets of clients compared by their hashes. Neither is documented by the library. */
function shapeSecrets(provider: Provider): void {
  const { AccessToken, RefreshToken, Client } = provider as unknown as Models; // members that the types leave out
  AccessToken.prototype.generateTokenId = function () {
    this.format = 'opaque';
    return newSecret('access');
  };
  RefreshToken.prototype.generateTokenId = () => newSecret('refresh');
  Client.prototype.compareClientSecret = function (secret) {
    return this.clientSecret !== undefined && secretMatches(secret, this.clientSecret);
  };
}

interface Models {
  readonly AccessToken: { readonly prototype: { format?: string; generateTokenId(): string } };
  readonly RefreshToken: { readonly prototype: { generateTokenId(): string } };
  readonly Client: { readonly prototype: { clientSecret?: string; compareClientSecret(secret: string): boolean } };
}
