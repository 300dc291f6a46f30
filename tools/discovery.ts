import MiniSearch from 'minisearch';
import { z } from 'zod';
import { callOf } from '../resources/markers.ts';
import { fold } from '../store/search-text.ts';
import { ANYONE, isListed } from './core/access/guarded-tool.ts';
import { refusal } from './core/access/reach.ts';
import { type Catalog, type CatalogEntry, unknownTool } from './core/registry/catalog-index.ts';
import { defineTool, READS } from './core/registry/define-tool.ts';
import { jsonSchema, withoutMembers } from './core/registry/json-schema.ts';

/** For clients that cannot hold all tools in a model's context, shown in search mode only. They give access to nothing more. */
const searchTools = defineTool({
  name: 'search_tools',
  title: 'Search tools',
  description:
    'Find tools by what they do, best first. Returns name and description of each; then describe_tool gives the arguments and call_tool calls it.',
  access: ANYONE,
  annotations: READS,
  discovery: true,
  input: z.strictObject({
    q: z.string().trim().min(1).max(200).describe('What you want to do, e.g. "create agent".'),
    limit: z.int().min(1).max(50).default(8),
  }),
  output: z.object({
    data: z.array(z.object({ name: z.string(), description: z.string(), group: z.string(), readOnly: z.boolean() })),
    groups: z.array(z.string()).optional().describe('Where nothing was found: the groups there are to search in.'),
  }),
  errors: [],

  async handler({ q, limit }, { server, tools }) {
    const found = indexOf(server.catalog)
      .search(q)
      .flatMap(({ id }) => tools.find(({ tool }) => tool.name === id) ?? []);
    const data = found.slice(0, limit).map(({ group, tool }) => ({
      name: tool.name,
      description: tool.description,
      group,
      readOnly: tool.annotations.readOnlyHint,
    }));
    return { data, ...(data.length === 0 && { groups: [...new Set(tools.map(({ group }) => group))] }) };
  },
});

const describeTool = defineTool({
  name: 'describe_tool',
  title: 'Describe tool',
  description: 'Get a tool found by search_tools with the JSON Schemas of its arguments and its answer.',
  access: ANYONE,
  annotations: READS,
  discovery: true,
  input: z.strictObject({ name: z.string().min(1).max(200).describe('Name of the tool.') }),
  output: z.object({
    name: z.string(),
    title: z.string(),
    description: z.string(),
    group: z.string(),
    inputSchema: z.looseObject({}),
    outputSchema: z.looseObject({}).optional(),
    annotations: z.looseObject({}),
  }),
  errors: ['not_found'],

  async handler({ name }, { server, principal, tools }) {
    const entry = tools.find(({ tool }) => tool.name === name);
    if (entry) return shown(entry, Object.keys(principal.tools?.fixed?.(entry.tool) ?? {}));
    const known = server.catalog.get(name)?.tool;
    if (known && isListed(known)) throw refusal(principal, known, {});
    throw unknownTool(name, tools);
  },
});

const callTool = defineTool({
  name: 'call_tool',
  title: 'Call tool',
  description:
    'Call a tool by name, with the rights and the answer of a direct call. See describe_tool for its arguments.',
  access: ANYONE,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  discovery: true,
  answersContent: true,
  bulk: true, // the bound of the called tool is judged with its input
  input: callOf(
    'name',
    z.strictObject({
      name: z.string().min(1).max(200).describe('Name of the tool.'),
      arguments: z.looseObject({}).default({}).describe('As its inputSchema says.'),
    }),
  ),
  output: z.looseObject({}),
  errors: [],

  delegatesTo: ({ name, arguments: input }) => ({ tool: name, input }),
});

export const discoveryTools = [searchTools, describeTool, callTool];

/** The search index of the tools. Made again when the catalog changes. */
let kept: { readonly catalog: Catalog; readonly version: number; readonly index: MiniSearch } | undefined;

function indexOf(catalog: Catalog): MiniSearch {
  if (kept?.catalog !== catalog || kept.version !== catalog.version) {
    const index = new MiniSearch({
      fields: ['name', 'title', 'description', 'group'],
      processTerm: (term) => fold(term),
      searchOptions: { boost: { name: 3, title: 2 }, prefix: (term) => term.length > 2, fuzzy: 0.2 },
    });
    index.addAll(
      catalog.entries.map(({ group, tool: { name, title, description } }) => ({
        id: name,
        name,
        title,
        description,
        group,
      })),
    );
    kept = { catalog, version: catalog.version, index };
  }
  return kept.index;
}

function shown({ group, tool }: CatalogEntry, fixed: readonly string[]) {
  const { name, title, description, annotations } = tool;
  const input = jsonSchema(tool.input, 'input');
  return {
    name,
    title,
    description,
    group,
    inputSchema: fixed.length > 0 ? withoutMembers(input, fixed) : { ...input },
    ...(!tool.answersContent && { outputSchema: { ...jsonSchema(tool.output, 'output') } }),
    annotations: { ...annotations },
  };
}
