import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { exportSPKI, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { mustCall, rest } from '../../support/calls.ts';
import { type Lies, newKey, type OidcIssuer, signToken, startOidcIssuer } from '../../support/oidc-issuer.ts';
import { WebClient } from '../../support/web-client.ts';
import { ADA, signInAudit, startWorkspace, type Workspace } from './workspace.ts';

const PERSON: JWTPayload = { email: 'Ada@Example.com', email_verified: true };

interface Realm {
  readonly issuer: OidcIssuer;
  readonly workspace: Workspace;
  close(): Promise<void>;
}

let realm: Realm;

async function startRealm(lies: Lies = {}): Promise<Realm> {
  const issuer = await startOidcIssuer();
  issuer.lies = lies;
  issuer.person = PERSON;
  const { url: OIDC_ISSUER, clientId: OIDC_CLIENT_ID, clientSecret: OIDC_CLIENT_SECRET } = issuer;
  const workspace = await startWorkspace({ OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET });
  return {
    issuer,
    workspace,
    async close() {
      await workspace.close();
      await issuer.close();
    },
  };
}

async function signIn({ baseUrl }: Workspace, client = new WebClient()): Promise<WebClient> {
  await client.open(`${baseUrl}/sign-in`);
  const [, label = ''] = />(Continue with [^<]*)</.exec(client.page.text) ?? [];
  await client.follow(label);
  return client;
}

async function refused(client: WebClient, workspace: Workspace, why: string): Promise<void> {
  const { status, heading, text } = client.page;
  assert.deepEqual([status, heading], [401, 'You are not signed in'], `${why}: ${text.slice(-600)}`);
  assert.doesNotMatch(client.cookieHeader(workspace.baseUrl), /admin-session/, why);
  const last = (await signInAudit(workspace)).at(-1);
  assert.deepEqual([last?.tool, last?.outcome], ['sign_in_provider', 'denied'], why);
}

const healthOf = async (workspace: Workspace) => {
  const { integrations } = await mustCall(workspace, workspace.adminKey, 'get_system_health');
  return integrations.find(({ kind }: { kind: string }) => kind === 'oidc');
};

describe('signing in with an OpenID Connect provider', () => {
  before(async () => {
    realm = await startRealm();
  });
  after(() => realm.close());

  it('ends at a page that says who is signed in, with a session like any other', async () => {
    const { workspace, issuer } = realm;
    const client = await signIn(workspace);
    assert.deepEqual([client.page.url.href, client.page.status], [`${workspace.baseUrl}/`, 200]);
    assert.match(client.page.text, /signed in as <strong>ada@example.com/);
    const headers = { Cookie: client.cookieHeader(workspace.baseUrl) };
    assert.equal((await rest(workspace, 'GET', '/api/v1/settings', { headers })).status, 200);
    assert.doesNotMatch(headers.Cookie, /admin-flow/);
    assert.deepEqual((await signInAudit(workspace)).slice(0, 2), [
      { tool: 'sign_in_provider', outcome: 'ok', door: 'rest', principal: 'anonymous' },
      { tool: 'create_session', outcome: 'ok', door: 'rest', principal: 'session' },
    ]);
    assert.equal((await healthOf(workspace))?.status, 'ok');
    assert.ok(issuer.keyRequests > 0);
  });

  it('sends a challenge, a state and a nonce of their own each time, and no more than that', async () => {
    const { workspace, issuer } = realm;
    const asked = [];
    for (let count = 0; count < 2; count += 1) {
      const { headers } = await fetch(`${workspace.baseUrl}/sign-in/oidc`, { redirect: 'manual' });
      asked.push(Object.fromEntries(new URL(headers.get('Location') ?? '').searchParams));
    }
    const [first = {}, second = {}] = asked;
    for (const name of ['state', 'nonce', 'code_challenge']) {
      assert.match(first[name] ?? '', /^[\w-]{43}$/);
      assert.notEqual(first[name], second[name], name);
    }
    const { state: _, nonce: __, code_challenge: ___, ...fixed } = first;
    assert.deepEqual(fixed, {
      client_id: issuer.clientId,
      redirect_uri: `${workspace.baseUrl}/sign-in/oidc/callback`,
      response_type: 'code',
      scope: 'openid email',
      code_challenge_method: 'S256',
    });
  });

  it('goes on when the provider changes its keys', async () => {
    const { workspace, issuer } = realm;
    await signIn(workspace);
    await issuer.rotateKeys();
    assert.equal((await signIn(workspace)).page.url.pathname, '/');
  });

  it('allows clocks to differ by a minute', async () => {
    const { workspace, issuer } = realm;
    const now = Math.floor(Date.now() / 1000);
    issuer.lies = { claims: { iat: now + 40, exp: now + 340 } };
    assert.equal((await signIn(workspace)).page.url.pathname, '/');
    issuer.lies = { claims: { iat: now - 400, exp: now - 40 } };
    assert.equal((await signIn(workspace)).page.url.pathname, '/');
    issuer.lies = {};
  });
});

it('a provider that takes client secrets only in the body of a request gets ours so, one that says nothing in a header', async () => {
  for (const token_endpoint_auth_methods_supported of [['client_secret_post'], undefined]) {
    const own = await startRealm({ metadata: { token_endpoint_auth_methods_supported } });
    try {
      assert.equal((await signIn(own.workspace)).page.url.pathname, '/');
    } finally {
      await own.close();
    }
  }
});

describe('a provider that leaves the e-mail out of its tokens', () => {
  before(async () => {
    realm = await startRealm();
  });
  after(() => realm.close());

  it('is asked for it', async () => {
    const { workspace, issuer } = realm;
    const claims = { email: undefined, email_verified: undefined };
    issuer.lies = { claims, userInfo: { sub: 'person-1', email: ADA, email_verified: true } };
    assert.equal((await signIn(workspace)).page.url.pathname, '/');
    for (const userInfo of [
      { sub: 'person-2', email: ADA, email_verified: true },
      { sub: 'person-1', email: ADA, email_verified: false },
      { sub: 'person-1', email: ADA },
      {},
    ]) {
      issuer.lies = { claims, userInfo };
      await refused(await signIn(workspace), workspace, JSON.stringify(userInfo));
    }
  });
});

const now = Math.floor(Date.now() / 1000);
const withPublicKey = async (claims: JWTPayload) => {
  const { kid, public: key } = realm.issuer.signingKey();
  const secret = Buffer.from(await exportSPKI(key));
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(secret);
};
const tampered = async (claims: JWTPayload) => {
  const [head, , signature] = (await signToken(claims, realm.issuer.signingKey())).split('.');
  const body = Buffer.from(JSON.stringify({ ...claims, email: 'admin@localhost' })).toString('base64url');
  return `${head}.${body}.${signature}`;
};

/** A server lets an address try 20 times a minute. */
const MOST_TRIED = 18;

const lies: Readonly<Record<string, Lies>> = {
  'about its name': { claims: { iss: 'https://evil.example' } },
  'about whom the token is for': { claims: { aud: 'another-client' } },
  'about whom else it is for': { claims: { aud: ['agent-admin-client', 'another'], azp: 'another' } },
  'about the nonce': { claims: { nonce: 'another' } },
  'by leaving the nonce out': { claims: { nonce: undefined } },
  'by a token that is over': { claims: { iat: now - 1000, exp: now - 500 } },
  'by a token without an end': { claims: { exp: undefined } },
  'by a token from the future': { claims: { iat: now + 1000, exp: now + 2000 } },
  'by a token that is not good yet': { claims: { nbf: now + 1000 } },
  'with an e-mail it did not check': { claims: { email_verified: false } },
  'with an e-mail of which it does not say': { claims: { email_verified: undefined } },
  'with an e-mail that is checked in words': { claims: { email_verified: 'true' } },
  'with an e-mail that is none': { claims: { email: 'ada' } },
  'with a list for an e-mail': { claims: { email: [ADA] } },
  'without a subject': { claims: { sub: undefined } },
  'with an unsigned token': { token: (claims) => new UnsecuredJWT(claims).encode() },
  'with a token signed by the public key as a secret': { token: withPublicKey },
  'with a token signed by the client secret': {
    token: (claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(realm.issuer.clientSecret)),
  },
  'with a token of another key': { token: async (claims) => signToken(claims, await newKey()) },
  'with a token of another key under its own key id': {
    token: async (claims, { kid }) => signToken(claims, { ...(await newKey()), kid }),
  },
  'with a token that was changed': { token: tampered },
  'with what is no token': { token: () => 'a.b.c' },
  'with no token': { tokenAnswer: { status: 200, body: { access_token: 'a', token_type: 'Bearer' } } },
  'with an error for a token': { tokenAnswer: { status: 400, body: { error: 'invalid_grant' } } },
  'with an answer that is no object': { tokenAnswer: { status: 200, body: [] } },
  'with a refusal': {
    callback: (url) => {
      url.search = `?error=access_denied&error_description=<script>&state=${url.searchParams.get('state')}`;
    },
  },
  'with an error of its own': {
    callback: (url) => {
      url.search = `?error=server_error&state=${url.searchParams.get('state')}`;
    },
  },
  'with another state': { callback: (url) => url.searchParams.set('state', 'another') },
  'without a state': { callback: (url) => url.searchParams.delete('state') },
  'with two states': { callback: (url) => url.searchParams.append('state', 'another') },
  'with another code': { callback: (url) => url.searchParams.set('code', 'another') },
  'without a code': { callback: (url) => url.searchParams.delete('code') },
  'about who answers': { callback: (url) => url.searchParams.set('iss', 'https://evil.example') },
};

for (let from = 0; from < Object.keys(lies).length; from += MOST_TRIED) {
  describe('a provider that lies', () => {
    before(async () => {
      realm = await startRealm();
    });
    after(() => realm.close());

    for (const [how, lie] of Object.entries(lies).slice(from, from + MOST_TRIED)) {
      it(`${how} signs nobody in`, async () => {
        const { issuer, workspace } = realm;
        issuer.lies = lie;
        await refused(await signIn(workspace), workspace, how);
        const failures = workspace.log.filter(({ level }) => Number(level) >= 50);
        assert.deepEqual(failures, [], 'a refusal is no failure of the server');
      });
    }
  });
}

describe('a provider that tells the truth', () => {
  before(async () => {
    realm = await startRealm();
  });
  after(() => realm.close());

  it('signs in nobody but active admin users', async () => {
    const { issuer, workspace } = realm;
    const { id } = await mustCall(workspace, workspace.adminKey, 'create_admin_user', { email: 'gone@example.com' });
    await mustCall(workspace, workspace.adminKey, 'deactivate_admin_user', { id });
    for (const email of ['nobody@example.com', 'gone@example.com']) {
      issuer.person = { email, email_verified: true };
      await refused(await signIn(workspace), workspace, email);
    }
    issuer.person = PERSON;
    await mustCall(workspace, workspace.adminKey, 'update_settings', { signInDomains: ['other.example'] });
    await refused(await signIn(workspace), workspace, 'domain');
    await mustCall(workspace, workspace.adminKey, 'update_settings', { signInDomains: [] });
  });
});

describe('the way back from a provider', () => {
  before(async () => {
    realm = await startRealm();
  });
  after(() => realm.close());

  /** Begins, and stops before the browser goes back; where it would go. */
  async function begin(client: WebClient): Promise<string> {
    const { workspace, issuer } = realm;
    let callback = '';
    issuer.lies = {
      codesForEver: true,
      callback: (url) => {
        callback = url.href;
        url.pathname = '/sign-in/sent';
      },
    };
    await signIn(workspace, client);
    issuer.lies = { codesForEver: true };
    return callback;
  }

  it('leads in once, even where the provider takes its codes again', async () => {
    const { workspace } = realm;
    const client = new WebClient();
    const callback = await begin(client);
    const before = new Map(client.cookies.get(workspace.baseUrl));
    assert.equal((await client.open(callback)).url.pathname, '/');
    const again = new WebClient();
    again.cookies.set(workspace.baseUrl, before);
    await again.open(callback);
    await refused(again, workspace, 'replayed');
    await client.send();
    await client.open(callback);
    await refused(client, workspace, 'the flow is gone');
  });

  it('leads in from each of two windows of a browser, in any order, each once', async () => {
    const { workspace } = realm;
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const client = new WebClient();
      const callbacks = [await begin(client), await begin(client)];
      const jar = client.cookies.get(workspace.baseUrl);
      for (const window of order) {
        assert.equal((await client.open(callbacks[window] ?? '')).url.pathname, '/', `window ${window}`);
        jar?.delete('admin-session');
      }
      await client.open(callbacks[order[0] ?? 0] ?? '');
      await refused(client, workspace, 'again');
    }
  });

  it('is for the browser that set out', async () => {
    const { workspace } = realm;
    const other = new WebClient();
    await other.open(await begin(new WebClient()));
    await refused(other, workspace, 'a browser that did not set out');
    const busy = new WebClient();
    await begin(busy);
    await busy.open(await begin(new WebClient()));
    await refused(busy, workspace, 'a callback of another');
  });

  it('is not for a flow that was kept in another browser, or changed', async () => {
    const { workspace } = realm;
    const setOut = new WebClient();
    const callback = await begin(setOut);
    const flow = setOut.cookies.get(workspace.baseUrl)?.get('admin-flow') ?? '';
    const other = new WebClient();
    await other.open(`${workspace.baseUrl}/sign-in`);
    other.cookies.get(workspace.baseUrl)?.set('admin-flow', flow);
    await other.open(callback);
    await refused(other, workspace, 'planted');
    const [body = '', signature] = flow.split('.');
    const changed = Buffer.from(body, 'base64url')
      .toString()
      .replace(/"at":\d+/, '"at":9999999999999');
    setOut.cookies
      .get(workspace.baseUrl)
      ?.set('admin-flow', `${Buffer.from(changed).toString('base64url')}.${signature}`);
    await setOut.open(callback);
    await refused(setOut, workspace, 'changed');
    const jar = setOut.cookies.get(workspace.baseUrl);
    const long = Buffer.from(body, 'base64url')
      .toString()
      .replace(/"at":\d+/, `"at":${Date.now() - 601_000}`);
    for (const text of ['{}', 'no JSON', long]) {
      const kept = Buffer.from(text).toString('base64url');
      const secret = jar?.get('admin-browser') ?? '';
      jar?.set('admin-flow', `${kept}.${createHmac('sha256', secret).update(`kept ${kept}`).digest('base64url')}`);
      await setOut.open(callback);
      await refused(setOut, workspace, text);
    }
  });

  it('can be walked too often', async () => {
    const { workspace } = realm;
    const statuses = [];
    for (let count = 0; count < 21; count += 1) {
      statuses.push((await fetch(`${workspace.baseUrl}/sign-in/oidc/callback?code=x&state=y`)).status);
    }
    assert.equal(statuses.at(-1), 429);
    assert.ok(statuses.slice(0, -1).every((status) => status === 401 || status === 429));
  });
});

describe('a provider that is away', () => {
  it('keeps no server from starting, shows in health, and is used once it is back', async () => {
    const issuer = await startOidcIssuer();
    issuer.person = PERSON;
    issuer.away = true;
    const workspace = await startWorkspace({ OIDC_ISSUER: issuer.url, OIDC_CLIENT_ID: issuer.clientId });
    try {
      assert.equal((await healthOf(workspace))?.status, 'down');
      const page = (await signIn(workspace)).page;
      assert.deepEqual([page.status, page.headers.get('Retry-After')], [503, '5']);
      assert.match(page.text, /provider does not answer/);
      issuer.away = false;
      assert.equal((await signIn(workspace)).page.url.pathname, '/', 'without a client secret too');
      assert.equal((await healthOf(workspace))?.status, 'ok');
    } finally {
      await workspace.close();
      await issuer.close();
    }
  });

  it('or fails on the way is no refusal', async () => {
    const own = await startRealm();
    const { issuer, workspace } = own;
    try {
      issuer.lies = { tokenAnswer: { status: 503, body: { error: 'temporarily_unavailable' } } };
      assert.equal((await signIn(workspace)).page.status, 503);
      issuer.lies = {
        callback: () => {
          issuer.away = true;
        },
      };
      assert.equal((await signIn(workspace)).page.status, 503);
      issuer.away = false;
      issuer.lies = {};
      assert.equal((await signIn(workspace)).page.url.pathname, '/');
    } finally {
      await own.close();
    }
  });

  it('or names another issuer, or addresses elsewhere without https, is not used', async () => {
    for (const metadata of [
      { issuer: 'https://evil.example' },
      { jwks_uri: 'http://evil.example/keys' },
      { authorization_endpoint: 'http://evil.example/authorize' },
      { jwks_uri: undefined },
    ]) {
      const issuer = await startOidcIssuer();
      issuer.lies = { metadata };
      const workspace = await startWorkspace({ OIDC_ISSUER: issuer.url, OIDC_CLIENT_ID: issuer.clientId });
      assert.equal((await signIn(workspace)).page.status, 503, JSON.stringify(metadata));
      assert.equal((await healthOf(workspace))?.status, 'down');
      await workspace.close();
      await issuer.close();
    }
  });
});

describe('confirming with an OpenID Connect provider that it is still oneself', () => {
  before(async () => {
    realm = await startRealm();
  });
  after(() => realm.close());

  it('asks the provider not to let the person pass unseen, and comes back to a page of its own', async () => {
    const { workspace, issuer } = realm;
    const client = await signIn(workspace);
    workspace.clock.pass(10 * 60_000);
    assert.equal((await client.open('/sign-in/confirmed')).heading, 'Confirm that it is you');
    const asked: URL[] = [];
    client.leave = (url) => asked.push(url);
    await client.follow(`Continue with ${new URL(issuer.url).host}`);
    assert.equal(asked[0]?.searchParams.get('max_age'), '0');
    client.leave = undefined;
    await client.open(asked[0]?.href ?? '');
    assert.deepEqual([client.page.url.pathname, client.page.heading], ['/sign-in/confirmed', 'It is you']);
    assert.equal((await client.open('/sign-in')).heading, '');
    await client.open('/sign-in/again');
    assert.equal((await client.open('/sign-in')).heading, 'Confirm that it is you');
    client.cookies.get(workspace.baseUrl)?.delete('admin-session');
    assert.equal((await client.open('/sign-in')).heading, 'Sign in to Workspace');
  });
});
