import { canonicalize } from 'json-canonicalize';
import type { JsonSchema } from '../../core/registry/json-schema.ts';
import { isSchemaObject, referencesIn, repeatedName, resolve } from './schema-references.ts';
import { cleanText } from './text.ts';

/** Why a schema cannot be shown and checked. */
export class SchemaProblem extends Error {}

export const MOST_BYTES = 64 * 1024;
export const DEEPEST = 32;
const LONGEST_TEXT = 1000;
const LONGEST_PATTERN = 1000;

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** The drafts that name themselves. A schema without a known draft is read as 2020-12. */
const DIALECT = /^https?:\/\/json-schema\.org\/(?:draft-0[467]|draft\/20(?:19-09|20-12))\/schema#?$/;

/** The position in a schema, and the rules of its draft. */
interface SchemaPosition {
  readonly depth: number;
  /** Lists in `items` are tuples, as before 2020-12. */
  readonly oldTuples: boolean;
  /** Keywords beside `$ref` are ignored, as before 2019-09. */
  readonly loneRefs: boolean;
}

type Reader = (value: unknown, place: SchemaPosition) => unknown;

/**
 * A copy of the JSON Schema that contains only known keywords with valid values, so that no client fails on it. References point into the
 * copy; texts are cleaned and shortened. `$id` is left out, because clients that store schemas by `$id` would mix up two tools.
 * @throws SchemaProblem
 */
export function boundSchema(raw: unknown): JsonSchema {
  const schema = readSchema(raw, placeOf(raw));
  if (!isSchemaObject(schema)) throw new SchemaProblem('the schema is not an object');
  const twice = repeatedName(schema);
  if (twice !== undefined) throw new SchemaProblem(`two of its schemas have the name ${twice}`);
  for (const reference of referencesIn(schema)) {
    if (!isSchema(resolve(schema, reference)))
      throw new SchemaProblem(`$ref ${cleanText(reference, 100)} leads nowhere`);
  }
  if (JSON.stringify(schema).length > MOST_BYTES)
    throw new SchemaProblem(`the schema is larger than ${MOST_BYTES} bytes`);
  return schema;
}

function placeOf(raw: unknown): SchemaPosition {
  const dialect =
    isSchemaObject(raw) && typeof raw.$schema === 'string' && DIALECT.test(raw.$schema) ? raw.$schema : '';
  return {
    depth: 0,
    oldTuples: dialect !== '' && !dialect.includes('2020-12'),
    loneRefs: dialect.includes('/draft-0'),
  };
}

function isSchema(value: unknown): value is JsonSchema | boolean {
  return typeof value === 'boolean' || isSchemaObject(value);
}

function readSchema(raw: unknown, place: SchemaPosition): JsonSchema | boolean {
  if (typeof raw === 'boolean') return raw;
  if (!isSchemaObject(raw)) throw new SchemaProblem('a schema in it is neither an object nor true or false');
  if (place.depth > DEEPEST) throw new SchemaProblem(`it nests deeper than ${DEEPEST} levels`);
  const read = Object.entries(inOneDialect(raw, place)).flatMap(([name, value]) => {
    const kept = Object.hasOwn(keywords, name) ? keywords[name]?.(value, place) : undefined;
    return kept === undefined ? [] : [[name, kept]];
  });
  return Object.fromEntries(read);
}

/** Rewrites keywords of older drafts in the form of 2020-12. */
function inOneDialect(raw: JsonSchema, { oldTuples, loneRefs }: SchemaPosition): JsonSchema {
  if (loneRefs && raw.$ref !== undefined) {
    return Object.fromEntries(Object.entries(raw).filter(([name]) => BESIDE_REF.includes(name)));
  }
  if (oldTuples) {
    const { prefixItems: _, ...rest } = raw;
    return rest;
  }
  const { items, additionalItems, ...rest } = raw;
  if (!Array.isArray(items)) return { ...rest, ...(items !== undefined && { items }) };
  return { ...rest, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) };
}

const BESIDE_REF = [
  '$ref',
  '$schema',
  '$comment',
  'title',
  'description',
  'definitions',
  '$defs',
  'default',
  'examples',
];

function inside(place: SchemaPosition): SchemaPosition {
  return { ...place, depth: place.depth + 1 };
}

const schema: Reader = (value, place) => readSchema(value, inside(place));

const schemas: Reader = (value, place) => {
  if (!Array.isArray(value) || value.length === 0)
    throw new SchemaProblem('a list of schemas in it is not a list, or is empty');
  return value.map((item) => readSchema(item, inside(place)));
};

const items: Reader = (value, place) => (Array.isArray(value) ? schemas(value, place) : schema(value, place));

const schemaMap: Reader = (value, place) => mapOf(value, (item) => readSchema(item, inside(place)));

const nameMap: Reader = (value, place) => mapOf(value, (item) => names(item, place));

const dependencies: Reader = (value, place) =>
  mapOf(value, (item) => (Array.isArray(item) ? names(item, place) : readSchema(item, inside(place))));

function mapOf(value: unknown, read: (item: unknown) => unknown): JsonSchema {
  if (!isSchemaObject(value)) throw new SchemaProblem('the members of a schema in it are not an object');
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, read(item)]));
}

const type: Reader = (value) => {
  const types = Array.isArray(value) ? value : [value];
  if (types.length === 0 || !types.every((each) => TYPES.includes(each)))
    throw new SchemaProblem('it has an unknown type');
  return Array.isArray(value) ? [...new Set(types)] : value;
};

const names: Reader = (value) => {
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string')) {
    throw new SchemaProblem('what it requires are not names');
  }
  return [...new Set(value)];
};

const reference: Reader = (value) => {
  if (typeof value === 'string' && (/^#(?:\/|$)/.test(value) || ANCHOR.test(value.slice(1)))) return value;
  throw new SchemaProblem('it refers to something outside itself');
};

const ANCHOR = /^[A-Za-z_][\w.-]{0,99}$/;
const anchor: Reader = (value) => {
  if (typeof value === 'string' && ANCHOR.test(value)) return value;
  throw new SchemaProblem('a name of a schema in it is not a name');
};

const dialect: Reader = (value, { depth }) =>
  depth === 0 && typeof value === 'string' && DIALECT.test(value) ? value : undefined;

const values: Reader = (value, place) => {
  if (!Array.isArray(value) || value.length === 0)
    throw new SchemaProblem('a list of values in it is not a list, or is empty');
  const read = new Map(value.map((item) => [canonicalize(item), anyValue(item, { ...place, depth: 0 })]));
  return [...read.values()];
};

/** These keywords only restrict or describe. Where their value is invalid, they are left out. */
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

/** Members named by patterns. An invalid pattern is left out with its schema. */
const patternMap: Reader = (value, place) => {
  const read = schemaMap(value, place) as Record<string, unknown>; // made of entries
  return Object.fromEntries(Object.entries(read).filter(([name]) => pattern(name, place) !== undefined));
};

const anyValue: Reader = (value, place) => {
  if (place.depth > DEEPEST) throw new SchemaProblem(`a value in it nests deeper than ${DEEPEST} levels`);
  if (Array.isArray(value)) return value.map((item) => anyValue(item, inside(place)));
  if (!isSchemaObject(value)) return value;
  return mapOf(value, (item) => anyValue(item, inside(place)));
};

const keywords: Readonly<Record<string, Reader>> = {
  type,
  title: text,
  description: text,
  properties: schemaMap,
  patternProperties: patternMap,
  required: names,
  additionalProperties: schema,
  unevaluatedProperties: schema,
  propertyNames: schema,
  dependentRequired: nameMap,
  dependentSchemas: schemaMap,
  dependencies,
  minProperties: count,
  maxProperties: count,
  items,
  additionalItems: schema,
  prefixItems: schemas,
  unevaluatedItems: schema,
  contains: schema,
  minContains: count,
  maxContains: count,
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
  contentSchema: schema,
  allOf: schemas,
  anyOf: schemas,
  oneOf: schemas,
  not: schema,
  if: schema,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: schema,
  else: schema,
  $schema: dialect,
  $comment: text,
  $anchor: anchor,
  $dynamicAnchor: anchor,
  $ref: reference,
  $dynamicRef: reference,
  $defs: schemaMap,
  definitions: schemaMap,
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
};
