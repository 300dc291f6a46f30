import { catalog } from '../../tools/catalog.ts';
import { jsonSchema } from '../../tools/core/registry/json-schema.ts';
import { listedTool } from '../../tools/core/registry/listed-tool.ts';
import { documentOf } from '../facade/openapi-document.ts';

/** A JSON Schema, or a document that holds some, that clients are given. */
export interface Published {
  readonly title: string;
  readonly schema: unknown;
}

/** All that is published: of every tool what is listed and what describe_tool shows, and the OpenAPI document. */
export function publishedSchemas(): Published[] {
  const ofTools = catalog.entries.flatMap(({ tool }) => {
    const { inputSchema, outputSchema } = listedTool(tool);
    return [
      { title: `${tool.name} input`, schema: inputSchema },
      { title: `${tool.name} whole input`, schema: jsonSchema(tool.input, 'input') },
      { title: `${tool.name} output`, schema: outputSchema },
      { title: `${tool.name} whole output`, schema: jsonSchema(tool.output, 'output') },
    ];
  });
  return [...ofTools, { title: 'OpenAPI', schema: documentOf() }];
}

/** The texts under a keyword, each with its place. What tools answer as examples has no such members. */
export function textsUnder(
  keyword: string,
  value: unknown,
  place = '',
): { readonly place: string; readonly text: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    name === keyword && typeof item === 'string'
      ? [{ place, text: item }]
      : textsUnder(keyword, item, `${place}/${name}`),
  );
}

/** The regular expressions of a schema: patterns of texts, and of the names of members. */
export function patternsIn(value: unknown, place = ''): { readonly place: string; readonly text: string }[] {
  const named = membersUnder('patternProperties', value, place);
  return [...textsUnder('pattern', value, place), ...named];
}

function membersUnder(
  keyword: string,
  value: unknown,
  place: string,
): { readonly place: string; readonly text: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    const below = membersUnder(keyword, item, `${place}/${name}`);
    return name === keyword ? [...Object.keys(item ?? {}).map((text) => ({ place, text })), ...below] : below;
  });
}
