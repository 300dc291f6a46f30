import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mustCall, rest } from '../../support/calls.ts';
import { CALLBACK, OAuthClient } from '../../support/oauth.ts';
import { pluck } from '../../support/pluck.ts';
import { serverForTests } from '../../support/server.ts';
import { placesWith } from '../../support/store.ts';

const server = serverForTests();
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** In which days pass. */
const patient = serverForTests();

const connect = async () => {
  const client = await OAuthClient.registered(server);
  return { client, tokens: await client.connected() };
};

async function statusOf(token: string, path = '/api/v1/mcp'): Promise<number> {
  return (await rest(server, 'POST', path, { key: token, body: LIST })).status;
}

async function lastApp() {
  const { records } = await server.store.connectedApps.find({ limit: 1 });
  return records[0] ?? assert.fail('there is no connection');
}

describe('a code', () => {
  it('is good once; a replay by its client ends the tokens', async () => {
    const client = await OAuthClient.registered(server);
    const code = await client.code();
    const { status, body } = await client.redeem(code);
    assert.equal(status, 200);
    server.clock.pass(2000);
    const again = await client.redeem(code);
    assert.deepEqual([again.status, again.body.error], [400, 'invalid_grant']);
    assert.equal(await statusOf(body.access_token), 401);
    assert.equal((await client.refresh(body.refresh_token)).body.error, 'invalid_grant');
  });

  it('is redeemed once, however many ask at the same time', async () => {
    const client = await OAuthClient.registered(server);
    const code = await client.code();
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.redeem(code)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(400)]);
  });

  it('is of use to its client, redirect and verifier alone, and is not used up by others', async () => {
    const [client, other] = [await OAuthClient.registered(server), await OAuthClient.registered(server)];
    const code = await client.code();
    for (const [answer, error] of [
      [await other.redeem(code, { code_verifier: client.verifier }), 'invalid_grant'],
      [await client.redeem(code, { code_verifier: other.verifier }), 'invalid_grant'],
      [await client.redeem(code, { code_verifier: undefined }), 'invalid_grant'],
      [await client.redeem(code, { redirect_uri: `${CALLBACK}/x` }), 'invalid_grant'],
      [await client.redeem(code, { redirect_uri: CALLBACK.replace(/:\d+/, ':1') }), 'invalid_grant'],
      [await client.redeem(code, { redirect_uri: undefined }), 'invalid_request'],
      [await client.redeem(code, { resource: 'https://evil.example/mcp' }), 'invalid_target'],
      [
        await client.redeem(code, { resource: `${server.baseUrl}/api/capsules/cap_${'0'.repeat(26)}/mcp` }),
        'invalid_target',
      ],
      [await client.redeem(`${code.slice(0, -1)}${code.endsWith('_') ? '-' : '_'}`), 'invalid_grant'],
    ] as const) {
      assert.deepEqual([answer.status, answer.body.error], [400, error], answer.body.error_description);
    }
    assert.equal((await client.redeem(code, { resource: `${client.resource}?groups=agents` })).status, 200);
  });

  it('ends after a minute', async () => {
    const client = await OAuthClient.registered(server);
    const code = await client.code();
    server.clock.pass(MINUTE);
    assert.equal((await client.redeem(code)).body.error, 'invalid_grant');
  });
});

describe('an access token', () => {
  it('opens the address that it was made for and nothing else', async () => {
    const { tokens } = await connect();
    assert.match(tokens.access_token, /^oat_/);
    assert.equal(await statusOf(tokens.access_token), 200);
    assert.equal(await statusOf(tokens.access_token, '/api/v1/mcp?mode=search'), 200);
    const { id } = await mustCall(server, server.adminKey, 'create_capsule', {
      name: 'Another door',
      allowedTools: ['list_agents'],
      status: 'live',
    });
    assert.equal(await statusOf(tokens.access_token, `/api/capsules/${id}/mcp`), 401);
    for (const [method, path] of [
      ['GET', '/api/v1/agents'],
      ['GET', '/api/v1/auth/session'],
      ['GET', '/api/v1/openapi'],
    ] as const) {
      assert.equal((await rest(server, method, path, { key: tokens.access_token })).status, 401, path);
    }
  });

  it('lasts 15 minutes', async () => {
    const { tokens } = await connect();
    server.clock.pass(14 * MINUTE);
    assert.equal(await statusOf(tokens.access_token), 200);
    server.clock.pass(MINUTE);
    assert.equal(await statusOf(tokens.access_token), 401);
  });

  it('is asked about at each request on a connection that showed it', async () => {
    const { tokens } = await connect();
    assert.equal(await statusOf(tokens.access_token), 200);
    await mustCall(server, server.adminKey, 'disconnect_app', { id: (await lastApp()).id });
    assert.equal(await statusOf(tokens.access_token), 401);
  });

  it('is not a refresh token, nor the other way round', async () => {
    const { client, tokens } = await connect();
    assert.equal(await statusOf(tokens.refresh_token), 401);
    assert.equal((await client.refresh(tokens.access_token)).body.error, 'invalid_grant');
  });
});

describe('a refresh token', () => {
  it('rotates, and its reuse ends the connection', async () => {
    const { client, tokens } = await connect();
    const { status, body } = await client.refresh(tokens.refresh_token);
    assert.equal(status, 200);
    assert.notEqual(body.refresh_token, tokens.refresh_token);
    assert.equal(await statusOf(body.access_token), 200);
    server.clock.pass(10_000);
    assert.equal((await client.refresh(tokens.refresh_token)).body.error, 'invalid_grant');
    for (const token of [tokens.access_token, body.access_token]) assert.equal(await statusOf(token), 401);
    assert.equal((await client.refresh(body.refresh_token)).body.error, 'invalid_grant');
  });

  it('may be used again for 10 seconds, as hosts refresh at the same time from several places', async () => {
    const { client, tokens } = await connect();
    const answers = await Promise.all(Array.from({ length: 4 }, () => client.refresh(tokens.refresh_token)));
    assert.deepEqual(pluck(answers, 'status'), [200, 200, 200, 200]);
    assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 4);
    server.clock.pass(9_000);
    assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
    for (const { body } of answers) assert.equal(await statusOf(body.access_token), 200);
  });

  it('is of use to its client and resource alone, and gives no more than it had', async () => {
    const [{ client, tokens }, other] = [await connect(), await OAuthClient.registered(server)];
    assert.equal((await other.refresh(tokens.refresh_token)).body.error, 'invalid_grant');
    const wrong = { resource: `${server.baseUrl}/api/capsules/cap_${'0'.repeat(26)}/mcp` };
    assert.equal((await client.refresh(tokens.refresh_token, wrong)).body.error, 'invalid_target');
    assert.equal((await client.refresh(tokens.refresh_token, { scope: 'read write' })).body.error, 'invalid_scope');
    const usual = await client.refresh(tokens.refresh_token, {
      scope: 'read offline_access',
      resource: client.resource,
    });
    assert.deepEqual([usual.status, usual.body.scope], [200, 'read']);
  });

  it('ends when it is not used for 30 days', async () => {
    const client = await OAuthClient.registered(patient);
    const tokens = await client.connected();
    patient.clock.pass(29 * DAY);
    const { body } = await client.refresh(tokens.refresh_token);
    patient.clock.pass(30 * DAY);
    assert.equal((await client.refresh(body.refresh_token)).body.error, 'invalid_grant');
  });

  it('ends at once with its person, and with its connection', async () => {
    const email = 'leaver@example.com';
    const { id } = await mustCall(server, server.adminKey, 'create_admin_user', { email, role: 'member' });
    const client = await OAuthClient.registered(server);
    client.person = email;
    const tokens = await client.connected();
    assert.equal(await statusOf(tokens.access_token), 200);
    await mustCall(server, server.adminKey, 'deactivate_admin_user', { id });
    assert.equal(await statusOf(tokens.access_token), 401);
    assert.equal((await client.refresh(tokens.refresh_token)).body.error, 'invalid_grant');

    const { client: other, tokens: others } = await connect();
    await mustCall(server, server.adminKey, 'disconnect_app', { id: (await lastApp()).id });
    assert.equal((await other.refresh(others.refresh_token)).body.error, 'invalid_grant');
  });
});

describe('revocation', () => {
  it('ends the whole connection, by either token (RFC 7009)', async () => {
    for (const kind of ['access_token', 'refresh_token'] as const) {
      const { client, tokens } = await connect();
      const { id } = await lastApp();
      const { status } = await client.revoke(tokens[kind]);
      assert.equal(status, 200);
      assert.equal(await statusOf(tokens.access_token), 401);
      assert.equal((await client.refresh(tokens.refresh_token)).body.error, 'invalid_grant');
      assert.equal(await server.store.connectedApps.get(id), undefined);
      const said = server.log.find(({ app }) => app === id);
      assert.deepEqual([said?.client, said?.by], [client.clientId, 'revocation']);
    }
  });

  it('is for the client of the token, and answers 200 for what is no token', async () => {
    const [{ client, tokens }, other] = [await connect(), await OAuthClient.registered(server)];
    assert.equal((await client.revoke('oat_nothing')).status, 200);
    await other.revoke(tokens.refresh_token);
    assert.equal(await statusOf(tokens.access_token), 200);
    assert.equal((await new OAuthClient(server, 'ocl_none').revoke(tokens.access_token)).status, 401);
  });
});

describe('a client', () => {
  it('that is unknown gets 401 invalid_client, so that it registers again', async () => {
    const unknown = new OAuthClient(server, 'ocl_none');
    for (const answer of [await unknown.redeem('x'), await unknown.refresh('x')]) {
      assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client']);
    }
  });

  it('that was made by an administrator shows its secret, of which a hash is stored', async () => {
    const made = await mustCall(server, server.adminKey, 'create_oauth_client', {
      name: 'Our portal',
      redirectUris: [CALLBACK],
      confidential: true,
    });
    const client = new OAuthClient(server, made.clientId, made.secret);
    const code = await client.code();
    for (const secret of [undefined, 'wrong', `${made.secret}x`]) {
      const { status, body } = await new OAuthClient(server, made.clientId, secret).redeem(code);
      assert.deepEqual([status, body.error], [401, 'invalid_client'], secret);
    }
    const basic = `Basic ${Buffer.from(`${made.clientId}:${made.secret}`).toString('base64')}`;
    const form = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: client.verifier };
    const response = await fetch(`${server.baseUrl}/oauth/token`, {
      method: 'POST',
      headers: { Authorization: basic },
      body: new URLSearchParams(form),
    });
    assert.equal(response.status, 200);
    assert.ok(!JSON.stringify(await server.store.oauthClients.find({ limit: 100 })).includes(made.secret));
  });

  it('sends a form, once each member', async () => {
    const { client } = await connect();
    const post = (body: string, type = 'application/x-www-form-urlencoded') =>
      fetch(`${server.baseUrl}/oauth/token`, { method: 'POST', headers: { 'Content-Type': type }, body });
    const long = `grant_type=refresh_token&refresh_token=${'x'.repeat(20_000)}`;
    for (const [body, type, status] of [
      ['grant_type=refresh_token&grant_type=authorization_code', undefined, 400],
      ['{}', 'application/json', 415],
      [long, undefined, 413],
      [`client_id=${client.clientId}&grant_type=client_credentials`, undefined, 400],
      [`client_id=${client.clientId}&grant_type=password&username=a&password=b`, undefined, 400],
      ['', undefined, 400],
    ] as const) {
      const response = await post(body, type);
      assert.equal(response.status, status, body.slice(0, 80));
      assert.ok('error' in ((await response.json()) as object));
    }
  });
});

it('the store and the log hold no token, code, secret or id of a request as it is shown', async () => {
  const client = await OAuthClient.registered(patient, { token_endpoint_auth_method: 'client_secret_post' });
  client.person = 'second@example.com';
  await mustCall(patient, patient.adminKey, 'create_admin_user', { email: client.person, role: 'member' });
  const code = await client.code();
  const { body } = await client.redeem(code);
  await client.allowed({}, { decision: 'deny' });
  await client.refresh(body.refresh_token);
  const shown = [code, body.access_token, body.refresh_token, client.verifier, client.secret];
  assert.ok((await placesWith(patient.folder, client.clientId)).length > 0, 'what was stored is found');
  for (const secret of shown) {
    assert.ok(typeof secret === 'string' && secret.length > 20);
    assert.deepEqual(await placesWith(patient.folder, secret), []);
  }
  const log = JSON.stringify(patient.log);
  assert.ok(log.includes('"/oauth/consent/{id}"') && !/oauth\/(consent|authorize)\/[\w-]/.test(log));
  for (const secret of shown) assert.ok(!log.includes(secret ?? ''));
  const { records } = await patient.store.oauthStates.find({ where: { kind: 'Interaction' }, limit: 100 });
  assert.ok(records.every(({ payload }) => payload.jti === undefined && /\{id\}$/.test(String(payload.returnTo))));
});
