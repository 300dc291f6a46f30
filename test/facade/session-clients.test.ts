import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { mustCall, rest } from '../support/calls.ts';
import { lazyChecks, oldLazyChecks } from '../support/mcp-validators.ts';
import { serverForTests } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';

const info = { name: 'test', version: '1' };

const server = serverForTests();
interface AnyClient {
  names(): Promise<string[]>;
  call(name: string, input: Record<string, unknown>): Promise<unknown>;
  close(): Promise<void>;
}

async function newClient(url: URL, requestInit: RequestInit, options: object): Promise<AnyClient> {
  const client = new Client(info, { ...options, ...lazyChecks() });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input) => (await client.callTool({ name, arguments: input })).structuredContent,
    close: () => client.close(),
  };
}

async function oldClient(url: URL, requestInit: RequestInit): Promise<AnyClient> {
  const client = new OldClient(info, oldLazyChecks());
  // The old transport's type allows members to be undefined that its interface does not.
  await client.connect(new OldTransport(url, { requestInit }) as Parameters<OldClient['connect']>[0]);
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input) => (await client.callTool({ name, arguments: input })).structuredContent,
    close: () => client.close(),
  };
}

const lines: readonly [string, (url: URL, init: RequestInit) => Promise<AnyClient>][] = [
  ['the client of SDK 2 as it comes', (url, init) => newClient(url, init, {})],
  ['the client of SDK 2 negotiating', (url, init) => newClient(url, init, { versionNegotiation: { mode: 'auto' } })],
  ['the client of SDK 1', oldClient],
];

for (const [title, connect] of lines) {
  describe(`${title} with the cookie of a session`, () => {
    it('lists and calls what an admin key does, as the person, until the session ends', async () => {
      const cookie = await signIn(server);
      const headers = { Cookie: cookie, 'X-Agent-Admin-Door': 'dashboard' };
      const client = await connect(new URL('/api/v1/mcp', server.baseUrl), { headers });
      assert.ok((await client.names()).includes('create_sign_in_link'));
      const name = `agent of ${title}`;
      const made = (await client.call('create_agent', { name, displayName: 'x' })) as { id: string; revision: number };
      assert.equal(made.revision, 1);
      const entries = await mustCall(server, server.adminKey, 'list_audit_entries', { tool: 'create_agent', limit: 1 });
      const { principal, door } = entries.data[0];
      assert.deepEqual([principal.type, principal.name, door], ['session', 'admin@localhost', 'dashboard']);
      await rest(server, 'DELETE', '/api/v1/auth/session', { key: cookie });
      await assert.rejects(client.call('get_agent', { id: made.id }));
      await client.close();
    });
  });
}
