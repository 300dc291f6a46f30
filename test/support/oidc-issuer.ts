import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { onLoopback } from './loopback.ts';

/** An OpenID Connect provider on loopback. It asks no questions: every visitor is `person`. */
export interface OidcIssuer {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Claims about who signs in. */
  person: JWTPayload;
  /** How it differs from a correct provider. */
  lies: Lies;
  /** How often it was asked for its keys. */
  keyRequests: number;
  /** Signs with a new key from now on; the old one is gone. */
  rotateKeys(): Promise<void>;
  /** The keys of the provider, for a test that signs by itself. */
  signingKey(): SigningKey;
  /** Answers nothing while it is away: each request is cut off. */
  away: boolean;
  close(): Promise<void>;
}

export interface Lies {
  /** Makes the whole ID token. */
  readonly token?: (claims: JWTPayload, key: SigningKey) => Promise<string> | string;
  /** Changes the claims of a token that is otherwise in order; undefined leaves a claim out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Changes where the browser is sent back to. */
  readonly callback?: (url: URL) => void;
  /** Gives out tokens for a code again and again. */
  readonly codesForEver?: boolean;
  /** Answers of the token endpoint. */
  readonly tokenAnswer?: { readonly status: number; readonly body: unknown };
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly userInfo?: Readonly<Record<string, unknown>>;
}

export interface SigningKey {
  readonly kid: string;
  readonly private: CryptoKey;
  readonly public: CryptoKey;
}

interface Grant {
  readonly nonce: string | null;
  readonly challenge: string | null;
  readonly redirectUri: string;
}

export async function startOidcIssuer(): Promise<OidcIssuer> {
  let key = await newKey();
  const grants = new Map<string, Grant>();
  const server = createServer((request, response) => {
    if (issuer.away) return void request.socket.destroy();
    serve(request, response).catch((error) => respond(response, 500, { error: String(error) }));
  });
  const { url, close } = await onLoopback(server);
  const issuer: OidcIssuer = {
    url,
    clientId: 'agent-admin-client',
    clientSecret: 'secret with: special & characters',
    person: {},
    lies: {},
    keyRequests: 0,
    away: false,
    signingKey: () => key,
    async rotateKeys() {
      key = await newKey();
    },
    close,
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    if (pathname === '/.well-known/openid-configuration') return respond(response, 200, metadata());
    if (pathname === '/keys') return respond(response, 200, await keySet());
    if (pathname === '/authorize') return authorize(searchParams, response);
    if (pathname === '/token') return exchange(request, response);
    if (pathname === '/userinfo') {
      const known = request.headers.authorization?.startsWith('Bearer at-') ?? false;
      return known ? respond(response, 200, issuer.lies.userInfo ?? {}) : respond(response, 401, {});
    }
    respond(response, 404, {});
  }

  function metadata(): object {
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      jwks_uri: `${url}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
      ...issuer.lies.metadata,
    };
  }

  async function keySet(): Promise<object> {
    issuer.keyRequests += 1;
    return { keys: [{ ...(await exportJWK(key.public)), kid: key.kid, alg: 'RS256', use: 'sig' }] };
  }

  function authorize(asked: URLSearchParams, response: ServerResponse): void {
    if (asked.get('client_id') !== issuer.clientId || asked.get('response_type') !== 'code') {
      respond(response, 400, { error: 'invalid_request' });
      return;
    }
    const redirectUri = asked.get('redirect_uri') ?? '';
    const code = randomUUID();
    grants.set(code, { nonce: asked.get('nonce'), challenge: asked.get('code_challenge'), redirectUri });
    const back = new URL(redirectUri);
    back.searchParams.set('code', code);
    back.searchParams.set('state', asked.get('state') ?? '');
    issuer.lies.callback?.(back);
    response.writeHead(302, { Location: back.href }).end();
  }

  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = new URLSearchParams(await bodyOf(request));
    const { tokenAnswer, codesForEver } = issuer.lies;
    if (tokenAnswer) return respond(response, tokenAnswer.status, tokenAnswer.body);
    if (!isClient(request, asked)) return respond(response, 401, { error: 'invalid_client' });
    const grant = grants.get(asked.get('code') ?? '');
    if (!codesForEver) grants.delete(asked.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(asked.get('code_verifier') ?? '')
      .digest('base64url');
    if (!grant || grant.challenge !== challenge || grant.redirectUri !== asked.get('redirect_uri')) {
      return respond(response, 400, { error: 'invalid_grant' });
    }
    respond(response, 200, {
      access_token: `at-${randomUUID()}`,
      token_type: 'Bearer',
      expires_in: 60,
      id_token: await idToken(grant),
    });
  }

  function isClient({ headers }: IncomingMessage, asked: URLSearchParams): boolean {
    const [way, value = ''] = (headers.authorization ?? '').split(' ');
    const known = issuer.lies.metadata?.token_endpoint_auth_methods_supported;
    if (way !== 'Basic') {
      const posted = asked.get('client_secret') ?? undefined;
      const expected = known === undefined ? undefined : issuer.clientSecret;
      return asked.get('client_id') === issuer.clientId && posted === expected;
    }
    if (Array.isArray(known) && !known.includes('client_secret_basic')) return false;
    const [id = '', secret = ''] = Buffer.from(value, 'base64').toString().split(':');
    const formDecode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
    return formDecode(id) === issuer.clientId && formDecode(secret) === issuer.clientSecret;
  }

  async function idToken({ nonce }: Grant): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const usual: JWTPayload = { iss: url, aud: issuer.clientId, sub: 'person-1', iat: now, exp: now + 300 };
    const claims = { ...usual, ...(nonce !== null && { nonce }), ...issuer.person, ...issuer.lies.claims };
    const told = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
    return issuer.lies.token ? issuer.lies.token(told, key) : signToken(told, key);
  }

  return issuer;
}

/** A token as the provider signs it. */
export function signToken(claims: JWTPayload, { kid, private: privateKey }: SigningKey): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
}

export async function newKey(): Promise<SigningKey> {
  const pair = await generateKeyPair('RS256', { extractable: true });
  return { kid: randomUUID(), private: pair.privateKey, public: pair.publicKey };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
