import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routes } from '../../facade/routes.ts';
import { catalog } from '../../tools/catalog.ts';
import { callTool, makeKey, rest, type ToolAnswer } from '../support/calls.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { openStdio } from '../support/stdio.ts';
import { type Ask, type Input, normalised, story } from './story.ts';

interface Door {
  readonly name: string;
  /** Opens the door for one key; tools without a REST path are called over MCP there. */
  open(server: TestServer, key: string): { ask: Ask; close(): Promise<unknown> };
}

const doors: readonly Door[] = [
  {
    name: 'mcp',
    open: (server, key) => ({ ask: (tool, input) => callTool(server, key, tool, input), close: async () => {} }),
  },
  {
    name: 'rest',
    open: (server, key) => ({ ask: (tool, input) => overRest(server, key, tool, input), close: async () => {} }),
  },
  {
    name: 'stdio',
    open(server, key) {
      const client = openStdio(server.baseUrl, key);
      return {
        async ask(tool, input) {
          const { result } = await client.ask('tools/call', { name: tool, arguments: input });
          return result.isError ? { error: JSON.parse(result.content[0].text) } : { output: result.structuredContent };
        },
        close: () => client.end(),
      };
    },
  },
];

async function overRest(server: TestServer, key: string, tool: string, input: Input): Promise<ToolAnswer> {
  const route = routes.find((candidate) => candidate.tool === tool);
  if (!route) return callTool(server, key, tool, input);
  const members = { ...input };
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = encodeURIComponent(String(members[name]));
    delete members[name];
    return value;
  });
  const inQuery = route.method === 'GET' || route.method === 'DELETE';
  const query = inQuery ? `?${new URLSearchParams(members as Record<string, string>)}` : '';
  const answer = await rest(server, route.method, `${path}${query}`, { key, body: inQuery ? undefined : members });
  return answer.status < 300 ? { output: answer.body ?? {} } : { error: answer.body };
}

async function tellAt(door: Door): Promise<{ answers: unknown; audit: unknown }> {
  const server = await startTestServer();
  const [asAdmin, asReader] = [
    door.open(server, server.adminKey),
    door.open(server, await makeKey(server, { scopes: ['read'] })),
  ];
  try {
    const answers = await story(asAdmin.ask, asReader.ask);
    await server.store.audit.flush();
    const { records } = await server.store.audit.find({ limit: 1000 });
    const audit = [...records]
      .reverse()
      .map((entry) => ({ ...entry, door: routeless(entry.tool) ? 'any' : entry.door }));
    return { answers: normalised(answers, door.name), audit: normalised(audit, door.name) };
  } finally {
    await Promise.all([asAdmin.close(), asReader.close()]);
    await server.close();
  }
}

const routeless = (tool: string) => !routes.some((route) => route.tool === tool);

describe('all doors', () => {
  it('give the same outputs, errors and audit entries for the same calls', async () => {
    const [mcp, ...others] = await Promise.all(doors.map(tellAt));
    assert.ok(mcp);
    for (const [index, other] of others.entries()) {
      const name = doors[index + 1]?.name ?? '';
      assert.deepEqual(other.answers, mcp.answers, `answers at ${name}`);
      assert.deepEqual(other.audit, mcp.audit, `audit at ${name}`);
    }
  });

  it('tell a story in which every tool has a part', async () => {
    const told = new Set<string>();
    await story(
      async (tool) => {
        told.add(tool);
        return { output: { id: 'x', data: [{ id: 'x' }] } };
      },
      async () => ({ output: {} }),
    );
    const missing = catalog.entries
      .filter(({ tool }) => !tool.doorOnly && !told.has(tool.name))
      .map(({ tool }) => tool.name);
    assert.deepEqual(missing, []);
  });
});
