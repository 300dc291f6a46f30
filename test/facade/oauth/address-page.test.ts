import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { capsuleClients } from '../../support/capsules.ts';
import { serverForTests, startTestServer, type TestServer } from '../../support/server.ts';

const server = serverForTests();
const { make } = capsuleClients(() => server);
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

async function open({ baseUrl }: Pick<TestServer, 'baseUrl'>, path: string, init: RequestInit = {}) {
  const headers = { Accept: BROWSER, 'X-Request-Id': 'same', ...init.headers };
  const response = await fetch(`${baseUrl}${path}`, { ...init, headers });
  return { response, text: await response.text(), type: response.headers.get('content-type') };
}

describe('an MCP address in a browser', () => {
  it('says what it is and how each host connects it, with the 401 that programs get', async () => {
    const { response, text, type } = await open(server, '/api/v1/mcp');
    assert.deepEqual([response.status, type], [401, 'text/html; charset=utf-8']);
    const program = await open(server, '/api/v1/mcp', { headers: { Accept: 'application/json' } });
    assert.equal(program.type, 'application/json; charset=utf-8');
    const challenge = response.headers.get('www-authenticate');
    assert.equal(challenge, program.response.headers.get('www-authenticate'));
    assert.match(challenge ?? '', /resource_metadata="/);
    assert.ok(text.includes(`<code class="address">${server.baseUrl}/api/v1/mcp</code>`));
    const hosts = [...text.matchAll(/<h2>(.*?)<\/h2>\s*<ol>(.*?)<\/ol>/gs)];
    assert.deepEqual(
      hosts.map(([, name, steps = '']) => [name, steps.match(/<li>/g)?.length]),
      ['Claude', 'ChatGPT', 'VS Code', 'Cursor', 'Claude Code'].map((name) => [name, 3]),
    );
    assert.match(text, /public https addresses only/);
    assert.ok(!/<script/i.test(text));
  });

  it('is the same for every well-formed capsule id', async () => {
    const { id } = await make({ name: 'Secret name', status: 'live' });
    const pages = await Promise.all(
      [id, 'cap_00000000000000000000000000'].map(async (each) => {
        const { response, text } = await open(server, `/api/capsules/${each}/mcp`);
        const headers = [...response.headers].filter(([name]) => name !== 'date');
        return JSON.stringify([response.status, headers, text]).replaceAll(each, 'ID');
      }),
    );
    assert.equal(pages[0], pages[1]);
    assert.ok(!pages[0]?.includes('Secret name'));
  });

  it('stays JSON for other paths, other methods and whoever is let in', async () => {
    for (const [path, init] of [
      ['/api/v1/agents', {}],
      ['/api/capsules/support/mcp', {}],
      ['/api/v1/mcp', { method: 'POST', body: '{}' }],
    ] as const) {
      const { response, type } = await open(server, path, init);
      assert.deepEqual([response.status, type], [401, 'application/json; charset=utf-8'], path);
    }
    const headers = { Authorization: `Bearer ${server.adminKey}` };
    assert.equal((await open(server, '/api/v1/mcp', { headers })).response.status, 200);
    const head = await open(server, '/api/v1/mcp', { method: 'HEAD' });
    assert.deepEqual([head.response.status, head.text, head.type], [401, '', 'text/html; charset=utf-8']);
  });

  it('speaks of keys where nobody can connect by signing in', async () => {
    const other = await startTestServer({ OAUTH: 'off' });
    const { text, response } = await open(other, '/api/v1/mcp');
    assert.equal(response.headers.get('www-authenticate'), 'Bearer');
    assert.match(text, /Authorization: Bearer/);
    assert.ok(!text.includes('Claude Code'));
  });
});
