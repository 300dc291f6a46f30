import { z } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

const made = new WeakMap<z.ZodType, { input?: JsonSchema; output?: JsonSchema }>();

/** JSON Schema (2020-12) of what the schema takes (`input`) or gives (`output`). Made once per schema. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const known = made.get(schema) ?? {};
  made.set(schema, known);
  known[io] ??= make(schema, io);
  return known[io];
}

/** Gives an input schema the JSON Schema that it checks, where that one comes from elsewhere. Returns it for use in place. */
export function declareJsonSchema<Schema extends z.ZodType>(schema: Schema, input: JsonSchema): Schema {
  made.set(schema, { input });
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

/** Takes away what says nothing to a reader: the pattern beside a format, the bounds of safe integers. */
function shorten(node: Record<string, unknown>): void {
  if (node.format !== undefined) delete node.pattern;
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
}
