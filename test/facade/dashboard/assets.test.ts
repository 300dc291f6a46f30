import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mustCall } from '../../support/calls.ts';
import { freePort } from '../../support/free-port.ts';
import { serverForTests, startTestServer } from '../../support/server.ts';
import { signIn } from '../../support/sign-in.ts';
import { WebClient } from '../../support/web-client.ts';
import { nextLink, startWorkspace, type Workspace } from '../sign-in/workspace.ts';

const server = serverForTests();
const HTML = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

let cookie: string | undefined;

async function cookieOfAdmin(): Promise<string> {
  cookie ??= await signIn(server);
  return cookie;
}

async function page(path: string, headers: Record<string, string> = {}): Promise<{ response: Response; text: string }> {
  const Cookie = await cookieOfAdmin();
  const response = await fetch(`${server.baseUrl}${path}`, { headers: { ...HTML, Cookie, ...headers } });
  return { response, text: await response.text() };
}

describe('the page of the dashboard', () => {
  it('is at every path that a browser opens, and lets it do no more than it needs', async () => {
    for (const path of ['/', '/agents', '/agents/agt_1/edit?tab=versions', '/no/such/page']) {
      const { response, text } = await page(path);
      assert.equal(response.status, 200, path);
      assert.match(text, /<div id="app">/);
      const policy = response.headers.get('Content-Security-Policy') ?? '';
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
      assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'$/);
      assert.doesNotMatch(policy, /unsafe|https?:|\*/);
      assert.equal(response.headers.get('Cache-Control'), 'no-store');
    }
  });

  it('leaves other paths to programs, which get JSON', async () => {
    for (const path of ['/api/v1/none', '/assets/none.js', '/oauth/none', '/.well-known/none', '/sign-in/none']) {
      const { response } = await page(path);
      assert.equal(response.status, 404, path);
      assert.match(response.headers.get('Content-Type') ?? '', /^application\/json/);
    }
    const program = await fetch(`${server.baseUrl}/agents`, { headers: { Cookie: await cookieOfAdmin() } });
    assert.equal(program.status, 404);
  });

  it('writes the name of the workspace and of the person as the texts they are', async () => {
    const planted = '</script><img src=x onerror=alert(1)>';
    await mustCall(server, server.adminKey, 'update_settings', { workspaceName: planted });
    const { text } = await page('/');
    assert.doesNotMatch(text, /<img/);
    const [, boot = ''] = /<script type="application\/json" id="boot">(.*?)<\/script>/s.exec(text) ?? [];
    assert.equal((JSON.parse(boot) as { workspace: string }).workspace, planted);
  });

  it('keeps the choice of light or dark, and nothing else, from its cookie', async () => {
    const Cookie = await cookieOfAdmin();
    const themed = async (theme: string) => (await page('/', { Cookie: `${Cookie}; admin-theme=${theme}` })).text;
    assert.match(await themed('dark'), /<html lang="en" data-theme="dark">/);
    assert.match(await themed('"><b>'), /<html lang="en">/);
  });

  it('begins with files that browsers keep for ever, compressed as they accept it', async () => {
    const { text } = await page('/');
    const files = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    assert.ok(files.some((path) => path.endsWith('.js')) && files.some((path) => path.endsWith('.css')), files.join());
    for (const path of files) {
      const plain = await fetch(`${server.baseUrl}${path}`, { headers: { 'Accept-Encoding': 'identity' } });
      assert.equal(plain.status, 200, path);
      assert.equal(plain.headers.get('Cache-Control'), 'public, max-age=31536000, immutable');
      assert.equal(plain.headers.get('X-Content-Type-Options'), 'nosniff');
      const body = await plain.text();
      if (path.endsWith('.woff2')) continue;
      for (const encoding of ['br', 'gzip']) {
        const packed = await fetch(`${server.baseUrl}${path}`, { headers: { 'Accept-Encoding': encoding } });
        assert.deepEqual(
          [packed.headers.get('Content-Encoding'), packed.headers.get('Vary')],
          [encoding, 'Accept-Encoding'],
        );
        assert.equal(await packed.text(), body);
      }
    }
  });

  it('first comes with less than 100 kB', async () => {
    const { text } = await page('/');
    const files = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    const sizes = await Promise.all(
      files.map(async (path) => {
        const { headers } = await fetch(`${server.baseUrl}${path}`, {
          method: 'HEAD',
          headers: { 'Accept-Encoding': 'br' },
        });
        return Number(headers.get('Content-Length'));
      }),
    );
    const sum = sizes.reduce((total, size) => total + size, text.length);
    assert.ok(sum < 100_000, `${sum} bytes: ${files.join()}`);
  });
});

describe('who is not signed in', () => {
  it('signs in and comes to the page that was asked for', async () => {
    const workspace = await startWorkspace();
    try {
      const client = new WebClient();
      const asked = await fetch(`${workspace.baseUrl}/agents/agt_1?tab=versions`, {
        headers: HTML,
        redirect: 'manual',
      });
      assert.deepEqual([asked.status, asked.headers.get('Location')], [303, '/sign-in']);
      const [kept = ''] = asked.headers.getSetCookie().filter((cookie) => cookie.startsWith('admin-return='));
      const [name = '', value = ''] = (kept.split(';')[0] ?? '').split('=');
      client.cookies.set(new URL(workspace.baseUrl).origin, new Map([[name, value]]));
      await client.open(`${workspace.baseUrl}/sign-in`);
      await client.send({ email: 'ada@example.com' });
      await client.open(await nextLink(workspace));
      await client.send();
      assert.equal(client.page.url.pathname + client.page.url.search, '/agents/agt_1?tab=versions');
      assert.doesNotMatch(client.cookieHeader(workspace.baseUrl), /admin-return/);
    } finally {
      await workspace.close();
    }
  });

  it('is led to no other server by a made-up path', async () => {
    const workspace = await startWorkspace();
    try {
      for (const path of ['//evil.example', '/\\evil.example', 'https://evil.example']) {
        assert.equal(await returningTo(workspace, path), '/', path);
      }
      assert.equal(await returningTo(workspace, '/flows'), '/flows');
    } finally {
      await workspace.close();
    }
  });
});

/** Where signing in leads with this path in the cookie. */
async function returningTo(workspace: Workspace, path: string): Promise<string | null> {
  const client = new WebClient();
  await client.open(`${workspace.baseUrl}/sign-in`);
  await client.send({ email: 'ada@example.com' });
  const link = await client.open(await nextLink(workspace));
  const member = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(link.text)?.[1] ?? '';
  const answer = await fetch(`${workspace.baseUrl}/sign-in/link`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ form: member('form'), token: member('token') }),
    headers: {
      Origin: workspace.baseUrl,
      Cookie: `${client.cookieHeader(workspace.baseUrl)}; admin-return=${encodeURIComponent(path)}`,
    },
  });
  return answer.headers.get('Location');
}

it('a server behind a path serves the dashboard below it', async () => {
  const port = await freePort();
  const behind = await startTestServer({ BASE_URL: 'http://127.0.0.1:1/ops', PORT: String(port) });
  const baseUrl = `http://127.0.0.1:${port}`;
  try {
    const Cookie = await signIn({ ...behind, baseUrl });
    const response = await fetch(baseUrl, { headers: { ...HTML, Cookie } });
    const text = await response.text();
    assert.match(text, /src="\/ops\/assets\/main-/);
    assert.match(text, /"base":"\/ops"/);
  } finally {
    await behind.close();
  }
});
