import { canonicalize } from 'json-canonicalize';
import type { JsonSchema } from '../../json-schema.ts';
import { cleanText } from './text.ts';

/** Why a schema cannot be shown and checked. */
export class SchemaProblem extends Error {}

const MOST_BYTES = 64 * 1024;
const DEEPEST = 32;
const LONGEST_TEXT = 1000;
const LONGEST_PATTERN = 1000;

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

type Reader = (value: unknown, depth: number) => unknown;

/**
 * A copy of the JSON Schema with nothing in it but keywords that are known, each as it has to be, so that no client trips over it:
 * references lead to places in it, texts are cleaned and cut.
 * @throws SchemaProblem
 */
export function boundSchema(raw: unknown): JsonSchema {
  const schema = readSchema(raw, 0);
  if (!isSchemaObject(schema)) throw new SchemaProblem('the schema is no object');
  for (const reference of references(schema)) {
    if (!isSchema(resolve(schema, reference)))
      throw new SchemaProblem(`$ref ${cleanText(reference, 100)} leads nowhere`);
  }
  if (JSON.stringify(schema).length > MOST_BYTES)
    throw new SchemaProblem(`the schema is larger than ${MOST_BYTES} bytes`);
  return schema;
}

/** What a reference of the form `#/a/b` leads to in the schema. */
export function resolve(root: JsonSchema, reference: string): unknown {
  const steps = reference
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step) ? (at as JsonSchema)[step] : undefined,
    root,
  );
}

export function isSchemaObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): value is JsonSchema | boolean {
  return typeof value === 'boolean' || isSchemaObject(value);
}

function readSchema(raw: unknown, depth: number): JsonSchema | boolean {
  if (typeof raw === 'boolean') return raw;
  if (!isSchemaObject(raw)) throw new SchemaProblem('a schema in it is neither an object nor true or false');
  if (depth > DEEPEST) throw new SchemaProblem(`it nests deeper than ${DEEPEST} levels`);
  const read = Object.entries(inOneDialect(raw)).flatMap(([name, value]) => {
    const kept = Object.hasOwn(keywords, name) ? keywords[name]?.(value, depth) : undefined;
    return kept === undefined ? [] : [[name, kept]];
  });
  return Object.fromEntries(read);
}

/** Tuples as 2020-12 writes them; older drafts had the list in `items`. */
function inOneDialect(raw: JsonSchema): JsonSchema {
  if (!Array.isArray(raw.items)) return raw;
  const { items, additionalItems, ...rest } = raw;
  return { ...rest, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) };
}

const schema: Reader = (value, depth) => readSchema(value, depth + 1);

const schemas: Reader = (value, depth) => {
  if (!Array.isArray(value) || value.length === 0) throw new SchemaProblem('a list of schemas in it is none, or empty');
  return value.map((item) => readSchema(item, depth + 1));
};

const schemaMap: Reader = (value, depth) => {
  if (!isSchemaObject(value)) throw new SchemaProblem('the members of a schema in it are no object');
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, readSchema(item, depth + 1)]));
};

const type: Reader = (value) => {
  const types = Array.isArray(value) ? value : [value];
  if (types.length === 0 || !types.every((each) => TYPES.includes(each)))
    throw new SchemaProblem('it has an unknown type');
  return Array.isArray(value) ? [...new Set(types)] : value;
};

const names: Reader = (value) => {
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string')) {
    throw new SchemaProblem('what it requires are no names');
  }
  return [...new Set(value)];
};

const reference: Reader = (value) => {
  if (typeof value === 'string' && /^#(?:\/|$)/.test(value)) return value;
  throw new SchemaProblem('it refers to something outside itself');
};

const values: Reader = (value) => {
  if (!Array.isArray(value) || value.length === 0) throw new SchemaProblem('a list of values in it is none, or empty');
  const read = new Map(value.map((item) => [canonicalize(item), anyValue(item, 0)]));
  return [...read.values()];
};

/** Keywords that say less without harm are left out where they are not as they should be. */
const text: Reader = (value) => (typeof value === 'string' ? cleanText(value, LONGEST_TEXT) : undefined);
const number: Reader = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);
const positive: Reader = (value) =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined;
const count: Reader = (value) => (Number.isSafeInteger(value) && Number(value) >= 0 ? value : undefined);
const flag: Reader = (value) => (typeof value === 'boolean' ? value : undefined);
const word: Reader = (value) => (typeof value === 'string' && /^[\w./+-]{1,100}$/.test(value) ? value : undefined);

const pattern: Reader = (value) => {
  if (typeof value !== 'string' || value.length > LONGEST_PATTERN) return undefined;
  try {
    new RegExp(value, 'u');
    return value;
  } catch {
    return undefined;
  }
};

/** Members named by patterns; an invalid pattern is left out with its schema. */
const patternMap: Reader = (value, depth) => {
  const read = schemaMap(value, depth) as Record<string, unknown>; // made of entries
  return Object.fromEntries(Object.entries(read).filter(([name]) => pattern(name, depth) !== undefined));
};

const anyValue: Reader = (value, depth) => {
  if (depth > DEEPEST) throw new SchemaProblem(`a value in it nests deeper than ${DEEPEST} levels`);
  if (Array.isArray(value)) return value.map((item) => anyValue(item, depth + 1));
  if (!isSchemaObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, anyValue(item, depth + 1)]));
};

const keywords: Readonly<Record<string, Reader>> = {
  type,
  title: text,
  description: text,
  properties: schemaMap,
  patternProperties: patternMap,
  required: names,
  additionalProperties: schema,
  propertyNames: schema,
  minProperties: count,
  maxProperties: count,
  items: schema,
  prefixItems: schemas,
  contains: schema,
  minItems: count,
  maxItems: count,
  uniqueItems: flag,
  enum: values,
  const: anyValue,
  default: anyValue,
  examples: values,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: positive,
  minLength: count,
  maxLength: count,
  pattern,
  format: word,
  contentEncoding: word,
  contentMediaType: word,
  allOf: schemas,
  anyOf: schemas,
  oneOf: schemas,
  not: schema,
  if: schema,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: schema,
  else: schema,
  $ref: reference,
  $defs: schemaMap,
  definitions: schemaMap,
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
};

function references(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(references);
  if (!isSchemaObject(node)) return [];
  const own = typeof node.$ref === 'string' ? [node.$ref] : [];
  return [...own, ...Object.values(node).flatMap(references)];
}
