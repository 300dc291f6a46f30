import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { guides } from '../../facade/guides/guides.ts';
import { followGuide, startsServer } from '../support/guide-world.ts';
import { OAuthHost } from '../support/oauth-host.ts';
import { serverForTests } from '../support/server.ts';
import { blocksOf, isCommand, isConfig, isRun, requireKnownMarks } from '../support/shown-commands.ts';

const MOST_BYTES = 6000;
/** The threat model is looked up, not followed: its tables name every door and attack with the tests of their guards. */
const MOST_BYTES_OF: Readonly<Record<string, number>> = { 'threat-model': 12_000 };
const pages = guides.filter(({ kind }) => kind === 'guide');

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The first line of each block of commands that no test runs, by page. */
const NOT_RUN: Readonly<Record<string, readonly string[]>> = {
  'connect-a-client': [
    'claude mcp add --transport http agent-admin "$BASE_URL/api/v1/mcp?auth=key" --header "Authorization: Bearer $CLIENT_KEY"',
    'npx @modelcontextprotocol/inspector --cli "$BASE_URL/api/v1/mcp" --transport http --header "Authorization: Bearer $CLIENT_KEY" --method tools/call --tool-name list_agents',
    'claude mcp add --transport http agent-admin $BASE_URL/api/v1/mcp   # then /mcp in Claude Code, Authenticate',
    'claude plugin marketplace add ./   # in the folder of the project, or its repository',
  ],
  'use-from-openai-clients': ['npm install openai'],
  'connect-a-model': ['ollama pull llama3.2'],
  'backup-restore-upgrade': ['git pull && npm ci --omit=dev && npm start'],
  'audit-proof': [
    'npm run tool -- verify_audit',
    'npm run verify-audit -- backup-folder --key <public key> --head <number>:<hash>',
  ],
  deploy: [
    'docker build -f facade/deploy/Dockerfile -t agent-admin .',
    'npm install --prefix /opt/agent-admin ./agent-admin-1.0.0.tgz  # made by npm pack in the project',
    'docker compose -f facade/deploy/compose.yaml up -d --build',
    'docker compose -f facade/deploy/compose.yaml build server-1',
  ],
};

// Each runs programs in a folder of its own, and mostly waits for them.
describe('the guides', { concurrency: 2 }, () => {
  it('are short', () => {
    for (const { name, markdown } of pages) {
      const bytes = Buffer.byteLength(markdown);
      assert.ok(bytes < (MOST_BYTES_OF[name] ?? MOST_BYTES), `${name}: ${bytes} bytes`);
    }
  });

  it('mark the commands that only people can run', () => {
    const left = pages.flatMap(({ name, markdown }) => {
      const blocks = blocksOf(markdown);
      requireKnownMarks(blocks);
      const lines = blocks.filter((block) => isCommand(block) && !isRun(block)).map(({ text }) => text.split('\n')[0]);
      return lines.length > 0 ? [[name, lines] as const] : [];
    });
    assert.deepEqual(Object.fromEntries(left), NOT_RUN);
  });

  for (const guide of pages.filter((each) => !startsServer(each)))
    it(`${guide.name} works as pasted`, () => followGuide(guide));
});

/** A server as the files of clients name it. */
type ServerEntry =
  | { readonly command: string; readonly args: string[]; readonly env: Record<string, string> }
  | RemoteEntry;
interface RemoteEntry {
  readonly url: string;
  readonly headers?: Record<string, string>;
}

describe('the files of clients in the guides', () => {
  const server = serverForTests();

  /** As a person fills it in, and as the client fills in what it asks for or takes from its environment. */
  function entriesIn(text: string): ServerEntry[] {
    const filled = text
      .replaceAll('/path/to/agent-admin/', root)
      .replaceAll('http://127.0.0.1:3000', server.baseUrl)
      .replaceAll(/ak_\.\.\.|\$\{(CLIENT_KEY|input:[\w-]+)\}/g, server.adminKey);
    const { mcpServers, servers = mcpServers } = JSON.parse(filled);
    return Object.values(servers);
  }

  async function connected(entry: ServerEntry): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' });
    if ('command' in entry) await client.connect(new StdioClientTransport({ ...entry, stderr: 'ignore' }));
    else if (entry.headers) {
      await client.connect(
        new StreamableHTTPClientTransport(new URL(entry.url), { requestInit: { headers: entry.headers } }),
      );
    } else return signedInAt(entry);
    return client;
  }

  async function signedInAt({ url }: RemoteEntry): Promise<Client> {
    const host = new OAuthHost(server);
    const transport = () =>
      new StreamableHTTPClientTransport(new URL(url), { authProvider: host as unknown as OAuthClientProvider }); // of both SDK lines
    const asking = transport();
    await assert.rejects(new Client({ name: 'test', version: '1' }).connect(asking), UnauthorizedError);
    await asking.finishAuth((await host.agree({ give: 'read' })).searchParams);
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport());
    return client;
  }

  for (const { name, markdown } of guides)
    for (const { text } of blocksOf(markdown).filter(isConfig))
      it(`connect: ${name}, ${text.replaceAll(/\s+/g, ' ').slice(0, 100)}`, async () => {
        const entries = entriesIn(text);
        assert.ok(entries.length > 0);
        for (const entry of entries) {
          const client = await connected(entry);
          const names = (await client.listTools()).tools.map((tool) => tool.name);
          assert.ok(names.includes('list_agents') || names.includes('call_tool'), names.join());
          await client.close();
        }
      });

  it('are there for a program, a key and a sign-in', () => {
    const all = guides.flatMap(({ markdown }) =>
      blocksOf(markdown)
        .filter(isConfig)
        .flatMap(({ text }) => entriesIn(text)),
    );
    assert.ok(all.some((entry) => 'command' in entry));
    assert.ok(all.some((entry) => 'headers' in entry));
    assert.ok(all.some((entry) => 'url' in entry && !entry.headers));
  });
});
