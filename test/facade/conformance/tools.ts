import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { ANYONE } from '../../../tools/core/access/guarded-tool.ts';
import type { CatalogEntry } from '../../../tools/core/registry/catalog-index.ts';
import { LiveCatalog } from '../../../tools/core/registry/catalog-index.ts';
import type { CallingContext } from '../../../tools/core/registry/context.ts';
import { defineTool, READS, type Tool } from '../../../tools/core/registry/define-tool.ts';
import { declareJsonSchema } from '../../../tools/core/registry/json-schema.ts';

export const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Uses the words of JSON Schema that the tools here never need, but those of other servers may. */
const FULL_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

/** The tools that the scenarios of the suite call by name, as tools of the catalog: everything between the wire and them is ours. */
export const conformanceTools: readonly CatalogEntry[] = [
  content('test_simple_text', [text('Plain words.')]),
  content('test_image_content', [picture()]),
  content('test_audio_content', [{ type: 'audio', data: 'UklGRgAAAABXQVZF', mimeType: 'audio/wav' }]),
  content('test_embedded_resource', [embedded('test://embedded')]),
  content('test_multiple_content_types', [text('Three kinds.'), picture(), embedded('test://mixed')]),
  content('test_logging_tool', [text('Nothing is logged to the client.')]),
  content('test_streaming_elicitation', [text('Nothing is asked.')]),
  content('json_schema_2020_12_tool', [text('Checked.')], declareJsonSchema(z.looseObject({}), FULL_SCHEMA)),
  tool('test_tool_with_progress', async (context) => {
    for (const progress of [0, 50, 100]) {
      context.report({ progress, total: 100 });
      await delay(5);
    }
    return { content: [text('Done.')] };
  }),
  tool('test_tool_with_logging', async (context) => {
    for (const [at, message] of ['started', 'processing data', 'completed'].entries()) {
      context.report({ progress: at + 1, message: `Tool execution: ${message}` });
      await delay(5);
    }
    return { content: [text('Done.')] };
  }),
  tool('test_error_handling', async ({ fail }) => {
    throw fail('unavailable', 'This tool always fails.');
  }),
  tool('test_trigger_tool_change', async ({ server }) => {
    assert.ok(server.catalog instanceof LiveCatalog);
    const there = server.catalog.get('test_comes_and_goes') !== undefined;
    server.catalog.put('changing', there ? [] : [content('test_comes_and_goes', [text('Here.')])]);
    return { content: [text('Changed.')] };
  }),
];

interface ToolContent {
  readonly content: object[];
}

function content(name: string, blocks: object[], input?: z.ZodObject): CatalogEntry {
  return tool(name, async () => ({ content: blocks }), input);
}

function tool(
  name: string,
  handler: (context: CallingContext<object, never>) => Promise<ToolContent>,
  input: z.ZodObject = z.strictObject({}),
): CatalogEntry {
  const made: Tool = defineTool({
    name,
    title: name,
    description: `A tool of the conformance suite: ${name}.`,
    access: ANYONE,
    annotations: READS,
    answersContent: true,
    input,
    output: z.looseObject({ content: z.array(z.json()) }),
    errors: [],
    handler: async (_, context) => (await handler(context)) as { content: z.core.util.JSONType[] }, // literals above
  });
  return { group: 'Conformance', tool: made };
}

function text(words: string) {
  return { type: 'text', text: words };
}

function picture() {
  return { type: 'image', data: PICTURE, mimeType: 'image/png' };
}

export function embedded(uri: string) {
  return { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'Words inside.' } };
}
