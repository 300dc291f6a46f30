import type { z } from 'zod';
import { formHints, recordNames, sensitive } from '../../../resources/markers.ts';
import type { RecordKind } from '../kind.ts';
import { type JsonSchema, jsonSchemaWith } from './json-schema.ts';

const made = new WeakMap<z.ZodType, JsonSchema>();

/**
 * The input schema as forms read it: complete, with the record type of an id (`x-ref`), the control (`x-control`), and a title if the
 * member's name does not make a good one.
 */
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
