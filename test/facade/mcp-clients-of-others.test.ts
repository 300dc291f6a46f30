import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mustCall } from '../support/calls.ts';
import { freePort } from '../support/free-port.ts';
import { judgeModule, judgesLack } from '../support/judges.ts';
import { OAuthHost } from '../support/oauth-host.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const OLD_SDKS = ['sdk-1.10', 'sdk-1.17', 'sdk-1.25'];
const skip = judgesLack('@ai-sdk/mcp', '@openai/agents-core', ...OLD_SDKS) ?? false;

// biome-ignore lint/suspicious/noExplicitAny: packages of others, without their types
type Package = any;

/** What a client of others' making can do, in one form. */
interface OtherClient {
  names(): Promise<string[]>;
  /** The text of the answer; of a failed call too, where the client does not throw. */
  call(name: string, input: object): Promise<string>;
  /** Undefined where the client has no resources. */
  read?(uri: string): Promise<string>;
  close(): Promise<unknown>;
}
type Connect = (url: string, token: string) => Promise<OtherClient>;

const load = async (name: string): Promise<Package> => import(judgeModule(name));
const info = { name: 'judge', version: '1' };
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const shown = (answer: unknown) => JSON.stringify(answer);

async function oldSdk(name: string) {
  const { Client } = await load(`${name}/client/index.js`);
  const { StreamableHTTPClientTransport } = await load(`${name}/client/streamableHttp.js`);
  const { UnauthorizedError } = await load(`${name}/client/auth.js`);
  return { Client, StreamableHTTPClientTransport, UnauthorizedError };
}

function ofSdk(client: Package): OtherClient {
  return {
    names: async () => (await client.listTools()).tools.map((tool: { name: string }) => tool.name),
    call: async (name, input) => shown(await client.callTool({ name, arguments: input })),
    read: async (uri) => shown(await client.readResource({ uri })),
    close: () => client.close(),
  };
}

const clients: Record<string, Connect> = {
  ...Object.fromEntries(
    OLD_SDKS.map((name): [string, Connect] => [
      `the SDK, ${name}`,
      async (url, token) => {
        const { Client, StreamableHTTPClientTransport } = await oldSdk(name);
        const client = new Client(info);
        const requestInit = { headers: bearer(token) };
        await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
        return ofSdk(client);
      },
    ]),
  ),
  async 'the AI SDK'(url, token) {
    const { createMCPClient } = await load('@ai-sdk/mcp');
    const client = await createMCPClient({ transport: { type: 'http', url, headers: bearer(token) } });
    return {
      names: async () => (await client.listTools()).tools.map((tool: { name: string }) => tool.name),
      call: async (name, input) => {
        const { [name]: tool } = await client.tools();
        return shown(await tool.execute(input, { messages: [], toolCallId: '1' }));
      },
      read: async (uri) => shown(await client.readResource({ uri })),
      close: () => client.close(),
    };
  },
  async 'the OpenAI Agents SDK'(url, token) {
    const { MCPServerStreamableHttp } = await load('@openai/agents-core');
    const client = new MCPServerStreamableHttp({ url, requestInit: { headers: bearer(token) }, name: 'judge' });
    await client.connect();
    return {
      names: async () => (await client.listTools()).map((tool: { name: string }) => tool.name),
      call: async (name, input) => shown(await client.callTool(name, input)),
      close: () => client.close(),
    };
  },
};

describe("MCP clients of others' making", { skip }, () => {
  let server: TestServer;
  let port: string;
  before(async () => {
    port = String(await freePort());
    server = await startTestServer({ PORT: port });
    await mustCall(server, server.adminKey, 'create_skill', { name: 'greet', instructions: 'Say hello.' });
  });
  after(() => server.close());

  for (const [name, connect] of Object.entries(clients)) {
    it(`${name} lists, calls, gets an error, and reads`, async () => {
      const client = await connect(`${server.baseUrl}/api/v1/mcp`, server.adminKey);
      const names = await client.names();
      assert.ok(names.includes('list_skills') && names.includes('create_agent'), name);
      assert.match(await client.call('list_skills', { limit: 5 }), /greet/);
      const failed = await client.call('get_skill', { id: 'skl_none' }).catch((error: Error) => error.message);
      assert.match(failed, /not_found/);
      if (client.read) assert.match(await client.read('guide://connect-a-client'), /Connect/);
      await client.close();
    });
  }

  for (const name of OLD_SDKS) {
    it(`the SDK, ${name}, connects with nothing but the address`, async () => {
      const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await oldSdk(name);
      const host = new OAuthHost(server);
      const transport = () =>
        new StreamableHTTPClientTransport(new URL(`${server.baseUrl}/api/v1/mcp`), { authProvider: host });
      const first = transport();
      await assert.rejects(new Client(info).connect(first), (error) => error instanceof UnauthorizedError);
      await first.finishAuth((await host.agree({ give: 'read' })).searchParams.get('code'));
      const client = new Client(info);
      await client.connect(transport());
      const names = await ofSdk(client).names();
      assert.ok(names.includes('list_skills') && !names.includes('create_agent'));
      await client.close();
    });
  }

  it('go on after a restart of the server', async () => {
    const url = `${server.baseUrl}/api/v1/mcp`;
    const open = await Promise.all(
      Object.entries(clients).map(async ([name, connect]) => ({ name, client: await connect(url, server.adminKey) })),
    );
    const { folder } = server;
    await server.stop();
    await server.store.close();
    server = await startTestServer({ PORT: port }, { copyOf: folder });
    for (const { name, client } of open) {
      assert.match(await client.call('list_skills', {}), /greet/, name);
      await client.close();
    }
  });
});
