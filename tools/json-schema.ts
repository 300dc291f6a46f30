import { z } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

const made = new WeakMap<z.ZodType, { input?: JsonSchema; output?: JsonSchema; brief?: JsonSchema }>();

/** JSON Schema (2020-12) of what the schema takes (`input`) or gives (`output`). Made once per schema. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const known = made.get(schema) ?? {};
  made.set(schema, known);
  known[io] ??= make(schema, io);
  return known[io];
}

/**
 * The input schema as models read it: without the lengths and patterns of texts, and without the word in every inner object that it
 * takes no other members. A refusal tells of them whom they concern. Whatever fits the whole schema fits this one. A schema from elsewhere is left as it is.
 */
export function briefSchema(schema: z.ZodType): JsonSchema {
  const known = made.get(schema) ?? {};
  made.set(schema, known);
  known.brief ??= brief(make(schema, 'input'), true);
  return known.brief;
}

/** Attaches to an input schema the JSON Schema it checks, when that comes from elsewhere. Returns the schema. */
export function declareJsonSchema<Schema extends z.ZodType>(schema: Schema, input: JsonSchema): Schema {
  made.set(schema, { input, brief: input });
  return schema;
}

function make(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const {
    $schema: _,
    $id: __,
    ...rest
  } = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => shorten(jsonSchema) });
  return rest;
}

/** The schema of an object without these members. */
export function withoutMembers(schema: JsonSchema, names: readonly string[]): JsonSchema {
  const { properties = {}, required = [], ...rest } = schema as ObjectSchema;
  const left = required.filter((name) => !names.includes(name));
  const shown = Object.entries(properties).filter(([name]) => !names.includes(name));
  return { ...rest, properties: Object.fromEntries(shown), ...(left.length > 0 && { required: left }) };
}

/** What `z.toJSONSchema` makes of an object. */
type ObjectSchema = { readonly properties?: JsonSchema; readonly required?: readonly string[] };

/** Takes away what says nothing to a reader: the pattern beside a format, a format of zod's own that is said otherwise too, the bounds of safe integers. */
function shorten(node: Record<string, unknown>): void {
  if (node.format !== undefined) delete node.pattern;
  if (node.contentEncoding !== undefined) delete node.format;
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
}

const LENGTHS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'pattern', 'propertyNames'];

function brief(node: JsonSchema, isTop = false): JsonSchema {
  const { properties, ...rest } = orNull(node);
  const isSaid = ([name, value]: [string, unknown]) =>
    !LENGTHS.includes(name) && (isTop || name !== 'additionalProperties' || value !== false);
  const kept = Object.entries(rest).filter(isSaid);
  return {
    ...mapped(kept, briefValue),
    ...(isSchema(properties) && { properties: mapped(Object.entries(properties), briefValue) }),
  };
}

/** `null` beside one other type is told in the type. */
function orNull(node: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = node;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1]?.type !== 'null') return node;
  const [one] = anyOf;
  return typeof one.type === 'string' && !one.enum ? { ...rest, ...one, type: [one.type, 'null'] } : node;
}

function briefValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((part) => briefValue(part));
  return isSchema(value) ? brief(value) : value;
}

function mapped(members: readonly [string, unknown][], change: (value: unknown) => unknown): JsonSchema {
  return Object.fromEntries(members.map(([name, value]) => [name, change(value)]));
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
