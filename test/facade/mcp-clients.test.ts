import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { settingsTools } from '../../tools/settings/settings.ts';
import { deferred } from '../support/deferred.ts';
import { FULL } from '../support/full.ts';
import { lazyChecks, oldLazyChecks } from '../support/mcp-validators.ts';
import { waiting } from './mcp-fixture-tools.ts';
import { startMcpServer, tokens } from './mcp-server.ts';

const info = { name: 'test', version: '1' };
const requestInit = { headers: { Authorization: `Bearer ${tokens.admin}` } };

const [guest] = settingsTools;
assert.ok(guest);

const server = await startMcpServer();

interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  call(
    name: string,
    input: object,
    options?: { signal?: AbortSignal; onprogress?: (progress: unknown) => void },
  ): Promise<AnyResult>;
  close(): Promise<void>;
}

interface AnyResult {
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
  readonly content: unknown;
}

async function newClient(
  url: string,
  options: object,
): Promise<AnyClient & { version: string | undefined; client: Client }> {
  const client = new Client(info, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return {
    client,
    version: client.getNegotiatedProtocolVersion(),
    listTools: () => client.listTools(),
    call: (name, input, asked) => client.callTool({ name, arguments: { ...input } }, asked) as Promise<AnyResult>, // no task
    close: () => client.close(),
  };
}

async function oldClient(url: string, options: object = {}): Promise<AnyClient & { client: OldClient }> {
  const client = new OldClient(info, options);
  // The old transport's type allows members to be undefined that its interface does not.
  await client.connect(new OldTransport(new URL(url), { requestInit }) as Parameters<OldClient['connect']>[0]);
  return {
    client,
    listTools: () => client.listTools(),
    call: (name, input, asked) =>
      client.callTool({ name, arguments: { ...input } }, undefined, asked) as Promise<AnyResult>, // no task
    close: () => client.close(),
  };
}

/** `isLazy`: the client makes the check of a tool's answers when it calls the tool. */
const lines: readonly [string, (url: string, isLazy: boolean) => Promise<AnyClient>][] = [
  ['the client of SDK 2 as it comes', (url, isLazy) => newClient(url, isLazy ? lazyChecks() : {})],
  [
    'the client of SDK 2 negotiating',
    (url, isLazy) => newClient(url, { versionNegotiation: { mode: 'auto' }, ...(isLazy && lazyChecks()) }),
  ],
  ['the client of SDK 1', (url, isLazy) => oldClient(url, isLazy ? oldLazyChecks() : {})],
];

for (const path of ['url', 'sdkUrl'] as const) {
  for (const [title, connect] of lines) {
    describe(`${title}, ${path === 'url' ? 'direct path' : 'SDK path'}`, () => {
      let client: AnyClient;
      before(async () => {
        client = await connect(server[path], !FULL && path === 'sdkUrl');
      });
      after(() => client.close());

      it('lists the tools', async () => {
        const { tools } = await client.listTools();
        assert.ok(tools.some(({ name }) => name === 'get_agent'));
      });

      it('calls a tool and checks its answer against the output schema', async () => {
        const { structuredContent, isError } = await client.call('list_agents', { limit: 5 });
        assert.deepEqual(structuredContent, { data: [], nextCursor: null });
        assert.notEqual(isError, true);
      });

      it('gets the error of a failed call as a result', async () => {
        const { isError, content, structuredContent } = await client.call('get_agent', { id: 'agt_none' });
        assert.equal(isError, true);
        assert.equal(structuredContent, undefined);
        const [block] = content as { text: string }[];
        assert.equal(JSON.parse(block?.text ?? '').code, 'not_found');
      });

      it('gets -32602 for an unknown tool', async () => {
        await assert.rejects(client.call('get_agnt', {}), { code: -32602 });
      });

      it('hears the progress of a call', async () => {
        const heard: unknown[] = [];
        const { structuredContent } = await client.call(
          'count_up',
          { to: 3 },
          { onprogress: (progress) => heard.push(progress) },
        );
        assert.deepEqual(structuredContent, { count: 3 });
        assert.deepEqual(
          heard,
          [1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })),
        );
      });

      it('cancels a call', async () => {
        const controller = new AbortController();
        const label = `${title} ${path}`;
        const aborted = new Promise((resolve) => waiting.once('aborted', resolve));
        waiting.once('started', () => controller.abort());
        await assert.rejects(client.call('wait', { label }, { signal: controller.signal }));
        assert.equal(await aborted, label);
        assert.ok((await client.listTools()).tools.length > 0);
      });
    });
  }
}

describe('negotiation', () => {
  it('gives SDK 2 the revision 2026-07-28 where it asks for the newest', async () => {
    const client = await newClient(server.url, { versionNegotiation: { mode: 'auto' } });
    assert.equal(client.version, '2026-07-28');
    assert.deepEqual(client.client.getServerCapabilities()?.tools, { listChanged: true });
    await client.close();
  });

  it('gives SDK 2 as it comes and SDK 1 the revision 2025-11-25', async () => {
    const client = await newClient(server.url, {});
    assert.equal(client.version, '2025-11-25');
    const old = await oldClient(server.url);
    assert.deepEqual(old.client.getServerCapabilities()?.tools, { listChanged: false });
    assert.equal(old.client.getServerVersion()?.name, 'agent-admin');
    await Promise.all([client.close(), old.close()]);
  });

  it('notifies a subscriber of SDK 2 that the tools changed', async () => {
    const { promise: changed, resolve: heard } = deferred();
    const listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => heard() } };
    const client = await newClient(server.url, { versionNegotiation: { mode: 'auto' }, listChanged });
    let made = 0;
    const timer = setInterval(() => {
      made += 1;
      server.catalog.put('guest', [{ group: 'Guests', tool: { ...guest, name: `guest__tool_${made}` } }]);
      server.door.toolsChanged();
    }, 50);
    await changed;
    clearInterval(timer);
    await client.close();
  });
});
