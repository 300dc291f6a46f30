import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { catalog } from '../../tools/catalog.ts';
import { VIEWS, type View, viewUri } from '../../tools/core/registry/tool.ts';
import { capsuleClients, ways } from '../support/capsules.ts';
import { serverForTests } from '../support/server.ts';
import { inEra, legacy, modern, modernHeaders, type Params, post } from './mcp-requests.ts';
import { type McpTestServer, startMcpServer, tokens } from './mcp-server.ts';

const LARGEST_PAGE = 53_000;
const MOST_TOKENS = 20;
const PAGE_TYPE = 'text/html;profile=mcp-app';

interface Listed {
  readonly name: string;
  readonly _meta?: { readonly ui: { readonly resourceUri: string } };
}

const shown = catalog.entries.map(({ tool }) => tool).filter(({ view }) => view !== undefined);

describe('tools that hosts show in pages', () => {
  let server: McpTestServer;
  before(async () => {
    server = await startMcpServer();
  });

  async function list(era: 'legacy' | 'modern', capabilities: object = {}, path: 'url' | 'sdkUrl' = 'url') {
    const meta = era === 'modern' ? { 'io.modelcontextprotocol/clientCapabilities': capabilities } : {};
    const message = era === 'modern' ? modern('tools/list', {}, meta) : legacy('tools/list');
    const headers = era === 'modern' ? modernHeaders('tools/list') : {};
    const { body } = await post(server[path], message, { headers });
    return body.result.tools as readonly Listed[];
  }

  async function read(uri: string, token: string = tokens.admin, path: 'url' | 'sdkUrl' = 'url') {
    const { message, headers } = inEra('modern', 'resources/read', { uri });
    return (await post(server[path], message, { headers, token })).body;
  }

  it('are all metrics, reports, differences, runs and searches', () => {
    const named = (view: View) => shown.filter((tool) => tool.view === view).map(({ name }) => name);
    assert.equal(named('chart').length, 15);
    assert.deepEqual(named('report'), ['get_report', 'create_report', 'update_report']);
    assert.deepEqual(named('diff'), ['list_versions', 'diff_version']);
    assert.deepEqual(named('run'), ['trigger_flow', 'list_flow_runs', 'get_flow_run']);
    assert.deepEqual(named('search'), ['search_memories', 'search']);
  });

  it('name their page to clients that show it, and to those of which that cannot be known', async () => {
    const ui = { mimeTypes: [PAGE_TYPE] };
    const uris = shown.map(({ view }) => viewUri(view as View)); // it was asked above
    const pagesIn = (tools: readonly Listed[]) => tools.flatMap(({ _meta }) => (_meta ? [_meta.ui.resourceUri] : []));
    for (const path of ['url', 'sdkUrl'] as const) {
      assert.deepEqual(pagesIn(await list('legacy', {}, path)), uris);
      const declared = { extensions: { 'io.modelcontextprotocol/ui': ui } };
      assert.deepEqual(pagesIn(await list('modern', declared, path)), uris);
      assert.deepEqual(pagesIn(await list('modern', { ...declared, elicitation: {} }, path)), uris);
      for (const other of [
        {},
        { elicitation: {} },
        { extensions: { 'example.com/other': ui } },
        { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/plain'] } } },
      ]) {
        assert.deepEqual(pagesIn(await list('modern', other, path)), [], JSON.stringify(other));
      }
    }
  });

  it('take little more room in the list', async () => {
    const [withPages, without] = [await list('legacy'), await list('modern')];
    assert.equal(withPages.length, without.length);
    for (const [index, tool] of withPages.entries()) {
      const more = encode(JSON.stringify(tool)).length - encode(JSON.stringify(without[index])).length;
      assert.ok(tool._meta ? more > 0 && more <= MOST_TOKENS : more === 0, `${tool.name}: ${more} tokens`);
    }
  });

  for (const view of VIEWS) {
    it(`are shown in a page that needs nothing else (${view})`, async () => {
      for (const path of ['url', 'sdkUrl'] as const) {
        const { result } = await read(viewUri(view), tokens.admin, path);
        const [content, ...others] = result.contents;
        const { text, ...rest } = content;
        assert.deepEqual(others, []);
        assert.deepEqual(rest, { uri: viewUri(view), mimeType: PAGE_TYPE, _meta: { ui: { prefersBorder: true } } });
        assert.match(text, /^<!doctype html>/);
        assert.equal(text.split(/<script>/).length, 2);
        assert.equal(text.split(/<\/script>/).length, 3, 'the script, and what the page is told');
        assert.doesNotMatch(text, /<link|<img|src="|@import|url\((?!#)/);
        const size = gzipSync(text).length;
        assert.ok(size < LARGEST_PAGE, `${size} bytes compressed`);
      }
    });
  }

  it('have pages for those who may call them, which know the tools of their readers', async () => {
    const toldIn = ({ result }: { result: { contents: { text: string }[] } }) =>
      JSON.parse(/id="boot">(.*?)<\/script>/.exec(result.contents[0]?.text ?? '')?.[1] ?? '');
    const VERSIONS = ['list_versions', 'diff_version', 'restore_version'];
    const versionsFor = async (token: string) =>
      toldIn(await read(viewUri('diff'), token)).tools.filter((name: string) => VERSIONS.includes(name));
    assert.deepEqual(await versionsFor(tokens.admin), VERSIONS);
    assert.deepEqual(await versionsFor(tokens.reader), VERSIONS.slice(0, 2));
    assert.ok((await read(viewUri('diff'), tokens.limited)).result);
    for (const [uri, token] of [
      [viewUri('chart'), tokens.limited],
      [viewUri('search'), tokens.nobody],
      ['ui://agent-admin/other', tokens.admin],
      ['ui://agent-admin/chart/', tokens.admin],
      ['ui://other/chart', tokens.admin],
    ] as const) {
      const { error } = await read(uri, token);
      assert.deepEqual([error.code, error.data], [-32602, { uri }]);
      assert.match(error.message, /^None of your tools has a page at this URI/);
    }
    const { body } = await post(server.url, legacy('resources/list'));
    assert.equal(JSON.stringify(body.result).includes('ui://'), false, 'pages are found by their tools');
  });
});

describe('a capsule with such tools', () => {
  const server = serverForTests();
  const { make, ask } = capsuleClients(() => server);
  after(() => server.close());

  it('serves their pages, and no others', async () => {
    const capsule = await make({
      allowedTools: ['get_mrr', 'list_agents'],
      constraints: { get_mrr: { interval: 'month' } },
    });
    for (const way of ways) {
      const { body } = await ask(capsule, 'tools/list', {}, way);
      const pages = body.result.tools.map(({ name, _meta }: Listed) => [name, _meta?.ui.resourceUri]);
      assert.deepEqual(pages, [
        ['list_agents', undefined],
        ['get_mrr', way.era === 'legacy' ? viewUri('chart') : undefined],
      ]);
      const readPage = async (view: View): Promise<Params> =>
        (await ask(capsule, 'resources/read', { uri: viewUri(view) }, way)).body;
      assert.ok((await readPage('chart')).result);
      for (const view of VIEWS.filter((each) => each !== 'chart')) assert.ok((await readPage(view)).error, view);
    }
  });
});
