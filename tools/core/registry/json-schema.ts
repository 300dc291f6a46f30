import { z } from 'zod';
import { isObject } from '../../../resources/json.ts';

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
 * The input schema as models read it: without lengths, without formats and bounds that older readers refuse, and without the statement in every
 * inner object that it takes no other members. A refusal names the broken rule. Every value that fits the whole schema fits this one. A schema from
 * elsewhere is left as it is.
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

/** What a schema takes, with what `mark` writes into the part of each inner schema. A schema from elsewhere is left as it is. */
export function jsonSchemaWith(schema: z.ZodType, mark: Mark): JsonSchema {
  const known = made.get(schema);
  const isDeclared = known?.input !== undefined && known.input === known.brief;
  return isDeclared ? jsonSchema(schema, 'input') : make(schema, 'input', mark);
}

type Mark = (schema: z.core.$ZodType, node: z.core.JSONSchema.BaseSchema) => void;

function make(schema: z.ZodType, io: 'input' | 'output', mark?: Mark): JsonSchema {
  const override = ({ zodSchema, jsonSchema }: Parameters<Override>[0]) => {
    makePlain(jsonSchema);
    mark?.(zodSchema, jsonSchema);
  };
  const { $schema: _, $id: __, ...rest } = z.toJSONSchema(schema, { io, override });
  return rest;
}

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

export function withoutMembers(schema: JsonSchema, names: readonly string[]): JsonSchema {
  const { properties = {}, required = [], ...rest } = schema as ObjectSchema;
  const left = required.filter((name) => !names.includes(name));
  const shown = Object.entries(properties).filter(([name]) => !names.includes(name));
  return { ...rest, properties: Object.fromEntries(shown), ...(left.length > 0 && { required: left }) };
}

/** What `z.toJSONSchema` makes of an object. */
type ObjectSchema = { readonly properties?: JsonSchema; readonly required?: readonly string[] };

/** Formats that all readers understand alike and that hold for every value. Others (`email` without a dot in the domain) stand in descriptions. */
const FORMATS: readonly unknown[] = ['date-time', 'date'];

/**
 * Writes the schema of a value in the forms that all readers understand alike, and removes what they read differently: patterns, which ECMAScript,
 * Python and RE2 read differently as soon as they have an end or a class (the check behind them stays), the bounds of safe integers, and
 * defaults that are objects.
 */
export function makePlain(node: z.core.JSONSchema.BaseSchema): void {
  const { oneOf, const: only, additionalProperties, propertyNames } = node;
  delete node.pattern;
  if (!FORMATS.includes(node.format)) delete node.format;
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  if (oneOf) rename(node, 'oneOf', { anyOf: oneOf }); // its forms exclude one another
  if (only !== undefined) rename(node, 'const', { enum: [only] });
  if (isObject(node.default)) delete node.default; // some generators of clients leave the operation out
  if (isEmpty(additionalProperties)) node.additionalProperties = true;
  if (isObject(propertyNames) && Object.keys(propertyNames).join() === 'type') delete node.propertyNames;
}

function rename(
  node: z.core.JSONSchema.BaseSchema,
  name: 'oneOf' | 'const',
  other: z.core.JSONSchema.BaseSchema,
): void {
  delete node[name];
  Object.assign(node, other);
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

/** Larger bounds tell a model nothing that it would go by. */
const LARGEST_SAID = 10_000;
const LENGTHS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'propertyNames', 'contentEncoding'];

/** Keeps the bounds that older readers know and that say something. An exclusive bound is kept as a plain one. */
function brief({ exclusiveMinimum, ...node }: JsonSchema, isTop = false): JsonSchema {
  const { properties, ...rest } = exclusiveMinimum === undefined ? node : { minimum: exclusiveMinimum, ...node };
  const isSaid = ([name, value]: [string, unknown]) =>
    !LENGTHS.includes(name) &&
    (name !== 'maximum' || Number(value) < LARGEST_SAID) &&
    (name !== 'minimum' || value !== 0) &&
    (name !== 'format' || value === 'date-time') &&
    (isTop || name !== 'additionalProperties' || value !== false);
  const kept = Object.entries(rest as JsonSchema).filter(isSaid);
  return {
    ...mapped(kept, briefValue),
    ...(isObject(properties) && { properties: mapped(Object.entries(properties), briefValue) }),
  };
}

function briefValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((part) => briefValue(part));
  return isObject(value) ? brief(value) : value;
}

function mapped(members: readonly [string, unknown][], change: (value: unknown) => unknown): JsonSchema {
  return Object.fromEntries(members.map(([name, value]) => [name, change(value)]));
}
