import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { catalog } from '../../tools/catalog.ts';
import { isListed } from '../../tools/core/access/guarded-tool.ts';
import { listedTool } from '../../tools/core/registry/listed-tool.ts';
import { findTools } from '../../tools/discovery/tool-search.ts';

/**
 * Requests in the words of people who do not know the tools, each with the tools that fit. They were written without a look at descriptions, keywords
 * and `data/tools/requests.tsv`, and none of them may enter there.
 */
const requests = readFileSync(new URL('tool-requests.tsv', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => {
    const [kind = '', request = '', tools = ''] = line.split('\t');
    return { kind, request, tools: tools.split('|') };
  });
const listed = new Set(catalog.entries.flatMap(({ tool }) => (isListed(tool) ? [tool.name] : [])));

/** The share of requests of a kind for which a fitting tool is among the first so many, as `0.91`. */
async function rate(kind: string, first: number): Promise<string> {
  const asked = requests.filter((request) => request.kind === kind);
  let hits = 0;
  for (const { request, tools } of asked) {
    const found = (await findTools(catalog, request)).filter((name) => listed.has(name));
    if (found.slice(0, first).some((name) => tools.includes(name))) hits += 1;
  }
  return (hits / asked.length).toFixed(2);
}

describe('the search for tools', () => {
  it('knows words and requests of people for each tool, and none of those that judge it', () => {
    const without = catalog.entries.filter(({ tool }) => listed.has(tool.name) && !tool.keywords);
    assert.deepEqual(
      without.map(({ tool }) => tool.name),
      [],
    );
    const examples = readFileSync(new URL('../../data/tools/requests.tsv', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n');
    const known = new Set(examples.map((line) => line.split('\t')[1]));
    assert.deepEqual(
      requests.filter(({ request }) => known.has(request)),
      [],
    );
    for (const line of examples) assert.ok(catalog.get(line.split('\t', 1)[0] ?? ''), line);
    for (const { tools } of requests) for (const name of tools) assert.ok(catalog.get(name), name);
  });

  for (const kind of ['sentence', 'keywords'])
    it(`finds the right tool for ${kind}, as often as the README says`, async () => {
      const [first, five] = [await rate(kind, 1), await rate(kind, 5)];
      assert.ok(Number(first) >= 0.75 && Number(five) >= 0.95, `${first} first, ${five} among five`);
      const readme = readFileSync(new URL('../../tools/README.md', import.meta.url), 'utf8');
      const asked = requests.filter((request) => request.kind === kind).length;
      assert.ok(
        readme.includes(`| ${kind} | ${asked} | ${first} | ${five} |`),
        `| ${kind} | ${asked} | ${first} | ${five} |`,
      );
    });

  it('takes a verb that a request begins with, and expressions of several words, for what is to be done', async () => {
    const wanted: Readonly<Record<string, string>> = {
      'chat with ada': 'send_chat_message',
      'who am I': 'get_current_principal',
      'run the flow now': 'trigger_flow',
      "take Jane's flows over": 'take_over',
      'best performing pages': 'get_traffic_visitors',
      'stop an agent from deleting things without asking me': 'update_agent',
      'notify me if a key is about to expire': 'create_webhook',
      'let Bob look at reports but nothing else': 'update_admin_user',
    };
    for (const [request, tool] of Object.entries(wanted)) {
      const found = (await findTools(catalog, request)).filter((name) => listed.has(name));
      assert.ok(found.slice(0, 5).includes(tool), `${request}: ${found.slice(0, 5).join(', ')}`);
    }
  });
});

const tokensOf = (value: unknown) => encode(JSON.stringify(value)).length;

describe('what tools cost in the context of a model', () => {
  it('is at most 300 tokens a tool in the list, with the schema of its answer', () => {
    const tools = catalog.entries.flatMap(({ tool }) => (isListed(tool) ? [listedTool(tool)] : []));
    const mean = tokensOf({ tools }) / tools.length;
    assert.ok(mean <= 300, `${mean}`);
  });

  it('is at most 900 tokens for an answer of five, whatever is asked', async () => {
    for (const { request } of requests) {
      const names = (await findTools(catalog, request)).filter((name) => listed.has(name)).slice(0, 5);
      const data = names.flatMap((name) => {
        const found = catalog.entries.find(({ tool }) => tool.name === name);
        return found ? [{ name, description: found.tool.description, group: found.group, readOnly: false }] : [];
      });
      const tokens = tokensOf({ data });
      assert.ok(tokens <= 900, `${request}: ${tokens}`);
    }
  });
});
