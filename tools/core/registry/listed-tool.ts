import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FixedArguments } from '../access/tool-limit.ts';
import type { RecordKind } from '../kind.ts';
import { formSchema } from './form-schema.ts';
import { briefSchema, type JsonSchema, jsonSchema, withoutMembers } from './json-schema.ts';
import type { Annotations, Tool } from './tool.ts';
import { viewUri } from './view.ts';

/** A tool as `tools/list` shows it. */
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
    return { ...listedTool(tool), inputSchema: withoutMembers(listedTool(tool).inputSchema, Object.keys(fixed)) };
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
export function listedForForms(tool: Tool, kinds: readonly RecordKind[], fixed: FixedArguments = {}): ListedTool {
  const inputSchema = withoutMembers(formSchema(tool.input, kinds), Object.keys(fixed));
  return { ...listedTool(tool), inputSchema };
}

/** For clients that show no pages. */
export function withoutView({ _meta, ...tool }: ListedTool): ListedTool {
  return tool;
}

/** Content of another server has no schema here: clients would check it, and refuse an answer in which that server breaks its own schema. */
function outputSchemaOf(tool: Tool): Pick<ListedTool, 'outputSchema'> {
  return tool.answersContent ? {} : { outputSchema: jsonSchema(tool.output, 'output') };
}
