import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { ResponseWriter } from '../../facade/mcp/response-writer.ts';
import { ToolLists } from '../../facade/mcp/tool-list.ts';
import { catalog } from '../../tools/catalog.ts';
import { ANYONE, isListed } from '../../tools/core/access/guarded-tool.ts';
import { scopeRights } from '../../tools/core/access/rights.ts';
import { indexCatalog } from '../../tools/core/registry/catalog-index.ts';
import { defineTool, READS } from '../../tools/core/registry/define-tool.ts';
import { prepareLists } from '../../tools/core/registry/listed-tool.ts';
import { fixtureTools } from './mcp-fixture-tools.ts';
import { legacy, modern, modernHeaders, post } from './mcp-requests.ts';
import { type McpTestServer, principalOf, startMcpServer, tokens } from './mcp-server.ts';

describe('tools/list', () => {
  let server: McpTestServer;
  before(async () => {
    server = await startMcpServer();
  });
  after(() => server.close());

  async function names(query = '', token: string = tokens.admin, base: 'url' | 'sdkUrl' = 'url'): Promise<string[]> {
    const { body } = await post(server[base] + query, legacy('tools/list'), { token });
    return body.result.tools.map(({ name }: { name: string }) => name);
  }

  it('shows the tools in the order of the catalog, without door-only ones', async () => {
    const expected = catalog.entries.filter(({ tool }) => isListed(tool)).map(({ tool }) => tool.name);
    const shown = await names();
    assert.deepEqual(shown.slice(0, expected.length), expected);
    assert.equal(shown.includes('get_mcp_status'), false);
    assert.deepEqual(await names(), shown);
    assert.deepEqual(await names('', tokens.admin, 'sdkUrl'), shown);
  });

  it('shows each tool with title, description, schemas of objects and all four hints', async () => {
    const { body } = await post(server.url, modern('tools/list'), { headers: modernHeaders('tools/list') });
    for (const tool of body.result.tools) {
      if (['pass_on', 'narrate'].includes(tool.name)) continue;
      const members = ['annotations', 'description', 'inputSchema', 'name', 'outputSchema', 'title'];
      assert.deepEqual(Object.keys(tool).sort(), members);
      assert.equal(tool.inputSchema.type, 'object');
      assert.equal(tool.outputSchema.type, 'object');
      const hints = ['destructiveHint', 'idempotentHint', 'openWorldHint', 'readOnlyHint'];
      assert.deepEqual(Object.keys(tool.annotations).sort(), hints);
    }
  });

  it('shows each caller the tools it holds some matching right for', async () => {
    const reader = await names('', tokens.reader);
    assert.ok(reader.includes('list_agents') && !reader.includes('create_agent'));
    const limited = await names('', tokens.limited);
    assert.ok(limited.includes('get_agent') && limited.includes('list_skills') && !limited.includes('update_agent'));
    assert.deepEqual(await names('', tokens.nobody), [
      'get_current_principal',
      'get_approval',
      'wait_for_approval',
      ...fixtureTools.map(({ name }) => name),
    ]);
  });

  it('is narrowed by ?tools= and ?groups=, in catalog order and without regard to case', async () => {
    assert.deepEqual(await names('?tools=get_skill,get_agent'), ['get_agent', 'get_skill']);
    assert.deepEqual(await names('?tools=list_sk*s'), ['list_skills']);
    const skills = await names('?groups=SKILLS');
    assert.deepEqual(skills, namesOf('Skills'));
    assert.deepEqual(await names('?groups=api%20keys,skills&tools=list_*'), ['list_skills', 'list_api_keys']);
    assert.deepEqual(await names('?groups=skills', tokens.reader), ['list_skills', 'get_skill']);
    assert.deepEqual(await names('?tools=no_such,get_agent'), ['get_agent']);
    assert.deepEqual(await names('?tools='), await names());
    assert.deepEqual(await names('?groups=skills', tokens.admin, 'sdkUrl'), skills);
  });

  it('says what there is when the narrowing names nothing', async () => {
    for (const base of ['url', 'sdkUrl'] as const) {
      const groups = await post(`${server[base]}?groups=skills,nope`, legacy('tools/list'));
      assert.equal(groups.body.error.code, -32602);
      assert.match(groups.body.error.message, /Agents, Agent runs, Skills, /);
      const tools = await post(`${server[base]}?tools=get_agnt`, legacy('tools/list'));
      assert.equal(tools.body.error.code, -32602);
      assert.match(tools.body.error.message, /get_agent/);
    }
  });

  it('does not narrow calls', async () => {
    const { body } = await post(`${server.url}?tools=get_skill`, legacy('tools/call', { name: 'echo' }));
    assert.equal(body.result.structuredContent.text, 'none');
  });

  it('shows no output schema for content that is made elsewhere, and passes that on as it is', async () => {
    const { body } = await post(`${server.url}?tools=pass_on`, legacy('tools/list'));
    assert.equal('outputSchema' in body.result.tools[0], false);
    const plain = await post(server.url, legacy('tools/call', { name: 'pass_on', arguments: { structured: false } }));
    assert.deepEqual(Object.keys(plain.body.result), ['content']);
    assert.equal(plain.body.result.content[1].type, 'image');
  });
});

it('prepareLists lets others have their turn after each tool', async () => {
  const tools = catalog.entries.map(({ tool }) => tool);
  let [turns, done] = [0, false];
  const preparing = prepareLists(tools).then(() => {
    done = true;
  });
  while (!done) {
    await setImmediate();
    turns += 1;
  }
  await preparing;
  assert.ok(turns >= tools.length, `${turns} turns, ${tools.length} tools`);
});

it('ToolLists makes a list again once the registry gives another one for the same rights', async () => {
  const entry = (name: string) => ({ group: 'Tiny', tool: tiny(name) });
  let entries = [entry('one')];
  const server = { catalog: indexCatalog(entries), name: 'x', version: '1', kinds: [] };
  const lists = new ToolLists({ list: () => entries, server }, new ResponseWriter(server));
  const asked = { principal: principalOf('admin', scopeRights(['*'])), url: new URL('http://localhost/') };
  assert.equal(lists.prepared(asked, 'legacy', true), lists.prepared(asked, 'legacy', true));
  entries = [...entries];
  assert.equal(lists.page(asked, undefined, true).tools.length, 1);
  entries = [...entries, entry('two')];
  assert.match(String(lists.prepared(asked, 'legacy', true)?.plain), /"two"/);
  assert.equal(lists.page(asked, undefined, true).tools.length, 2);
});

describe('tools/list of more than 500 tools', () => {
  let server: McpTestServer;
  before(async () => {
    const tools = Array.from({ length: 1200 }, (_, index) => tiny(`tiny_${index}`));
    server = await startMcpServer(tools.map((tool) => ({ group: 'Tiny', tool })));
  });
  after(() => server.close());

  it('comes in pages of 500', async () => {
    const [names, sizes]: [string[], number[]] = [[], []];
    let cursor: string | undefined;
    do {
      const { body } = await post(
        `${server.url}?groups=tiny`,
        legacy('tools/list', cursor === undefined ? {} : { cursor }),
      );
      names.push(...body.result.tools.map(({ name }: { name: string }) => name));
      sizes.push(body.result.tools.length);
      cursor = body.result.nextCursor;
    } while (cursor !== undefined);
    assert.deepEqual(sizes, [500, 500, 200]);
    assert.equal(new Set(names).size, 1200);
  });

  it('comes in one page where it is narrowed to 500', async () => {
    const { body } = await post(`${server.url}?tools=tiny_1*`, legacy('tools/list'));
    assert.deepEqual(Object.keys(body.result), ['tools']);
    assert.equal(body.result.tools.length, 311);
  });
});

function namesOf(group: string): string[] {
  return catalog.entries.filter((entry) => entry.group === group).map(({ tool }) => tool.name);
}

function tiny(name: string) {
  return defineTool({
    name,
    title: name,
    description: 'One of many.',
    access: ANYONE,
    annotations: READS,
    input: z.strictObject({}),
    output: z.object({}),
    errors: [],
    handler: async () => ({}),
  });
}
