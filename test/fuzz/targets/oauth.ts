import assert from 'node:assert/strict';
import { send, type WireAnswer } from '../../support/http.ts';
import { CALLBACK, challengeOf, OAuthClient } from '../../support/oauth.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { bytesOf, headAndRest, type Target } from '../target.ts';
import { requireQuiet } from './http.ts';

const ASKED =
  'response_type=code&client_id=CLIENT&redirect_uri=CALLBACK&code_challenge=CHALLENGE&code_challenge_method=S256&state=s';
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const JSON_TYPE = { 'Content-Type': 'application/json' };
const RENEWED_MS = 5000;
const RUNS = /^(javascript|data|vbscript|file|about):/i;

/** Parameters of the authorization server: the first line says where they go, words in capitals stand for what is right. */
export const oauth: Target = {
  about: 'parameters of authorization, tokens, registration and revocation',
  sources: ['facade/oauth', 'tools/apps', 'facade/http/body.ts'],
  packages: ['oidc-provider'],
  atOnce: 8,
  seeds: [
    `authorize\n${ASKED}&resource=RESOURCE`,
    `authorize\n${ASKED}&scope=read%20openid%20offline_access&prompt=none&nonce=a&max_age=0&login_hint=b`,
    `authorize\n${ASKED}&resource=RESOURCE&resource=RESOURCE%3Ftools%3Da&response_mode=query&ui_locales=de&claims=%7B%7D`,
    'authorize\nresponse_type=token&client_id=https://app.example/client.json&redirect_uri=CALLBACK&request=a.b.c&request_uri=urn:a',
    'token\ngrant_type=authorization_code&client_id=CLIENT&code=CODE&redirect_uri=CALLBACK&code_verifier=VERIFIER&resource=RESOURCE',
    'token\ngrant_type=refresh_token&client_id=CLIENT&refresh_token=REFRESH&scope=read&resource=RESOURCE',
    'token\ngrant_type=client_credentials&client_id=CLIENT&client_secret=a&client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer&client_assertion=a.b.c',
    'revoke\nclient_id=CLIENT&token=none&token_type_hint=refresh_token',
    `register\n${JSON.stringify({ client_name: 'a', redirect_uris: [CALLBACK, 'https://app.example/cb'], token_endpoint_auth_method: 'client_secret_basic', grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], scope: 'read', logo_uri: 'https://app.example/a.png', contacts: ['a@example.com'] })}`,
    bytesOf(
      `register\n${JSON.stringify({ client_name: 'ä\u202e', redirect_uris: ['com.example.app:/cb', 'http://localhost/cb', 'http://[::1]:1/cb'], application_type: 'native', jwks: { keys: [] }, client_uri: 'http://app.example' })}`,
    ),
  ],
  async open() {
    const server = await startTestServer({ LOG_LEVEL: 'error', TRUSTED_PROXIES: 'loopback' });
    const known = new Known(server);
    await known.renew();
    let network = 0;
    return {
      async run(input) {
        network += 1;
        const { head, rest } = headAndRest(input);
        const given = known.filled(rest.toString('latin1'));
        const from = { 'X-Forwarded-For': `10.${(network >> 16) & 255}.${(network >> 8) & 255}.${network & 255}` };
        const answer = await asked(server, head, given, from);
        judge(head, answer, server.baseUrl);
        if (answer.status === 200 && head === 'token') await known.spent(given, JSON.parse(answer.text));
      },
      settled: () => requireQuiet(server),
      close: () => server.close(),
    };
  },
};

/** What is right to send now. A code and a refresh token are good once. */
class Known {
  readonly #server: TestServer;
  #words: Readonly<Record<string, string>> = {};
  #renewedAt = 0;

  constructor(server: TestServer) {
    this.#server = server;
  }

  async renew(): Promise<void> {
    this.#renewedAt = performance.now();
    const client = await OAuthClient.registered(this.#server);
    const { refresh_token } = await client.connected();
    this.#words = {
      ...{ CLIENT: client.clientId, CALLBACK, CHALLENGE: challengeOf(client.verifier), VERIFIER: client.verifier },
      ...{ CODE: await client.code(), REFRESH: refresh_token, RESOURCE: client.resource },
    };
  }

  filled(text: string): string {
    return text.replace(/CLIENT|CALLBACK|CHALLENGE|VERIFIER|CODE|REFRESH|RESOURCE/g, (word) => this.#words[word] ?? '');
  }

  /** Tokens were given: for a code or a refresh token that is known, or wrongly. */
  async spent(form: string, { refresh_token: next }: { readonly refresh_token: string }): Promise<void> {
    const { CODE = '', REFRESH = '', VERIFIER = '', CLIENT = '' } = this.#words;
    const members = new URLSearchParams(form);
    const isCode = members.get('code') === CODE && members.get('code_verifier') === VERIFIER;
    assert.ok(isCode || members.get('refresh_token') === REFRESH, form);
    assert.equal(members.get('client_id'), CLIENT);
    this.#words = { ...this.#words, REFRESH: next };
    // People are asked so often and no more.
    if (!isCode || performance.now() - this.#renewedAt < RENEWED_MS) return;
    await this.renew();
  }
}

function asked(
  { baseUrl }: TestServer,
  where: string,
  given: string,
  from: Record<string, string>,
): Promise<WireAnswer> {
  const body = Buffer.from(given, 'latin1');
  if (where === 'register')
    return send(`${baseUrl}/oauth/register`, { method: 'POST', headers: { ...JSON_TYPE, ...from }, body });
  if (where === 'token' || where === 'revoke')
    return send(`${baseUrl}/oauth/${where}`, { method: 'POST', headers: { ...FORM, ...from }, body });
  const query = given
    .replace(/[^!-~]/g, (letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`)
    .replaceAll('#', '%23');
  return send(`${baseUrl}/oauth/authorize?${query.slice(0, 12_000)}`, { headers: { Accept: 'text/html', ...from } });
}

function judge(where: string, { status, headers, text }: WireAnswer, baseUrl: string): void {
  assert.ok(status < 500, text);
  const location = headers.get('location');
  if (location !== null) {
    const to = new URL(location, baseUrl);
    const isOurs = to.origin === baseUrl && /^\/(oauth|sign-in)/.test(to.pathname);
    assert.ok(isOurs || to.origin + to.pathname === CALLBACK, location);
    assert.equal(to.searchParams.get('code'), null);
  }
  if (!['token', 'revoke', 'register'].includes(where)) return;
  if (status < 300) {
    if (where === 'register')
      for (const uri of JSON.parse(text).redirect_uris) assert.ok(URL.canParse(uri) && !RUNS.test(uri), uri);
    return;
  }
  const said = JSON.parse(text);
  const { error, error_description, scope, ...more } = said;
  assert.deepEqual(more, {}, text);
  assert.ok(scope === undefined || error === 'invalid_scope', text);
  assert.match(error, /^[a-z_]+$/);
  assert.match(error_description, /^[^"\\]/);
}
