import { KeyObject } from 'node:crypto';
import { type CryptoKey, createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import * as oidc from 'openid-client';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Dependency } from '../../tools/context.ts';
import { ToolError } from '../../tools/errors.ts';
import {
  type Algorithm,
  CLOCK_SKEW_SECONDS,
  type TokenHeader,
  type VerifiedIdentity,
  verifyIdToken,
} from '../../tools/sign-in/id-token.ts';
import { refuseSignIn } from '../../tools/sign-in/refusal.ts';
import { Watched } from '../../tools/watched.ts';
import { isLoopback, type OidcSettings } from './config.ts';
/** An external OpenID Connect provider, asked by the authorization code flow with PKCE. */
export interface Provider extends Dependency {
  /** As people know it. */
  readonly name: string;
  /** Where to send the browser, and what to keep in it until it comes back. @throws ToolError (unavailable) */
  begin(): Promise<{ readonly url: string; readonly flow: string }>;
  /**
   * Whom the provider vouches for, from the query with which it sent the browser back. What must not be used again is the flow: its
   * nonce is the `jti`, good for as long as the flow is.
   * @throws ToolError (unauthenticated, unavailable)
   */
  finish(query: string, flow: string | undefined): Promise<VerifiedIdentity>;
}

export interface ProviderOptions extends OidcSettings {
  /** Where the provider sends browsers back to. */
  readonly redirectUri: string;
  readonly logger: Logger;
}

const TIMEOUT_SECONDS = 10;
/** After that long a provider is asked again what it supports and where; when it does not answer, what was known goes on. */
const METADATA_MS = 60 * 60 * 1000;
const RETRY_MS = 60 * 1000;
const FLOW_MS = 10 * 60 * 1000;
const ALGORITHMS: readonly Algorithm[] = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512'] as const),
];

const flowSchema = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), at: z.number() });

interface Connection {
  readonly config: oidc.Configuration;
  readonly issuer: string;
  readonly keysUri: string;
  readonly keys: JWTVerifyGetKey;
  readonly at: number;
}

export function createProvider(options: ProviderOptions): Provider {
  const server = new Watched({
    name: 'sign-in provider',
    kind: 'oidc',
    probe: discover,
    onFailure: (err) => options.logger.error({ err }, 'the sign-in provider does not work'),
  });
  let connection: Connection | undefined;
  let connecting: Promise<Connection> | undefined;
  void server.check();

  async function discover(): Promise<Connection> {
    const config = await discoverConfig(options);
    const { issuer, jwks_uri: keysUri = '', authorization_endpoint: door = '' } = config.serverMetadata();
    for (const url of [keysUri, door]) requireSafe(url, options.issuer);
    const keys = connection?.keysUri === keysUri ? connection.keys : keySet(keysUri);
    connection = { config, issuer, keysUri, keys, at: Date.now() };
    return connection;
  }

  async function connect(): Promise<Connection> {
    if (connection && Date.now() - connection.at < METADATA_MS) return connection;
    connecting ??= server.use(discover).finally(() => {
      connecting = undefined;
    });
    try {
      return await connecting;
    } catch (cause) {
      if (!connection) throw away(cause);
      connection = { ...connection, at: Date.now() - METADATA_MS + RETRY_MS };
      return connection;
    }
  }

  return {
    name: new URL(options.issuer).host,
    health: () => server.health(),
    async begin() {
      const { config } = await connect();
      const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: options.redirectUri,
        scope: 'openid email',
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, flow: JSON.stringify({ state, nonce, verifier, at: Date.now() }) };
    },
    async finish(query, kept) {
      const flow = readFlow(kept);
      const { config, issuer, keys } = await connect();
      const tokens = await redeem(config, new URL(`${options.redirectUri}?${query}`), flow);
      const identity = await verifyIdToken(tokens.id_token ?? '', {
        issuer,
        audience: options.clientId,
        algorithms: ALGORITHMS,
        keys: (header) => findKey(keys, header),
        nonce: flow.nonce,
        now: () => new Date(),
        askEmail: (subject) => oidc.fetchUserInfo(config, tokens.access_token, subject).catch(explain),
      });
      return { ...identity, jti: flow.nonce, expiresAt: new Date(flow.at + FLOW_MS) };
    },
  };
}

function discoverConfig({ issuer, clientId, clientSecret }: ProviderOptions): Promise<oidc.Configuration> {
  const execute = isLoopback(issuer) ? [oidc.allowInsecureRequests] : [];
  const metadata = { [oidc.clockTolerance]: CLOCK_SKEW_SECONDS };
  const authentication = clientSecret === undefined ? oidc.None() : secretAuthentication(clientSecret);
  return oidc.discovery(new URL(issuer), clientId, metadata, authentication, { timeout: TIMEOUT_SECONDS, execute });
}

/** In the way that the provider takes; one that does not say takes `client_secret_basic`. */
function secretAuthentication(secret: string): oidc.ClientAuth {
  const [post, basic] = [oidc.ClientSecretPost(secret), oidc.ClientSecretBasic(secret)];
  return (provider, ...rest) => {
    const known = provider.token_endpoint_auth_methods_supported ?? [];
    const way = known.includes('client_secret_post') && !known.includes('client_secret_basic') ? post : basic;
    way(provider, ...rest);
  };
}

/** What the provider names must be as safe to reach as itself. */
function requireSafe(url: string, issuer: string): void {
  if (url.startsWith('https:') || (isLoopback(issuer) && isLoopback(url))) return;
  throw new Error(`The provider names an address that is not https: ${url || '(none)'}`);
}

function readFlow(kept: string | undefined): z.infer<typeof flowSchema> {
  if (kept === undefined) throw refuseSignIn('the flow was not begun in this browser');
  const flow = flowSchema.safeParse(parse(kept));
  if (!flow.success) throw refuseSignIn('the flow was begun by another version of this server');
  if (Date.now() - flow.data.at > FLOW_MS) throw refuseSignIn('the flow was begun too long ago');
  return flow.data;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Any key may be new, and only what the provider itself just answered is asked about: so no time passes before it is asked again. */
function keySet(uri: string): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(uri), { cooldownDuration: 0 });
}

async function findKey(keys: JWTVerifyGetKey, header: TokenHeader): Promise<KeyObject | undefined> {
  try {
    const { alg, kid } = header;
    // Given only the header, a key set gives a public key of Web Crypto.
    return KeyObject.from((await keys({ alg, ...(kid !== undefined && { kid }) }, NO_TOKEN)) as CryptoKey);
  } catch (cause) {
    const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = errors;
    const none = [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported].some((type) => cause instanceof type);
    if (none) return undefined;
    throw away(cause);
  }
}

const NO_TOKEN = { payload: '', signature: '' };

function redeem(config: oidc.Configuration, callback: URL, flow: z.infer<typeof flowSchema>) {
  return oidc
    .authorizationCodeGrant(config, callback, {
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      pkceCodeVerifier: flow.verifier,
      idTokenExpected: true,
    })
    .catch(explain);
}

/** @throws ToolError: what the provider says is a refusal, that it says nothing of use is not */
function explain(cause: unknown): never {
  const code = cause instanceof oidc.ClientError ? cause.code : undefined;
  if (statusOf(cause) >= 500 || code === 'OAUTH_TIMEOUT' || cause instanceof TypeError) throw away(cause);
  throw refuseSignIn(`the provider: ${textOf(cause)}`, cause);
}

/** Of the answer that was an error, 0 where there was none. */
function statusOf(cause: unknown): number {
  if (cause instanceof oidc.ResponseBodyError) return cause.status;
  return cause instanceof oidc.ClientError && cause.cause instanceof Response ? cause.cause.status : 0;
}

/** For the log, where operators see what they set up wrongly. */
function textOf(cause: unknown): string {
  if (cause instanceof oidc.ResponseBodyError || cause instanceof oidc.AuthorizationResponseError) {
    return [cause.error, cause.error_description].filter(Boolean).join(': ');
  }
  if (!(cause instanceof Error)) return 'unreadable';
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
}

function away(cause: unknown): ToolError {
  if (cause instanceof ToolError) return cause;
  return new ToolError('unavailable', 'The sign-in provider does not answer; try again soon.', {}, cause);
}
