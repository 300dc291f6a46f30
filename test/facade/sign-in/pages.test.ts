import assert from 'node:assert/strict';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import { mustCall } from '../../support/calls.ts';
import { freePort } from '../../support/free-port.ts';
import { serverForTests, startTestServer } from '../../support/server.ts';
import { WebClient } from '../../support/web-client.ts';
import { signInByMail, startWorkspace } from './workspace.ts';

const server = serverForTests();
const PATHS = ['/sign-in', '/sign-in/sent', '/sign-in/link?token=x'];

async function form(): Promise<{ client: WebClient; members: URLSearchParams }> {
  const client = new WebClient();
  await client.open(`${server.baseUrl}/sign-in`);
  const [, token = ''] = /name="form" value="([^"]*)"/.exec(client.page.text) ?? [];
  return { client, members: new URLSearchParams({ form: token, email: 'ada@example.com' }) };
}

describe('the sign-in pages', () => {
  it('let a browser do no more than they need', async () => {
    for (const path of PATHS) {
      const { headers } = await fetch(`${server.baseUrl}${path}`);
      const policy = headers.get('Content-Security-Policy') ?? '';
      assert.match(
        policy,
        /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
      );
      assert.deepEqual(
        ['Cache-Control', 'X-Content-Type-Options', 'Referrer-Policy', 'X-Frame-Options'].map((name) =>
          headers.get(name),
        ),
        ['no-store', 'nosniff', 'same-origin', 'DENY'],
      );
      const [cookie = ''] = headers.getSetCookie();
      assert.match(cookie, /^admin-browser=[\w-]{43}; Max-Age=86400; Path=\/; HttpOnly; SameSite=Lax$/);
    }
  });

  it('are found by HEAD, refuse other methods, and leave other paths to the API', async () => {
    const head = await fetch(`${server.baseUrl}/sign-in`, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
    const put = await fetch(`${server.baseUrl}/sign-in`, { method: 'PUT' });
    assert.deepEqual([put.status, put.headers.get('Allow')], [405, 'HEAD, GET, POST']);
    const get = await fetch(`${server.baseUrl}/sign-out`);
    assert.deepEqual([get.status, get.headers.get('Allow')], [405, 'POST']);
    for (const path of ['/sign-in/', '/sign-in/oidc', '/sign-in/oidc/callback', '/sign-in/other', '//sign-in']) {
      assert.equal((await fetch(`${server.baseUrl}${path}`)).status, 404, path);
    }
  });

  it('are under one name, to which a browser is sent on from other names of this machine', async () => {
    const { port } = new URL(server.baseUrl);
    const client = new WebClient();
    await client.open(`http://localhost:${port}/sign-in/link?token=x`);
    assert.equal(client.page.url.href, `${server.baseUrl}/sign-in/link?token=x`);
    await client.open(`http://localhost:${port}/`);
    assert.equal(client.page.url.href, `${server.baseUrl}/sign-in`);
    assert.equal((await client.send({ email: 'ada@example.com' })).status, 200);
    const { location, status } = await new Promise<{ location: string | undefined; status: number | undefined }>(
      (resolve) =>
        request(`${server.baseUrl}//evil.example/..`, { headers: { Host: `localhost:${port}` } }, (response) => {
          response.resume();
          resolve({ location: response.headers.location, status: response.statusCode });
        }).end(),
    );
    assert.deepEqual([location, status], [undefined, 404]);
  });

  it('take forms from their own pages in the same browser alone', async () => {
    const { client, members } = await form();
    const status = async (sender: WebClient, body: URLSearchParams, headers: Record<string, string> = {}) => {
      const { cookies } = sender;
      const copy = new WebClient();
      for (const [origin, jar] of cookies) copy.cookies.set(origin, new Map(jar));
      return (await copy.post(`${server.baseUrl}/sign-in`, body, headers)).status;
    };
    assert.equal(await status(client, members), 200);
    assert.equal(await status(new WebClient(), members), 403);
    assert.equal(await status((await form()).client, members), 403);
    assert.equal(await status(client, new URLSearchParams({ email: 'ada@example.com' })), 403);
    assert.equal(await status(client, members, { Origin: 'https://evil.example' }), 403);
    assert.equal(await status(client, members, { Origin: 'null' }), 403);
    assert.equal(await status(client, members, { 'Sec-Fetch-Site': 'cross-site' }), 403);
  });

  it('refuse forms that no browser sends', async () => {
    const { client, members } = await form();
    const Cookie = client.cookieHeader(server.baseUrl);
    const post = async (body: string, type: string, more: Record<string, string> = {}) => {
      const headers = { Cookie, 'Content-Type': type, ...more };
      return (await fetch(`${server.baseUrl}/sign-in`, { method: 'POST', body, headers })).status;
    };
    const TYPE = 'application/x-www-form-urlencoded';
    assert.equal(await post('{}', 'application/json'), 415);
    assert.equal(await post(`${members}`, TYPE, { 'Content-Encoding': 'gzip' }), 415);
    assert.equal(await post(`${members}&email=eve@example.com`, TYPE), 400);
    assert.equal(await post(`${members}&x=${'x'.repeat(20_000)}`, TYPE), 413);
    assert.equal(await post('', TYPE), 403);
  });

  it('answer for their own host alone', async () => {
    const { hostname, port } = new URL(server.baseUrl);
    const answer = await new Promise<number>((resolve, reject) => {
      const asked = request({ hostname, port, path: '/sign-in', headers: { Host: 'evil.example' } }, ({ statusCode }) =>
        resolve(statusCode ?? 0),
      );
      asked.on('error', reject);
      asked.end();
    });
    assert.equal(answer, 403);
  });

  it('show what the workspace is called as the text it is', async () => {
    await mustCall(server, server.adminKey, 'update_settings', { workspaceName: '<b>Acme</b> & "Co"' });
    const client = new WebClient();
    await client.open(`${server.baseUrl}/sign-in`);
    assert.equal(client.page.heading, 'Sign in to <b>Acme</b> & "Co"');
    assert.doesNotMatch(client.page.text, /<b>/);
  });

  it('know the address by which browsers come, and keep cookies to https there', async () => {
    const port = await freePort();
    await startTestServer({ BASE_URL: 'https://admin.example.com/ops/', PORT: String(port) });
    const response = await fetch(`http://127.0.0.1:${port}/sign-in`);
    assert.match(await response.text(), /action="\/ops\/sign-in"/);
    assert.match(response.headers.getSetCookie()[0] ?? '', /^__Host-admin-browser=[^;]+; .*Path=\/; .*; Secure$/);
  });

  it('sign out whose session is over already', async () => {
    const workspace = await startWorkspace();
    const client = await signInByMail(workspace);
    const { data } = await mustCall(workspace, workspace.adminKey, 'list_sessions');
    await mustCall(workspace, workspace.adminKey, 'end_session', { id: data[0].id });
    await client.send();
    assert.deepEqual([client.page.status, client.page.url.pathname], [200, '/sign-in']);
    assert.doesNotMatch(client.cookieHeader(workspace.baseUrl), /admin-session/);
  });

  it('lead who is signed in past the sign-in page', async () => {
    const workspace = await startWorkspace();
    const client = await signInByMail(workspace);
    assert.equal((await client.open('/sign-in')).url.pathname, '/');
  });
});
