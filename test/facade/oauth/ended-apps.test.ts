import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { callsOf, rest } from '../../support/calls.ts';
import { decided, OAuthClient } from '../../support/oauth.ts';
import { serverForTests } from '../../support/server.ts';
import { cookieOf, postIdToken } from '../../support/sign-in.ts';
import { openStream } from '../../support/stream.ts';
import { WebClient } from '../../support/web-client.ts';

const server = serverForTests();
const { must } = callsOf(server);

let made = 0;
async function person(key = server.adminKey): Promise<{ id: string; email: string; cookie: string }> {
  made += 1;
  const { id, email } = await must('create_admin_user', { email: `lets-${made}@example.com` });
  const { idToken } = await must('create_sign_in_link', { email }, key);
  return { id, email, cookie: cookieOf(await postIdToken(server, idToken)) };
}

interface App {
  readonly token: string;
  readonly refresh: () => Promise<{ readonly body: { readonly error?: string } }>;
  end(): Promise<unknown>;
}

async function appOf(cookie: string, given: Readonly<Record<string, string>> = {}) {
  const client = await OAuthClient.registered(server);
  const browser = new WebClient();
  const [name = '', value = ''] = cookie.split('=');
  browser.cookies.set(new URL(server.baseUrl).origin, new Map([[name, value]]));
  await browser.open(client.authorizeUrl());
  const left = await decided(browser, { decision: 'allow', ...given });
  const { body } = await client.redeem(left.searchParams.get('code') ?? '');
  return { client, token: body.access_token, refresh: () => client.refresh(body.refresh_token) };
}

const cases: Readonly<Record<string, () => Promise<App>>> = {
  'its person is deactivated': async () => {
    const { id, cookie } = await person();
    return { ...(await appOf(cookie)), end: () => must('deactivate_admin_user', { id }) };
  },
  'its person gets another e-mail': async () => {
    const { id, email, cookie } = await person();
    return { ...(await appOf(cookie)), end: () => must('update_admin_user', { id, email: `new-${email}` }) };
  },
  'its person disconnects it': async () => {
    const { id: userId, cookie } = await person();
    const app = await appOf(cookie);
    const [{ id }] = (await must('list_connected_apps', { userId })).data;
    return { ...app, end: () => must('disconnect_app', { id }, cookie) };
  },
  'its client is deleted': async () => {
    const { client, ...app } = await appOf((await person()).cookie);
    const { data } = await must('list_oauth_clients', { kind: 'registered' });
    const { id } = data.find(({ clientId }: { clientId: string }) => clientId === client.clientId);
    return { ...app, end: () => must('delete_oauth_client', { id }) };
  },
  'its capsule is disabled': async () => {
    const { id } = await must('create_capsule', { name: 'x', allowedTools: ['list_skills'], status: 'live' });
    const app = await appOf((await person()).cookie, { give: 'capsule', capsule: id });
    return { ...app, end: () => must('update_capsule', { id, status: 'disabled' }) };
  },
  'its capsule is deleted': async () => {
    const { id } = await must('create_capsule', { name: 'x', allowedTools: ['list_skills'], status: 'live' });
    const app = await appOf((await person()).cookie, { give: 'capsule', capsule: id });
    return { ...app, end: () => must('delete_capsule', { id }) };
  },
  'the expiring key behind the session in which it was connected is revoked': async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { id, secret } = await must('create_api_key', { name: 'links', scopes: ['admin'], expiresAt });
    const { cookie } = await person(secret);
    return { ...(await appOf(cookie)), end: () => must('revoke_api_key', { id }) };
  },
};

describe('a connected app', () => {
  for (const [when, begin] of Object.entries(cases)) {
    it(`is refused at the very next request, and its stream ends, once ${when}`, async () => {
      const { token, refresh, end } = await begin();
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_skills' } };
      const call = async () => (await rest(server, 'POST', '/api/v1/mcp', { key: token, body })).status;
      assert.equal(await call(), 200);
      const stream = await openStream(server, token);
      await end();
      assert.equal(await call(), 401);
      assert.ok((await refresh()).body.error?.startsWith('invalid_'));
      assert.equal(await Promise.race([stream.ended, delay(30_000, 'open', { ref: false })]), 'ended');
    });
  }
});
