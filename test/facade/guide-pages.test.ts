import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findGuide, guides } from '../../facade/guides/guides.ts';
import { createRenderer } from '../../facade/guides/render.ts';
import { makeCapsule, makeKey } from '../support/calls.ts';
import { freePort } from '../support/free-port.ts';
import { serverForTests, startTestServer } from '../support/server.ts';
import { legacy, type Params, post } from './mcp-requests.ts';

const server = serverForTests();
const HTML = { Accept: 'text/html' };

async function page(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.baseUrl}${path}`, { headers: { ...HTML, ...headers } });
  return { response, text: await response.text() };
}

describe('the pages of the guides', () => {
  it('are open to everybody, and listed in the index', async () => {
    const index = await page('/guides');
    assert.equal(index.response.status, 200);
    for (const { name, title, kind } of guides) {
      const { response, text } = await page(`/guides/${name}`);
      assert.equal(response.status, 200, name);
      assert.equal(response.headers.get('Content-Type'), 'text/html; charset=utf-8');
      assert.match(text, /<main class="prose guide">\n<h1 id=/);
      const at = index.text.indexOf(`<a href="/guides/${name}"><strong>${title.replaceAll('&', '&amp;')}</strong>`);
      assert.ok(at > 0, name);
      const reference = index.text.lastIndexOf('<h2>Reference</h2>');
      assert.equal(reference > 0 && at > reference, kind === 'reference', name);
    }
  });

  it('load the looks of the dashboard, and run nothing', async () => {
    const { response, text } = await page('/guides/connect-a-client');
    const policy = response.headers.get('Content-Security-Policy') ?? '';
    assert.match(policy, /^default-src 'none'; style-src 'self' 'sha256-[\w+/=]+'; font-src 'self'; img-src 'self';/);
    assert.doesNotMatch(policy, /unsafe|script-src|\*/);
    assert.doesNotMatch(text, /<script|style="| on\w+=/);
    const [, sheet = ''] = /<link rel="stylesheet" href="([^"]+)">/.exec(text) ?? [];
    assert.equal((await fetch(`${server.baseUrl}${sheet}`)).status, 200);
    assert.match((await page('/guides', { Cookie: 'admin-theme=dark' })).text, /<html lang="en" data-theme="dark">/);
  });

  it('are sent again only when they changed', async () => {
    const { response } = await page('/guides/connect-a-client');
    const etag = response.headers.get('ETag') ?? assert.fail('It has no ETag.');
    assert.equal(response.headers.get('Cache-Control'), 'no-cache');
    const again = await page('/guides/connect-a-client', { 'If-None-Match': etag });
    assert.deepEqual([again.response.status, again.text, again.response.headers.get('ETag')], [304, '', etag]);
    const dark = await page('/guides/connect-a-client', { 'If-None-Match': etag, Cookie: 'admin-theme=dark' });
    assert.equal(dark.response.status, 200);
    const other = await page('/guides', { 'If-None-Match': etag });
    assert.equal(other.response.status, 200);
  });

  it('answer other names with the list of those there are, and other methods as every path', async () => {
    for (const name of ['none', '404', '..%2Fpages.ts', 'style.css', '%00']) {
      const { response, text } = await page(`/guides/${name}`);
      assert.equal(response.status, 404, name);
      assert.match(text, /There is no such page/);
    }
    const posted = await fetch(`${server.baseUrl}/guides`, { method: 'POST' });
    assert.deepEqual([posted.status, posted.headers.get('Allow')], [405, 'HEAD, GET']);
    const head = await fetch(`${server.baseUrl}/guides`, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
  });

  it('link to each other below the path of the server, also behind a proxy that adds one', async () => {
    const port = String(await freePort());
    await startTestServer({ BASE_URL: 'https://example.com/admin', PORT: port });
    const text = await (await fetch(`http://127.0.0.1:${port}/guides`)).text();
    assert.ok(text.includes('href="/admin/guides/connect-a-client"'));
    assert.doesNotMatch(text, /href="\/(guides|assets)/);
  });
});

describe('the text of a guide', () => {
  const render = createRenderer('');
  const shown = (markdown: string) => render(markdown).text;

  it('is never markup', () => {
    assert.equal(
      shown('a <b>bold</b> <script>alert(1)</script>'),
      '<p>a &lt;b&gt;bold&lt;/b&gt; &lt;script&gt;alert(1)&lt;/script&gt;</p>\n',
    );
    assert.doesNotMatch(
      shown('<img src=x onerror=alert(1)>\n\n<style>x</style>\n\n# <i>t</i>\n\n| <u>a</u> |\n| --- |\n| <b>c</b> |'),
      /<(img|style|i|u|b)[ >]/,
    );
    assert.doesNotMatch(shown('```sh\n</code><script>\n```\n\n`</code><b>`'), /<script|<b>/);
  });

  it('leaves out comments', () => {
    assert.equal(shown('a\n\n<!-- limits: generated -->\n\nb <!-- x\ny --> c'), '<p>a</p>\n<p>b  c</p>\n');
    assert.doesNotMatch(shown('<!-- a --><script>b</script>'), /<script|<!--/);
  });

  it('leads to pages of the folder, to places of the page and to web addresses alone', () => {
    assert.match(shown('[a](deploy.md)'), /<a href="\/guides\/deploy">a<\/a>/);
    assert.match(shown('[a](deploy.md#backups)'), /<a href="\/guides\/deploy#backups">a<\/a>/);
    assert.match(shown('[a](#backups)'), /<a href="#backups">a<\/a>/);
    assert.match(shown('[a](https://example.com/?a=1&b=2)'), /<a href="https:\/\/example.com\/\?a=1&amp;b=2">a<\/a>/);
    for (const other of ['javascript:alert(1)', '../README.md', 'data:text/html,x', '/etc/passwd', 'file:///x'])
      assert.equal(shown(`[a](${other})`), '<p>a</p>\n', other);
  });
});

describe('the guides over MCP', () => {
  const ask = async (path: string, token: string, method: string, params: Params = {}) =>
    (await post(`${server.baseUrl}${path}`, legacy(method, params), { token })).body;

  it('are resources for everybody, after the records', async () => {
    const nobody = await makeKey(server, { grants: ['goal:write'] });
    for (const token of [server.adminKey, nobody]) {
      const { result } = await ask('/api/v1/mcp', token, 'resources/list');
      const listed = result.resources.filter(({ uri }: { uri: string }) => uri.startsWith('guide://'));
      assert.deepEqual(
        listed,
        guides.map(({ name, title, summary, markdown }) => ({
          ...{ uri: `guide://${name}`, name, title, description: summary },
          ...{ mimeType: 'text/markdown', size: Buffer.byteLength(markdown) },
        })),
      );
      const [{ uri, mimeType, text }] = (
        await ask('/api/v1/mcp', token, 'resources/read', { uri: 'guide://connect-a-client' })
      ).result.contents;
      assert.deepEqual(
        [uri, mimeType, text],
        ['guide://connect-a-client', 'text/markdown', findGuide('connect-a-client')?.markdown],
      );
    }
  });

  it('are read by their exact names alone', async () => {
    for (const uri of 'guide://none guide:// guide://connect-a-client.md guide://../../package guide:///connect-a-client'.split(
      ' ',
    )) {
      const { error } = await ask('/api/v1/mcp', server.adminKey, 'resources/read', { uri });
      assert.equal(error.code, -32602, uri);
      assert.match(error.message, /no guide at this URI; resources\/list/);
    }
  });

  it('are no part of a capsule', async () => {
    const capsule = await makeCapsule(server, { allowedTools: ['list_agents', 'get_agent'] });
    const path = `/api/capsules/${capsule.id}/mcp`;
    const { result } = await ask(path, capsule.token, 'resources/list');
    assert.ok(result.resources.every(({ uri }: { uri: string }) => !uri.startsWith('guide://')));
    const { error } = await ask(path, capsule.token, 'resources/read', { uri: 'guide://connect-a-client' });
    assert.match(error.message, /no guide at this URI/);
  });
});
