import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { UnauthorizedError as OldUnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { mustCall } from '../../support/calls.ts';
import { freePort } from '../../support/free-port.ts';
import { decided, OAuthClient, signedIn } from '../../support/oauth.ts';
import { OAuthHost } from '../../support/oauth-host.ts';
import { serverForTests, startTestServer, type TestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';

const server = serverForTests({ TRUSTED_PROXIES: 'loopback' });
const info = { name: 'test', version: '1' };

interface Connected {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

/** One SDK line: connects, with the person's help where that is needed. */
type Line = (
  url: string,
  host: OAuthHost,
  give: Readonly<Record<string, string>>,
) => Promise<{
  readonly client: Connected;
  /** Takes the person's answer to another question. */
  finish(give: Readonly<Record<string, string>>): Promise<void>;
}>;

const lines: Record<string, Line> = {
  async 'client 2.4'(url, host, give) {
    const transport = () =>
      new StreamableHTTPClientTransport(new URL(url), { authProvider: host as unknown as OAuthClientProvider });
    let client = new Client(info);
    let used = transport();
    try {
      await client.connect(used);
    } catch (refused) {
      assert.ok(refused instanceof UnauthorizedError, String(refused));
      await used.finishAuth((await host.agree(give)).searchParams);
      client = new Client(info);
      used = transport();
      await client.connect(used);
    }
    return {
      client: client as unknown as Connected,
      finish: async (more) => used.finishAuth((await host.agree(more)).searchParams),
    };
  },
  async 'sdk 1.32'(url, host, give) {
    const transport = () => new OldTransport(new URL(url), { authProvider: host as never });
    let client = new OldClient(info);
    let used = transport();
    const connect = () => client.connect(used as Parameters<OldClient['connect']>[0]);
    try {
      await connect();
    } catch (refused) {
      assert.ok(refused instanceof OldUnauthorizedError, String(refused));
      await used.finishAuth((await host.agree(give)).searchParams.get('code') ?? '');
      client = new OldClient(info);
      used = transport();
      await connect();
    }
    return {
      client: client as unknown as Connected,
      finish: async (more) => used.finishAuth((await host.agree(more)).searchParams.get('code') ?? ''),
    };
  },
};

async function namesOf(client: Connected): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

const newCapsule = () =>
  mustCall(server, server.adminKey, 'create_capsule', {
    name: 'Desk',
    allowedTools: ['list_agents', 'list_skills'],
    status: 'live',
  }) as Promise<{ id: string; token: string }>;

/** Names of this machine: that in the server's BASE_URL, and that which the person types. */
const NAMES = [
  ['127.0.0.1', 'localhost'],
  ['localhost', '127.0.0.1'],
] as const;

const named = new Map<string, Promise<TestServer>>();
after(async () => {
  for (const started of named.values()) await (await started).close();
});

/** A server with this name in its BASE_URL, started once. */
function serverNamed(name: string): Promise<TestServer> {
  const start = async () => {
    const port = String(await freePort());
    return startTestServer({ PORT: port, BASE_URL: `http://${name}:${port}`, TRUSTED_PROXIES: 'loopback' });
  };
  const started = named.get(name) ?? start();
  named.set(name, started);
  return started;
}

for (const [name, connect] of Object.entries(lines)) {
  describe(`${name} with nothing but the address`, () => {
    it('connects to the unified endpoint, and refreshes', async () => {
      const host = new OAuthHost(server);
      const { client } = await connect(`${server.baseUrl}/api/v1/mcp`, host, { give: 'read' });
      const names = await namesOf(client);
      assert.ok(names.includes('list_agents') && !names.includes('create_agent'));
      const { refresh_token } = host.kept.tokens as { refresh_token: string };
      server.clock.pass(16 * 60_000);
      assert.ok((await namesOf(client)).length === names.length);
      assert.notEqual((host.kept.tokens as { refresh_token: string }).refresh_token, refresh_token);
      assert.equal(host.asked.length, 1);
      await client.close();
    });

    it('connects to a capsule', async () => {
      const { id } = await newCapsule();
      const { client } = await connect(`${server.baseUrl}/api/capsules/${id}/mcp`, new OAuthHost(server), {});
      assert.deepEqual(await namesOf(client), ['list_agents', 'list_skills']);
      await client.close();
    });

    for (const [own, typed] of NAMES) {
      it(`connects by ${typed} to a server that calls itself ${own}, and refreshes`, async () => {
        const at = await serverNamed(own);
        const url = new URL('/api/v1/mcp', at.baseUrl);
        url.hostname = typed;
        const host = new OAuthHost(at);
        const { client } = await connect(url.href, host, { give: 'read' });
        assert.equal(host.asked[0]?.searchParams.get('resource'), url.href);
        const names = await namesOf(client);
        assert.ok(names.includes('list_agents') && !names.includes('create_agent'));
        at.clock.pass(16 * 60_000);
        assert.equal((await namesOf(client)).length, names.length);
        assert.equal(host.asked.length, 1);
        await client.close();
      });
    }

    it('asks the person for more when a call needs it', async () => {
      const host = new OAuthHost(server);
      const { client, finish } = await connect(`${server.baseUrl}/api/v1/mcp`, host, { give: 'read' });
      const call = () => client.callTool({ name: 'create_project', arguments: { name: `Made by ${name}` } });
      await assert.rejects(call());
      assert.equal(host.asked.length, 2);
      assert.equal(host.asked[1]?.searchParams.get('scope'), 'read write');
      await finish({ give: 'write' });
      const { structuredContent } = (await call()) as { structuredContent: { name: string } };
      assert.equal(structuredContent.name, `Made by ${name}`);
      await client.close();
    });

    it('registers again where the server forgot it', async () => {
      const host = new OAuthHost(server);
      const { client } = await connect(`${server.baseUrl}/api/v1/mcp`, host, { give: 'read' });
      const before = host.kept.client as { client_id: string };
      const { records } = await server.store.oauthClients.find({ where: { clientId: before.client_id }, limit: 1 });
      await mustCall(server, server.adminKey, 'delete_oauth_client', { id: records[0]?.id });
      await client.close();
      const again = await connect(`${server.baseUrl}/api/v1/mcp`, host, { give: 'read' });
      assert.notEqual((host.kept.client as { client_id: string }).client_id, before.client_id);
      assert.ok((await namesOf(again.client)).includes('list_agents'));
      await again.client.close();
    });
  });
}

/** Runs mcp-remote as the configuration of a desktop host does; the person agrees in a browser that it would open. */
async function throughMcpRemote(url: string, give: Readonly<Record<string, string>>): Promise<OldClient> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-remote-'));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [fileURLToPath(import.meta.resolve('mcp-remote/dist/proxy.js')), url],
    // `true` is a program that does nothing: the test is the browser.
    env: { PATH: process.env.PATH ?? '', HOME: folder, MCP_REMOTE_CONFIG_DIR: folder, BROWSER: 'true' },
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  const agreed = (async () => {
    await until(() => /visiting:\s+http\S+\s/.test(said));
    const browser = await signedIn(server);
    await browser.open(/visiting:\s+(http\S+)/.exec(said)?.[1] ?? '');
    await fetch(await decided(browser, { decision: 'allow', ...give }));
  })();
  const client = new OldClient(info);
  await Promise.all([client.connect(transport), agreed]).catch((failure) => {
    throw new Error(said, { cause: failure });
  });
  return client;
}

it('mcp-remote with nothing but the address connects to the unified endpoint and to a capsule', async () => {
  const client = await throughMcpRemote(`${server.baseUrl}/api/v1/mcp`, { give: 'read' });
  assert.ok((await namesOf(client as unknown as Connected)).includes('list_agents'));
  await client.close();
  const { id } = await newCapsule();
  const desk = await throughMcpRemote(`${server.baseUrl}/api/capsules/${id}/mcp`, {});
  assert.deepEqual(await namesOf(desk as unknown as Connected), ['list_agents', 'list_skills']);
  await desk.close();
});

it("the Inspector's command line works with an access token, as it signs nobody in", async () => {
  const { access_token } = await (await OAuthClient.registered(server)).connected();
  // It looks for its own package.json from the folder it is run in.
  const cwd = new URL('.', import.meta.resolve('@modelcontextprotocol/inspector-cli/build/index.js'));
  const header = `Authorization: Bearer ${access_token}`;
  const args = ['index.js', `${server.baseUrl}/api/v1/mcp`, '--transport', 'http', '--header', header];
  const { stdout } = await promisify(execFile)(process.execPath, [...args, '--method', 'tools/list'], { cwd });
  assert.ok((JSON.parse(stdout) as { tools: { name: string }[] }).tools.some(({ name }) => name === 'list_agents'));
});
