import { isDeepStrictEqual } from 'node:util';
import { nearest } from '../../core/access/similar-names.ts';
import type { JsonSchema } from '../../core/registry/json-schema.ts';
import { typeWords } from '../../core/registry/validation-messages.ts';
import { isSchemaObject, resolve } from './schema-references.ts';

type Path = readonly (string | number)[];
interface Problem {
  readonly path: Path;
  readonly message: string;
}

/** A check reads at most this many schemas. The server of the tool judges what was not checked. */
const BUDGET = 20_000;
const DEEPEST = 200;
const MOST_PROBLEMS = 50;

/**
 * What is wrong with the value by the schema. Patterns are never run, so that the time is bounded. It reports only certain errors: it
 * never refuses a valid value, but may accept an invalid one. The server of the tool decides in the end.
 */
export function problemsOf(schema: JsonSchema, value: unknown): Problem[] {
  const check = new Check(schema);
  check.fits(schema, value, [], 0);
  return check.problems;
}

class Check {
  readonly problems: Problem[] = [];
  readonly #root: JsonSchema;
  #left = BUDGET;
  /** Greater than 0 while alternatives are tried. Problems found then are not reported. */
  #trying = 0;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  fits(schema: unknown, value: unknown, path: Path, depth: number): boolean {
    this.#left -= 1;
    if (schema === false) return this.#tell(path, () => 'Nothing is allowed here; leave it out.');
    if (!isSchemaObject(schema) || this.#left < 0 || depth > DEEPEST) return true;
    const type = this.#fitsType(schema, value, path);
    if (!type) return false;
    const results = [
      this.#fitsValues(schema, value, path),
      this.#fitsBounds(schema, value, path),
      this.#fitsParts(schema, value, path, depth),
      this.#fitsOthers(schema, value, path, depth),
    ];
    return results.every(Boolean);
  }

  #tell(path: Path, message: () => string): false {
    if (this.#trying === 0 && this.problems.length < MOST_PROBLEMS) this.problems.push({ path, message: message() });
    return false;
  }

  #fitsType({ type }: JsonSchema, value: unknown, path: Path): boolean {
    if (type === undefined) return true;
    const types = [type].flat();
    if (types.some((each) => hasType(value, String(each)))) return true;
    return this.#tell(
      path,
      () => `Give ${types.map((each) => typeWords(String(each))).join(' or ')}, not ${typeWords(typeName(value))}.`,
    );
  }

  #fitsValues(schema: JsonSchema, value: unknown, path: Path): boolean {
    const choices = Object.hasOwn(schema, 'const') ? [schema.const] : schema.enum;
    if (!Array.isArray(choices)) return true;
    this.#left -= choices.length;
    if (choices.some((choice) => choice === value || isDeepStrictEqual(choice, value))) return true;
    return this.#tell(path, () => {
      const shown = choices.slice(0, 20).map((choice) => JSON.stringify(choice)?.slice(0, 60));
      return `Write one of: ${shown.join(', ')}${choices.length > shown.length ? ' and others' : ''}.`;
    });
  }

  #fitsBounds(schema: JsonSchema, value: unknown, path: Path): boolean {
    const failed = boundsOf(value).find(([keyword, holds]) => {
      const bound = schema[keyword];
      return typeof bound === 'number' && !holds(bound);
    });
    if (!failed) return true;
    const [keyword] = failed;
    return this.#tell(path, () => `Give ${BOUNDS[keyword]} ${schema[keyword]}.`);
  }

  #fitsParts(schema: JsonSchema, value: unknown, path: Path, depth: number): boolean {
    if (Array.isArray(value)) return this.#fitsItems(schema, value, path, depth);
    return isSchemaObject(value) ? this.#fitsMembers(schema, value, path, depth) : true;
  }

  #fitsItems(schema: JsonSchema, value: readonly unknown[], path: Path, depth: number): boolean {
    const { items, additionalItems, prefixItems } = schema;
    const [list, others] = Array.isArray(items) ? [items, additionalItems] : [prefixItems, items];
    const first = Array.isArray(list) ? list : [];
    if (first.length === 0 && others === undefined) return true;
    const results = value.map((item, index) => this.fits(first[index] ?? others, item, [...path, index], depth + 1));
    return results.every(Boolean);
  }

  #fitsMembers(schema: JsonSchema, value: JsonSchema, path: Path, depth: number): boolean {
    const known = isSchemaObject(schema.properties) ? schema.properties : {};
    const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
    this.#left -= required.length;
    const missing = required.filter((name) => !Object.hasOwn(value, name));
    for (const name of missing) this.#tell([...path, name], () => `Is required; give ${formAskedBy(known[name])}.`);
    const results = Object.entries(value).map(([name, member]) => {
      if (Object.hasOwn(known, name)) return this.fits(known[name], member, [...path, name], depth + 1);
      // Patterns may allow further names, and patterns are not run.
      if (schema.patternProperties !== undefined || schema.additionalProperties === undefined) return true;
      if (schema.additionalProperties === false) {
        return this.#tell([...path, name], () => unknownMember(name, known));
      }
      return this.fits(schema.additionalProperties, member, [...path, name], depth + 1);
    });
    return missing.length === 0 && results.every(Boolean);
  }

  #fitsOthers(schema: JsonSchema, value: unknown, path: Path, depth: number): boolean {
    const all = [...(Array.isArray(schema.allOf) ? schema.allOf : []), ...this.#referred(schema)];
    const results = all.map((each) => this.fits(each, value, path, depth + 1));
    for (const choices of [schema.anyOf, schema.oneOf]) {
      if (Array.isArray(choices)) results.push(this.#fitsSome(choices, value, path, depth));
    }
    return results.every(Boolean);
  }

  #referred({ $ref }: JsonSchema): unknown[] {
    return typeof $ref === 'string' ? [resolve(this.#root, $ref)] : [];
  }

  #fitsSome(choices: readonly unknown[], value: unknown, path: Path, depth: number): boolean {
    this.#trying += 1;
    const some = choices.some((choice) => this.fits(choice, value, path, depth + 1));
    this.#trying -= 1;
    return (
      some ||
      this.#tell(path, () => `Fits none of the ${choices.length} forms that the schema allows here; give one of them.`)
    );
  }
}

const BOUNDS = {
  minimum: 'a number of at least',
  maximum: 'a number of at most',
  exclusiveMinimum: 'a number above',
  exclusiveMaximum: 'a number below',
  minLength: 'a length of at least',
  maxLength: 'a length of at most',
  minItems: 'a number of items of at least',
  maxItems: 'a number of items of at most',
  minProperties: 'a number of fields of at least',
  maxProperties: 'a number of fields of at most',
} as const;

type Bound = readonly [keyword: keyof typeof BOUNDS, holds: (bound: number) => boolean];

function boundsOf(value: unknown): Bound[] {
  if (typeof value === 'number') {
    return [
      ['minimum', (bound) => value >= bound],
      ['maximum', (bound) => value <= bound],
      ['exclusiveMinimum', (bound) => value > bound],
      ['exclusiveMaximum', (bound) => value < bound],
    ];
  }
  if (typeof value === 'string') return sizeBounds('minLength', 'maxLength', () => lengthOf(value));
  if (Array.isArray(value)) return sizeBounds('minItems', 'maxItems', () => value.length);
  return isSchemaObject(value) ? sizeBounds('minProperties', 'maxProperties', () => Object.keys(value).length) : [];
}

function sizeBounds(least: keyof typeof BOUNDS, most: keyof typeof BOUNDS, size: () => number): Bound[] {
  return [
    [least, (bound) => size() >= bound],
    [most, (bound) => size() <= bound],
  ];
}

/** The length in characters; some characters take two places in a string. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

function hasType(value: unknown, type: string): boolean {
  if (type === 'integer') return typeof value === 'number' && Number.isInteger(value);
  return typeName(value) === type;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function formAskedBy(schema: unknown): string {
  return isSchemaObject(schema) && typeof schema.type === 'string' ? typeWords(schema.type) : 'it';
}

function unknownMember(name: string, known: JsonSchema): string {
  const shown = name.length > 100 ? `${name.slice(0, 100)}…` : name;
  const allowed = Object.keys(known).slice(0, 100);
  const [match] = nearest(name, allowed, 1);
  if (match) return `There is no field "${shown}" here; did you mean "${match}"?`;
  return `There is no field "${shown}" here; ${allowed.length > 0 ? `allowed: ${allowed.join(', ')}` : 'leave it out'}.`;
}
