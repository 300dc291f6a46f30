import { canonicalize } from 'json-canonicalize';
import { cleanText } from '../../core/outbound/untrusted-text.ts';
import type { JsonSchema } from '../../core/registry/json-schema.ts';

export class SchemaProblem extends Error {}

export const MOST_BYTES = 64 * 1024;
export const DEEPEST = 32;
const LONGEST_TEXT = 1000;
const LONGEST_PATTERN = 1000;

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
/** The drafts that name themselves. A schema without a known draft is read as 2020-12. */
const DIALECT = /^https?:\/\/json-schema\.org\/(?:draft-0[467]|draft\/20(?:19-09|20-12))\/schema#?$/;
const ANCHOR = /^[A-Za-z_][\w.-]{0,99}$/;
const WORD = /^[\w./+-]{1,100}$/;
const POINTER = /^#(?:\/|$)/;
/** Keywords that count beside `$ref` before 2019-09. */
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

interface SchemaPosition {
  readonly depth: number;
  /** Lists in `items` are tuples, as before 2020-12. */
  readonly oldTuples: boolean;
  /** Keywords beside `$ref` are ignored, as before 2019-09. */
  readonly loneRefs: boolean;
  readonly found: JsonSchema[];
}

type Reader = (value: unknown, place: SchemaPosition) => unknown;

/**
 * A copy of the JSON Schema that contains only known keywords with valid values, so that no client fails on it. References point into the
 * copy; texts are cleaned and shortened. `$id` is left out, because clients that store schemas by `$id` would mix up two tools.
 * @throws SchemaProblem
 */
export function boundSchema(raw: unknown): JsonSchema {
  const named = isSchemaObject(raw) && typeof raw.$schema === 'string' && DIALECT.test(raw.$schema) ? raw.$schema : '';
  const oldTuples = named !== '' && !named.includes('2020-12');
  const found: JsonSchema[] = [];
  const schema = readSchema(raw, { depth: 0, oldTuples, loneRefs: named.includes('/draft-0'), found });
  if (!isSchemaObject(schema)) throw new SchemaProblem('the schema is not an object');
  const anchors = new Set<string>();
  for (const name of textsOf(found, ['$anchor', '$dynamicAnchor'])) {
    if (anchors.has(name)) throw new SchemaProblem(`two of its schemas have the name ${name}`);
    anchors.add(name);
  }
  for (const reference of textsOf(found, ['$ref', '$dynamicRef'])) {
    const leads = POINTER.test(reference) ? isSchema(resolve(schema, reference)) : anchors.has(reference.slice(1));
    if (!leads) throw new SchemaProblem(`$ref ${cleanText(reference, 100)} leads nowhere`);
  }
  if (JSON.stringify(schema).length > MOST_BYTES)
    throw new SchemaProblem(`the schema is larger than ${MOST_BYTES} bytes`);
  return schema;
}

export function resolve(root: JsonSchema, reference: string): unknown {
  let at: unknown = root;
  for (const part of reference.split('/').slice(1)) {
    const step = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as JsonSchema)[step];
  }
  return POINTER.test(reference) ? at : undefined;
}

export function isSchemaObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): value is JsonSchema | boolean {
  return typeof value === 'boolean' || isSchemaObject(value);
}

function textsOf(schemas: readonly JsonSchema[], keywords: readonly string[]): string[] {
  return schemas.flatMap((schema) => keywords.map((name) => schema[name])).filter((text) => typeof text === 'string');
}

function readSchema(raw: unknown, place: SchemaPosition): JsonSchema | boolean {
  if (typeof raw === 'boolean') return raw;
  if (!isSchemaObject(raw)) throw new SchemaProblem('a schema in it is neither an object nor true or false');
  if (place.depth > DEEPEST) throw new SchemaProblem(`it nests deeper than ${DEEPEST} levels`);
  const read = Object.entries(inOneDialect(raw, place)).flatMap(([name, value]) => {
    const kept = KEYWORDS.get(name)?.(value, place);
    return kept === undefined ? [] : [[name, kept]];
  });
  const copy: JsonSchema = Object.fromEntries(read);
  place.found.push(copy);
  return copy;
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

const schema: Reader = (value, place) => readSchema(value, { ...place, depth: place.depth + 1 });

const schemas: Reader = (value, place) => {
  if (!Array.isArray(value) || value.length === 0)
    throw new SchemaProblem('a list of schemas in it is not a list, or is empty');
  return value.map((item) => schema(item, place));
};

const names: Reader = (value) => {
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string'))
    throw new SchemaProblem('what it requires are not names');
  return [...new Set(value)];
};

const either =
  (list: Reader): Reader =>
  (value, place) =>
    (Array.isArray(value) ? list : schema)(value, place);

const mapOf =
  (read: Reader): Reader =>
  (value, place) => {
    if (!isSchemaObject(value)) throw new SchemaProblem('the members of a schema in it are not an object');
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, read(item, place)]));
  };

const type: Reader = (value) => {
  const types = Array.isArray(value) ? value : [value];
  if (types.length === 0 || !types.every((each) => TYPES.includes(each)))
    throw new SchemaProblem('it has an unknown type');
  return Array.isArray(value) ? [...new Set(types)] : value;
};

const reference: Reader = (value) => {
  if (typeof value === 'string' && (POINTER.test(value) || ANCHOR.test(value.slice(1)))) return value;
  throw new SchemaProblem('it refers to something outside itself');
};

const anchor: Reader = (value) => {
  if (typeof value === 'string' && ANCHOR.test(value)) return value;
  throw new SchemaProblem('a name of a schema in it is not a name');
};

const anyValue: Reader = (value, place) => {
  if (place.depth > DEEPEST) throw new SchemaProblem(`a value in it nests deeper than ${DEEPEST} levels`);
  const inner = { ...place, depth: place.depth + 1 };
  if (Array.isArray(value)) return value.map((item) => anyValue(item, inner));
  return isSchemaObject(value) ? mapOf(anyValue)(value, inner) : value;
};

const values: Reader = (value, place) => {
  if (!Array.isArray(value) || value.length === 0)
    throw new SchemaProblem('a list of values in it is not a list, or is empty');
  const read = new Map(value.map((item) => [canonicalize(item), anyValue(item, { ...place, depth: 0 })]));
  return [...read.values()];
};

/** For keywords that only restrict or describe: left out where their value is invalid. */
const optional =
  (isValid: (value: unknown, place: SchemaPosition) => boolean): Reader =>
  (value, place) =>
    isValid(value, place) ? value : undefined;

const isPattern = (value: unknown) => {
  if (typeof value !== 'string' || value.length > LONGEST_PATTERN) return false;
  try {
    new RegExp(value, 'u');
    return true;
  } catch {
    return false;
  }
};

/** Members named by patterns. An invalid pattern is left out with its schema. */
const patternMap: Reader = (value, place) => {
  const read = mapOf(schema)(value, place) as JsonSchema; // made of entries
  return Object.fromEntries(Object.entries(read).filter(([name]) => isPattern(name)));
};

const READERS: readonly (readonly [keywords: string, Reader])[] = [
  ['type', type],
  ['title description $comment', (value) => (typeof value === 'string' ? cleanText(value, LONGEST_TEXT) : undefined)],
  ['properties dependentSchemas $defs definitions', mapOf(schema)],
  ['patternProperties', patternMap],
  ['required', names],
  ['dependentRequired', mapOf(names)],
  ['dependencies', mapOf(either(names))],
  ['items', either(schemas)],
  ['prefixItems allOf anyOf oneOf', schemas],
  ['additionalProperties unevaluatedProperties propertyNames contains contentSchema', schema],
  ['additionalItems unevaluatedItems not if then else', schema],
  ['enum examples', values],
  ['const default', anyValue],
  ['minimum maximum exclusiveMinimum exclusiveMaximum', optional(Number.isFinite)],
  ['multipleOf', optional((value) => Number.isFinite(value) && Number(value) > 0)],
  ['minLength maxLength minItems maxItems', optional(isCount)],
  ['minProperties maxProperties minContains maxContains', optional(isCount)],
  ['uniqueItems deprecated readOnly writeOnly', optional((value) => typeof value === 'boolean')],
  ['format contentEncoding contentMediaType', optional((value) => typeof value === 'string' && WORD.test(value))],
  ['pattern', optional(isPattern)],
  ['$schema', optional((value, { depth }) => depth === 0 && typeof value === 'string' && DIALECT.test(value))],
  ['$anchor $dynamicAnchor', anchor],
  ['$ref $dynamicRef', reference],
];

const KEYWORDS = new Map(READERS.flatMap(([keywords, read]) => keywords.split(' ').map((name) => [name, read])));

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
