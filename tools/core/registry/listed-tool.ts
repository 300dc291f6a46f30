import { setImmediate as nextTurn } from 'node:timers/promises';
import type { z } from 'zod';
import { formHints, recordNames, sensitive } from '../../../resources/markers.ts';
import { type FixedArguments, withheld } from '../access/guarded-tool.ts';
import type { RecordKind } from '../kind.ts';
import { briefSchema, type JsonSchema, jsonSchema, jsonSchemaWith, withoutMembers } from './json-schema.ts';
import { outlineSchema } from './outline-schema.ts';
import type { Annotations, Tool } from './tool.ts';
import { viewUri } from './tool.ts';

export interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations: Annotations;
  /** The page in which hosts show its answers (MCP Apps). */
  readonly _meta?: { readonly ui: { readonly resourceUri: string } };
}

const listed = new WeakMap<Tool, ListedTool>();

/** Arguments that are fixed for the caller are not in the schema that it sees. */
export function listedTool(tool: Tool, fixed?: FixedArguments): ListedTool {
  if (fixed)
    return { ...listedTool(tool), inputSchema: withoutMembers(listedTool(tool).inputSchema, withheld(tool, fixed)) };
  const known = listed.get(tool);
  if (known) return known;
  const { name, title, description, annotations, view } = tool;
  const inputSchema = briefSchema(tool.input);
  const made = {
    name,
    title,
    description,
    inputSchema,
    ...outputSchemaOf(tool),
    annotations,
    ...(view && { _meta: { ui: { resourceUri: viewUri(view) } } }),
  };
  listed.set(tool, made);
  return made;
}

/** Makes the schemas of the tools ahead of the first list, one tool at a time, so that calls in between wait for one tool at most. */
export async function prepareLists(tools: readonly Tool[]): Promise<void> {
  for (const tool of tools) {
    listedTool(tool);
    await nextTurn();
  }
}

/** The same for a client that makes forms of it. */
export function listedForForms(tool: Tool, kinds: readonly RecordKind[], fixed?: FixedArguments): ListedTool {
  const inputSchema = withoutMembers(formSchema(tool.input, kinds), withheld(tool, fixed));
  return { ...listedTool(tool), inputSchema };
}

/** For clients that show no pages. */
export function withoutView({ _meta, ...tool }: ListedTool): ListedTool {
  return tool;
}

/**
 * The outline of the schema, as hosts put it before the model with every request. Content of another server has no schema here: clients would check
 * it, and refuse an answer in which that server breaks its own schema.
 */
function outputSchemaOf(tool: Tool): Pick<ListedTool, 'outputSchema'> {
  return tool.answersContent ? {} : { outputSchema: outlineSchema(jsonSchema(tool.output, 'output')) };
}

const made = new WeakMap<z.ZodType, JsonSchema>();

/** The input schema as forms read it: complete, with the record type of an id (`x-ref`), the control (`x-control`), and a title where needed. */
export function formSchema(schema: z.ZodType, kinds: readonly Pick<RecordKind, 'refersTo'>[]): JsonSchema {
  let found = made.get(schema);
  if (!found) {
    const types = new Map(kinds.flatMap(({ refersTo = {} }) => Object.entries(refersTo)));
    found = withMembers(jsonSchemaWith(schema, mark), types);
    made.set(schema, found);
  }
  return found;
}

/** Writes what is said of the schema itself, wherever it is used. */
function mark(schema: z.core.$ZodType, node: z.core.JSONSchema.BaseSchema): void {
  const named = recordNames.get(schema as z.ZodType);
  const isSecret = sensitive.get(schema as z.ZodType)?.part === 'all';
  const {
    ref = named?.beside === undefined ? named?.names[0] : undefined,
    control,
    title,
  } = formHints.get(schema as z.ZodType) ?? {};
  const shown = control ?? (isSecret ? 'secret' : undefined);
  Object.assign(node, ref && { 'x-ref': ref }, shown && { 'x-control': shown }, title && { title });
}

type Types = ReadonlyMap<string, string | undefined>;

/** The schema with what the names of its members say: to which records they refer. */
function withMembers(node: JsonSchema, types: Types): JsonSchema {
  const { properties, items, anyOf } = node as FormSchemaParts;
  const members = Object.entries(properties ?? {}).map(([name, member]) => [name, withName(member, name, types)]);
  return {
    ...node,
    ...(properties && { properties: Object.fromEntries(members) }),
    ...(items && { items: withMembers(items, types) }),
    ...(anyOf && { anyOf: anyOf.map((form) => withMembers(form, types)) }),
  };
}

interface FormSchemaParts {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

function withName(member: JsonSchema, name: string, types: Types): JsonSchema {
  const known = refIn(member);
  const ref = known ?? types.get(name);
  const title = member.title ?? (ref && titleOf(name, ref));
  return {
    ...withMembers(member, types),
    ...(title !== undefined && { title }),
    ...(ref && !known && { 'x-ref': ref }),
  };
}

function refIn(node: JsonSchema): string | undefined {
  const { items, anyOf = [] } = node as FormSchemaParts;
  if (typeof node['x-ref'] === 'string') return node['x-ref'];
  return (items && refIn(items)) ?? anyOf.map(refIn).find((ref) => ref !== undefined);
}

/** `Assignee agent` for `assigneeAgentId`, `Skills` for `skillIds`, `Flow run` for the `id` of one. */
function titleOf(name: string, ref: string): string | undefined {
  const [, stem, many] = /^(\w+)Id(s?)$/.exec(name) ?? [];
  if (name !== 'id' && stem === undefined) return undefined;
  const words = (stem ?? ref).replaceAll('-', ' ').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${many ?? ''}`;
}
