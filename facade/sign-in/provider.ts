import * as oidc from 'openid-client';
import { z } from 'zod';
import { parseJson } from '../../resources/json.ts';
import type { Dependency } from '../../tools/core/registry/context.ts';
import { type Algorithm, refuseSignIn, type VerifiedIdentity, verifyIdToken } from '../../tools/sign-in/id-token.ts';
import { away, findSigningKey, ProviderConnection, type ProviderConnectionOptions } from './provider-connection.ts';

/** An external OpenID Connect provider. People sign in with the authorization code flow with PKCE. */
export interface IdentityProvider extends Dependency {
  readonly name: string;
  /**
   * The address to send the browser to, and the text to store in it. `kept`: the text so far, for several windows. `again`: the provider is
   * to ask the person anew. @throws ToolError (unavailable)
   */
  begin(kept: string | undefined, again?: boolean): Promise<{ readonly url: string; readonly flows: string }>;
  /**
   * The person whom the provider confirms. The nonce of the flow is the `jti`, so that none is used twice. @throws ToolError
   * (unauthenticated, unavailable)
   */
  finish(query: string, kept: string | undefined): Promise<VerifiedIdentity>;
  /** What the browser still stores after it came back with the query. Undefined for nothing. */
  left(query: string, kept: string | undefined): string | undefined;
}

interface ProviderOptions extends ProviderConnectionOptions {
  readonly redirectUri: string;
}

const FLOW_MS = 10 * 60 * 1000;
const ALGORITHMS: readonly Algorithm[] = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512'] as const),
];

const flowSchema = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), at: z.number() });
type Flow = z.infer<typeof flowSchema>;
/** All flows of a browser are in one cookie, so their number is limited. */
const MOST_FLOWS = 3;

export function createIdentityProvider(options: ProviderOptions): IdentityProvider {
  const connection = new ProviderConnection(options);
  return {
    name: new URL(options.issuer).host,
    health: () => connection.health(),
    async begin(kept, again = false) {
      const { config } = await connection.open();
      const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: options.redirectUri,
        scope: 'openid email',
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(again && { max_age: '0' }),
      });
      const flows = [{ state, nonce, verifier, at: Date.now() }, ...(readFlows(kept) ?? [])];
      return { url: url.href, flows: JSON.stringify(flows.slice(0, MOST_FLOWS)) };
    },
    async finish(query, kept) {
      const flow = flowOf(query, kept);
      const { config, issuer, keys } = await connection.open();
      const tokens = await redeem(config, new URL(`${options.redirectUri}?${query}`), flow);
      const identity = await verifyIdToken(tokens.id_token ?? '', {
        issuer,
        audience: options.clientId,
        algorithms: ALGORITHMS,
        keys: (header) => findSigningKey(keys, header),
        nonce: flow.nonce,
        now: () => new Date(),
        askEmail: (subject) => oidc.fetchUserInfo(config, tokens.access_token, subject).catch(explain),
      });
      return { ...identity, jti: flow.nonce, expiresAt: new Date(flow.at + FLOW_MS) };
    },
    left(query, kept) {
      const flows = readFlows(kept) ?? [];
      const others = flows.filter((flow) => flow !== meant(query, flows));
      return others.length > 0 ? JSON.stringify(others) : undefined;
    },
  };
}

function flowOf(query: string, kept: string | undefined): Flow {
  if (kept === undefined) throw refuseSignIn('the flow was not begun in this browser');
  const flows = readFlows(kept);
  if (!flows) throw refuseSignIn('the flow was begun by another version of this server');
  const flow = meant(query, flows);
  if (!flow) throw refuseSignIn('the flow was not begun in this browser, or before others');
  if (Date.now() - flow.at > FLOW_MS) throw refuseSignIn('the flow was begun too long ago');
  return flow;
}

/** A provider that refuses may leave out the state. */
function meant(query: string, flows: readonly Flow[]): Flow | undefined {
  const state = new URLSearchParams(query).get('state');
  return state === null ? flows[0] : flows.find((flow) => flow.state === state);
}

/** The flows, newest first. */
function readFlows(kept = '[]'): readonly Flow[] | undefined {
  return z.array(flowSchema).safeParse(parseJson(kept)).data;
}

function redeem(config: oidc.Configuration, callback: URL, flow: Flow) {
  return oidc
    .authorizationCodeGrant(config, callback, {
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      pkceCodeVerifier: flow.verifier,
      idTokenExpected: true,
    })
    .catch(explain);
}

/** @throws ToolError. An error answer of the provider is a refusal; an unusable answer is not. */
function explain(cause: unknown): never {
  const code = cause instanceof oidc.ClientError ? cause.code : undefined;
  if (statusOf(cause) >= 500 || code === 'OAUTH_TIMEOUT' || cause instanceof TypeError) throw away(cause);
  throw refuseSignIn(`the provider: ${textOf(cause)}`, cause);
}

/** The status of the provider's error answer. 0 where there was none. */
function statusOf(cause: unknown): number {
  if (cause instanceof oidc.ResponseBodyError) return cause.status;
  return cause instanceof oidc.ClientError && cause.cause instanceof Response ? cause.cause.status : 0;
}

/** The text for the log, where operators see what they configured wrongly. */
function textOf(cause: unknown): string {
  if (cause instanceof oidc.ResponseBodyError || cause instanceof oidc.AuthorizationResponseError) {
    return [cause.error, cause.error_description].filter(Boolean).join(': ');
  }
  if (!(cause instanceof Error)) return 'unreadable';
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
}
