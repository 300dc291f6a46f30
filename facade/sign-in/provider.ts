import * as oidc from 'openid-client';
import { z } from 'zod';
import type { Dependency } from '../../tools/context.ts';
import { type Algorithm, type VerifiedIdentity, verifyIdToken } from '../../tools/sign-in/id-token.ts';
import { refuseSignIn } from '../../tools/sign-in/refusal.ts';
import { away, type ConnectionOptions, findKey, ProviderConnection } from './provider-connection.ts';

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

export interface ProviderOptions extends ConnectionOptions {
  /** Where the provider sends browsers back to. */
  readonly redirectUri: string;
}

const FLOW_MS = 10 * 60 * 1000;
const ALGORITHMS: readonly Algorithm[] = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512'] as const),
];

const flowSchema = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), at: z.number() });

export function createProvider(options: ProviderOptions): Provider {
  const connection = new ProviderConnection(options);
  return {
    name: new URL(options.issuer).host,
    health: () => connection.health(),
    async begin() {
      const { config } = await connection.open();
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
      const { config, issuer, keys } = await connection.open();
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
