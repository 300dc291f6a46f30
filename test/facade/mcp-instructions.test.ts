import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { encode as encodeOld } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { instructionsFor } from '../../facade/mcp/instructions.ts';
import { scopeRights } from '../../tools/core/access/rights.ts';
import { makeCapsule, makeKey } from '../support/calls.ts';
import { programArgs } from '../support/node-args.ts';
import { serverForTests } from '../support/server.ts';
import { inEra, legacy, post } from './mcp-requests.ts';
import { type McpTestServer, principalOf, startMcpServer, tokens } from './mcp-server.ts';

const MOST_TOKENS = 200;
const server = serverForTests();
const eras = ['legacy', 'modern'] as const;
const HANDSHAKE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

async function instructionsAt(url: string, token: string, era: 'legacy' | 'modern'): Promise<string> {
  const { message, headers } = era === 'legacy' ? inEra(era, 'initialize', HANDSHAKE) : inEra(era, 'server/discover');
  const { body } = await post(url, message, { token, headers });
  const { instructions } = body.result;
  for (const count of [encode, encodeOld]) {
    assert.ok(count(instructions).length <= MOST_TOKENS, `${count(instructions).length} tokens: ${instructions}`);
  }
  return instructions;
}

const at = (path: string, token = server.adminKey, era: 'legacy' | 'modern' = 'legacy') =>
  instructionsAt(`${server.baseUrl}${path}`, token, era);

describe('instructions', () => {
  for (const era of eras) {
    it(`say what this is, how tools are named and where to begin (${era})`, async () => {
      const text = await at('/api/v1/mcp', server.adminKey, era);
      assert.match(text, /^This is agent-admin, the administration server for AI agents/);
      const wanted = [
        /agents, agent runs, skills, flows/,
        /verb_noun/,
        /Begin with search/,
        /guide:\/\/\*/,
        /\?mode=search/,
      ];
      for (const said of wanted) {
        assert.match(text, said);
      }
      const { body } = await post(`${server.baseUrl}/api/v1/mcp`, legacy('tools/list'), { token: server.adminKey });
      assert.ok(text.includes(`fewer than ${body.result.tools.length} tools`));
    });

    it(`of search mode begin with its tools (${era})`, async () => {
      const text = await at('/api/v1/mcp?mode=search', server.adminKey, era);
      for (const name of ['search_tools', 'describe_tool', 'call_tool']) assert.ok(text.includes(name), name);
      assert.match(text, /Begin with search_tools/);
      assert.doesNotMatch(text, /mode=search|cut the list/);
    });

    it(`of a capsule name it and what is in it, and nothing else (${era})`, async () => {
      const capsule = await makeCapsule(server, { name: 'Support desk', allowedTools: ['list_threads', 'get_thread'] });
      const text = await at(`/api/capsules/${capsule.id}/mcp`, capsule.token, era);
      assert.match(text, /^This is the capsule "Support desk" of agent-admin/);
      assert.match(text, /Yours are tools for threads\./);
      assert.match(text, /Begin with a list_\* tool/);
      assert.doesNotMatch(text, /skills|Begin with search|guide:/);
    });
  }

  it('follow the rights of a key, and say so to one that has none', async () => {
    const reader = await makeKey(server, { scopes: ['skills:read'] });
    assert.match(await at('/api/v1/mcp', reader), /Yours are tools for skills, versions\./);
    const narrowed = await at('/api/v1/mcp?groups=skills', reader);
    assert.doesNotMatch(narrowed, /fewer than/);
    const flowHook = await makeKey(server, { grants: ['flow:trigger:flw_none'] });
    assert.doesNotMatch(await at('/api/v1/mcp', flowHook), /Begin|fewer than/);
    const capsule = await makeCapsule(server, { allowedTools: [] });
    assert.match(await at(`/api/capsules/${capsule.id}/mcp`, capsule.token), /no right to any tool/);
  });

  it('stay short and on one line, whatever a capsule is called', async () => {
    const names = ['🏳️‍🌈'.repeat(20), '漢'.repeat(120), '\\"'.repeat(60), 'ꙮ'.repeat(120), 'x y '.repeat(29)];
    for (const name of names) {
      const capsule = await makeCapsule(server, {
        name,
        allowedTools: ['list_*', 'get_*', 'create_*', 'update_*', 'search'],
      });
      const text = await at(`/api/capsules/${capsule.id}/mcp`, capsule.token);
      assert.doesNotMatch(text, /\n/);
      assert.ok(text.isWellFormed());
    }
  });

  it('come through the stdio door', async () => {
    const env = { PATH: process.env.PATH ?? '', BASE_URL: server.baseUrl, API_KEY: server.adminKey };
    const client = new Client({ name: 'test', version: '1' });
    const args = programArgs('commands/stdio');
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));
    const said = client.getInstructions();
    await client.close();
    assert.equal(said, await at('/api/v1/mcp'));
  });
});

describe('instructions at either path of the door', () => {
  let doors: McpTestServer;
  before(async () => {
    doors = await startMcpServer();
  });
  after(() => doors.close());

  it('are the same', async () => {
    for (const era of eras) {
      const [direct, sdk] = await Promise.all(
        [doors.url, doors.sdkUrl].map((url) => instructionsAt(url, tokens.reader, era)),
      );
      assert.equal(direct, sdk);
    }
  });

  it('stay short where there are tools of every group and of other servers', async () => {
    const entry = doors.catalog.get('list_agents');
    assert.ok(entry);
    doors.catalog.put('guest', [{ group: 'Guests', tool: { ...entry.tool, name: 'guest__tool' } }]);
    const principal = {
      ...principalOf('x', scopeRights(['*'])),
      type: 'capsule' as const,
      name: '\u{a66e}'.repeat(120),
    };
    const url = new URL('http://localhost/');
    const text = instructionsFor({ principal, url }, doors.registry);
    assert.match(text, /areas more\. .*prefix__name is a tool of another server/);
    assert.ok(encode(text).length <= MOST_TOKENS, `${encode(text).length}: ${text}`);
    doors.catalog.put('guest', []);
  });

  it('are in no other answer', async () => {
    for (const era of eras) {
      for (const url of [doors.url, doors.sdkUrl]) {
        for (const method of ['tools/list', 'prompts/list', 'resources/list']) {
          const { message, headers } = inEra(era, method);
          const { body, text } = await post(url, message, { token: tokens.reader, headers });
          assert.ok(body.result, `${era} ${method}: ${text}`);
          assert.ok(!('instructions' in body.result), `${era} ${method}`);
          assert.ok(!text.includes('This is agent-admin'), `${era} ${method}`);
        }
      }
    }
  });
});
