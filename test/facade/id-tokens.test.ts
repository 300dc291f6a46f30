import assert from 'node:assert/strict';
import { createHmac, createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import jwt from 'jsonwebtoken';
import { readConfig } from '../../facade/config/config.ts';
import { readSecrets } from '../../facade/launch/secrets.ts';
import { mustCall, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { serverForTests, startTestServer, type TestServer } from '../support/server.ts';
import { cookieOf, idTokenFor, postIdToken, statusWith } from '../support/sign-in.ts';
import { envOfStore } from '../support/store.ts';

/** What a token of the server's own issuer says, and the keys it is signed with. */
async function forge(server: TestServer) {
  const config = readConfig({ DATA_DIR: server.folder, ...envOfStore });
  const { privateKey } = (await readSecrets(config, server.store, server.clock.now)).signingKeys;
  const seconds = Math.floor(Date.now() / 1000);
  const claims = {
    iss: server.baseUrl,
    aud: 'agent-admin',
    sub: 'usr_any',
    email: 'admin@localhost',
    email_verified: true,
    iat: seconds,
    exp: seconds + 600,
    jti: randomUUID(),
  };
  return { privateKey, claims, seconds };
}

async function kidOf({ baseUrl }: TestServer): Promise<string> {
  const { keys } = (await (await fetch(`${baseUrl}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] };
  return keys[0]?.kid ?? '';
}

type Change = (server: TestServer) => Promise<string>;

/** A token that would be good but for this. */
const changed =
  (change: object, key?: 'another'): Change =>
  async (server) => {
    const { privateKey, claims } = await forge(server);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const body = JSON.parse(JSON.stringify({ ...claims, ...change }));
    return jwt.sign(body, key ? other : privateKey, { algorithm: 'ES256', keyid: await kidOf(server) });
  };

async function unsigned(
  server: TestServer,
  alg: string,
  sign: (text: string) => string | Promise<string>,
): Promise<string> {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg, typ: 'JWT', kid: await kidOf(server) })}.${part((await forge(server)).claims)}`;
  return `${text}.${await sign(text)}`;
}

async function withPublicKey(server: TestServer, text: string): Promise<string> {
  const pem = createPublicKey((await forge(server)).privateKey).export({ type: 'spki', format: 'pem' });
  return createHmac('sha256', pem).update(text).digest('base64url');
}

const seconds = () => Math.floor(Date.now() / 1000);

const refusals: readonly (readonly [string, Change, RegExp])[] = [
  ['alg none', (server) => unsigned(server, 'none', () => ''), /signed with none/],
  ['HS256 with the public key', (server) => unsigned(server, 'HS256', (text) => withPublicKey(server, text)), /HS256/],
  ['another issuer', changed({ iss: 'https://id.example.com' }), /issuer/],
  ['another audience', changed({ aud: 'somebody-else' }), /audience/],
  ['a nonce that was not asked for', changed({ nonce: 'n' }), /nonce/],
  ['another key', changed({}, 'another'), /signature/],
  ['an expired token', changed({ exp: seconds() - 61 }), /expired/],
  ['a token that is not valid yet', changed({ nbf: seconds() + 120 }), /not active/],
  ['an unverified e-mail', changed({ email_verified: false }), /email_verified/],
  ['no e-mail', changed({ email: undefined }), /"email"/],
  ['an unknown user', changed({ email: 'nobody@example.com' }), /no active admin user/],
  ['a deactivated user', changed({ email: 'gone@example.com' }), /no active admin user/],
  ['a token without jti', changed({ jti: undefined }), /jti/],
  ['no token', async () => 'nothing that is a token', /malformed/],
  ['40 KB of text', async () => 'x.'.repeat(20_000), /too long/],
];

describe('an ID token that was not given for this sign-in', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
    const gone = await mustCall(server, server.adminKey, 'create_admin_user', { email: 'gone@example.com' });
    await mustCall(server, server.adminKey, 'deactivate_admin_user', { id: gone.id });
  });
  after(() => server.close());

  for (const [what, make, reason] of refusals) {
    it(`is refused with one sentence, for the log a reason, and an entry in the audit: ${what}`, async () => {
      const idToken = await make(server);
      const answer = await postIdToken(server, idToken);
      const { requestId, ...body } = answer.body;
      assert.deepEqual([answer.status, body], [401, { error: 'Authentication required', code: 'unauthenticated' }]);
      assert.deepEqual(answer.headers.getSetCookie(), []);
      const logged = server.log.filter((line) => line.requestId === requestId && line.msg === 'sign-in refused');
      assert.match(String(logged[0]?.reason), reason);
      const [entry] = (await mustCall(server, server.adminKey, 'list_audit_entries', { tool: 'create_session' })).data;
      assert.deepEqual(
        [entry.requestId, entry.outcome, entry.code, entry.principal.type, entry.arguments],
        [requestId, 'denied', 'unauthenticated', 'anonymous', { idToken: '[redacted]' }],
      );
      assert.ok(!JSON.stringify(server.log).includes(idToken.slice(-40)));
    });
  }

  it('nothing is left of it', async () => {
    assert.equal(await server.store.sessions.count({}), 0);
    assert.equal(await server.store.usedTokens.count({}), 0);
  });
});

describe('POST /api/v1/auth/session', () => {
  const server = serverForTests();

  it('answers who is signed in and sets a cookie that scripts and other sites do not get', async () => {
    const before = Date.now();
    const { status, body, headers } = await postIdToken(server, await changed({})(server));
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), ['user', 'expiresAt']);
    assert.deepEqual([body.user.email, body.user.role], ['admin@localhost', 'owner']);
    assert.ok(Date.parse(body.user.lastSignInAt) >= before);
    const [cookie = ''] = headers.getSetCookie();
    assert.match(cookie, /^admin-session=[\w.-]+; Max-Age=43(200|199); Path=\/; HttpOnly; SameSite=Lax$/);
    const [entry] = (await mustCall(server, server.adminKey, 'list_audit_entries', { tool: 'create_session' })).data;
    assert.deepEqual(entry.principal, { type: 'session', id: body.user.id, name: 'admin@localhost' });
    assert.equal(await server.store.sessions.count({}), 1);
    assert.ok(await server.store.sessions.get(entry.recordIds[0]));
  });

  it('takes a token once, also from two at the same time', async () => {
    const idToken = await changed({})(server);
    const answers = await Promise.all([1, 2, 3].map(() => postIdToken(server, idToken)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401, 401]);
  });

  it('knows a used token as long as it would be taken, which is a minute longer than it says', async () => {
    const own = await startTestServer();
    const [used, unused] = [await changed({})(own), await changed({})(own)];
    const { exp } = jwt.decode(used) as { exp: number }; // of the claims above
    assert.equal((await postIdToken(own, used)).status, 201);
    own.clock.pass(exp * 1000 + 30_000 - own.clock.now().getTime());
    assert.equal((await postIdToken(own, used)).status, 401);
    assert.equal((await postIdToken(own, unused)).status, 201);
  });

  it('looks at the ID token alone, whatever else the request carries', async () => {
    const headers = { Authorization: 'Bearer nothing', Cookie: 'admin-session=nothing' };
    assert.equal((await postIdToken(server, await changed({})(server), headers)).status, 201);
  });

  it('says 401 and what is wrong to an input that is no ID token, and 400 to what is no JSON', async () => {
    const ask = (body: unknown) => rest(server, 'POST', '/api/v1/auth/session', { body });
    for (const body of [{}, { idToken: 7 }, { idToken: '' }, { idToken: 'x', user: 'me' }]) {
      const answer = await ask(body);
      assert.deepEqual([answer.status, answer.body.error], [401, 'Authentication required']);
      assert.ok(answer.body.issues.length > 0);
    }
    assert.equal((await ask('{')).status, 400);
    assert.equal((await ask({ idToken: 'x'.repeat(70_000) })).status, 413);
    assert.equal((await rest(server, 'POST', '/api/v1/auth/session')).status, 401);
  });
});

it('repeats of a sign-in under an idempotency key are refused, and a refused one may be made again', async () => {
  const server = await startTestServer();
  const headers = { 'Idempotency-Key': 'once' };
  assert.equal((await postIdToken(server, 'wrong', headers)).status, 401);
  const idToken = await changed({})(server);
  assert.equal((await postIdToken(server, idToken, headers)).status, 201);
  const repeat = await postIdToken(server, idToken, headers);
  assert.deepEqual([repeat.status, repeat.body.code, repeat.headers.getSetCookie()], [409, 'conflict', []]);
  const { records } = await server.store.idempotency.find({ limit: 10 });
  assert.deepEqual(pluck(records, 'answer'), [undefined]);
});

it('the key set is published to everybody and holds public keys alone', async () => {
  const server = await startTestServer();
  const response = await fetch(`${server.baseUrl}/.well-known/jwks.json`);
  const { keys } = (await response.json()) as { keys: Record<string, unknown>[] };
  assert.deepEqual(Object.keys(keys[0] ?? {}).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  const jwk = keys[0] as { kty: string };
  const idToken = await idTokenFor(server);
  const claims = jwt.verify(idToken, createPublicKey({ key: jwk, format: 'jwk' }), { algorithms: ['ES256'] });
  assert.ok(typeof claims === 'object');
  assert.deepEqual(
    [claims.iss, claims.aud, claims.email, claims.email_verified, (claims.exp ?? 0) - (claims.iat ?? 0)],
    [server.baseUrl, 'agent-admin', 'admin@localhost', true, 600],
  );
  assert.equal(await statusWith(server, cookieOf(await postIdToken(server, idToken))), 200);
});
