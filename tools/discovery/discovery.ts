import { z } from 'zod';
import { callOf } from '../../resources/markers.ts';
import { ANYONE, isListed, withheld } from '../core/access/guarded-tool.ts';
import { refusal } from '../core/access/reach.ts';
import { type Catalog, type CatalogEntry, unknownTool } from '../core/registry/catalog-index.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { jsonSchema, withoutMembers } from '../core/registry/json-schema.ts';
import { findTools } from './tool-search.ts';

/** For clients that cannot hold all tools in a model's context, shown in search mode only. They give access to nothing more. */
const searchTools = defineTool({
  name: 'search_tools',
  title: 'Search tools',
  description:
    'Find tools by what they do, best first. Returns name and description of each; then describe_tool gives the arguments and call_tool calls it.',
  keywords: 'which tool, find a function, discover capabilities, how do I, what tool do I need',
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
    beyond: z
      .array(z.string())
      .optional()
      .describe('Tools that fit better, beyond your rights; describe_tool names the right that somebody can give you.'),
  }),
  errors: [],

  async handler({ q, limit }, { server, principal, tools }) {
    const names = await findTools(server.catalog, q);
    const found = names.flatMap((name) => tools.find(({ tool }) => tool.name === name) ?? []);
    const data = found.slice(0, limit).map(({ group, tool }) => ({
      name: tool.name,
      description: tool.description,
      group,
      readOnly: tool.annotations.readOnlyHint,
    }));
    const beyond = principal.tools ? [] : beyondRights(names, found[0]?.tool.name, server.catalog);
    return {
      data,
      ...(data.length === 0 && { groups: [...new Set(tools.map(({ group }) => group))] }),
      ...(beyond.length > 0 && { beyond }),
    };
  },
});

const MOST_BEYOND = 3;

/** Own tools of the server that fit better than the best one that the caller may call. Their names are in the reference, for everybody. */
function beyondRights(names: readonly string[], best: string | undefined, catalog: Catalog): string[] {
  const better = best === undefined ? names : names.slice(0, names.indexOf(best));
  const known = better.flatMap((name) => catalog.get(name)?.tool ?? []).filter((tool) => isListed(tool) && !tool.guest);
  return known.slice(0, MOST_BEYOND).map(({ name }) => name);
}

const describeTool = defineTool({
  name: 'describe_tool',
  title: 'Describe tool',
  description:
    'Get a tool found by search_tools with the JSON Schema of its arguments; with output=true also that of its answer.',
  keywords: 'arguments of a tool, parameters, schema, how to call',
  access: ANYONE,
  annotations: READS,
  discovery: true,
  input: z.strictObject({
    name: z.string().min(1).max(200).describe('Name of the tool.'),
    output: z.boolean().default(false).describe('Whether to give the schema of its answer too, often the larger half.'),
  }),
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

  async handler({ name, output }, { server, principal, tools }) {
    const entry = tools.find(({ tool }) => tool.name === name);
    if (entry) return shown(entry, output, withheld(entry.tool, principal.tools?.fixed?.(entry.tool)));
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
  keywords: 'execute a tool, invoke by name',
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

function shown({ group, tool }: CatalogEntry, withOutput: boolean, fixed: readonly string[]) {
  const { name, title, description, annotations } = tool;
  const input = jsonSchema(tool.input, 'input');
  return {
    name,
    title,
    description,
    group,
    inputSchema: fixed.length > 0 ? withoutMembers(input, fixed) : { ...input },
    ...(withOutput && !tool.answersContent && { outputSchema: { ...jsonSchema(tool.output, 'output') } }),
    annotations: { ...annotations },
  };
}
