import { z } from 'zod';
import type { JsonSchema } from '../../core/registry/json-schema.ts';
import { unknownMemberAt } from '../../core/registry/validate.ts';
import { validationMessage } from '../../core/registry/validation-messages.ts';
import { isSchemaObject, resolve } from './schema.ts';

/** A schema of more parts, with what it refers to, is not checked here. */
const MOST_PARTS = 1000;
/** A value is not checked here where its members and the parts of the schema multiply to more. */
const MOST_STEPS = 100_000;
const MOST_PROBLEMS = 50;
/** A refusal repeats the values that are allowed. */
const LONGEST_CHOICES = 1000;

type Check = (value: unknown) => z.core.$ZodRawIssue[];

/** Finds what is certainly wrong with a value: it never refuses a valid one. The server of the tool decides in the end. */
export function inputCheck(schema: JsonSchema): Check {
  const made = new Map<boolean, CertainPart>();
  return (value) => {
    const isWide = TWO_PLACES.test(JSON.stringify(value));
    const known = made.get(isWide) ?? certainPart(schema, isWide ? KEPT : [...KEPT, 'maxLength']);
    made.set(isWide, known);
    const { parts, type } = known;
    if (parts > MOST_PARTS || parts * membersOf(value) > MOST_STEPS) return [];
    const { error } = type.safeParse(value, { error: validationMessage });
    return (error?.issues ?? []).slice(0, MOST_PROBLEMS).flatMap((issue): z.core.$ZodRawIssue[] => {
      // Of the same code, with the input that was left out.
      if (issue.code !== 'unrecognized_keys') return [{ ...issue, input: value } as z.core.$ZodRawIssue];
      return issue.keys.slice(0, MOST_PROBLEMS).map((name) => {
        const path = [...issue.path, name];
        const message = unknownMemberAt(type, path)?.message ?? 'There is no such field here; leave it out.';
        return { code: 'custom', path, message, input: value };
      });
    });
  };
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((count, member) => count + membersOf(member), 1);
}

interface CertainPart {
  readonly type: z.ZodType;
  readonly parts: number;
}

/** The part of the schema that zod reads as JSON Schema means it. It has no patterns, and what it refers to stands in place of the references. */
function certainPart(root: JsonSchema, kept: readonly string[]): CertainPart {
  let parts = 0;
  const open = new Set<unknown>();

  function certain(node: unknown): JsonSchema {
    parts += 1;
    if (!isSchemaObject(node) || parts > MOST_PARTS || open.has(node)) return {};
    if (typeof node.$ref !== 'string') return membersIn(node);
    open.add(node);
    const found = certain(resolve(root, node.$ref));
    open.delete(node);
    return found;
  }

  function membersIn(node: JsonSchema): JsonSchema {
    const { items, prefixItems, anyOf, oneOf, allOf } = node;
    const some = anyOf ?? oneOf;
    return {
      ...Object.fromEntries(kept.flatMap((name) => (node[name] === undefined ? [] : [[name, node[name]]]))),
      ...typeIn(node),
      ...choicesIn(node),
      ...fieldsIn(node),
      ...(isSchemaObject(items) && prefixItems === undefined && { items: certain(items) }),
      ...(Array.isArray(some) && { anyOf: some.map(certain) }),
      ...(Array.isArray(allOf) && { allOf: allOf.map(certain) }),
    };
  }

  function fieldsIn({ properties, patternProperties, additionalProperties: others }: JsonSchema): JsonSchema {
    const all = Object.entries(isSchemaObject(properties) ? properties : {});
    // Zod takes what every object inherits for a given field.
    const known = all.filter(([name]) => !(name in Object.prototype));
    const isClosed = known.length === all.length && patternProperties === undefined;
    return {
      properties: Object.fromEntries(known.map(([name, member]) => [name, certain(member)])),
      ...(isClosed && others !== undefined && { additionalProperties: others === false ? false : certain(others) }),
    };
  }

  const schema = certain(root);
  return { parts, type: parts > MOST_PARTS ? z.unknown() : z.fromJSONSchema(schema as z.core.JSONSchema.BaseSchema) };
}

const KEPT = [
  'required',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'minItems',
  'maxItems',
];
/** Characters that take two places in a string. Zod counts places, so `maxLength` is left out where they are. */
const TWO_PLACES = /[\u{10000}-\u{10ffff}]/u;

/** Zod has no whole numbers beyond the safe ones. */
function typeIn({ type }: JsonSchema): JsonSchema {
  if (type === undefined) return {};
  const types = [type].flat().map(String);
  const isWhole = types.includes('integer') && !types.includes('number');
  const read = [...new Set(types.map((each) => (each === 'integer' ? 'number' : each)))];
  return { type: read.length === 1 ? read[0] : read, ...(isWhole && { multipleOf: 1 }) };
}

function choicesIn(node: JsonSchema): JsonSchema {
  const choices = Object.hasOwn(node, 'const') ? [node.const] : node.enum;
  const isPlain = Array.isArray(choices) && choices.every((choice) => typeof choice !== 'object' || choice === null);
  return isPlain && JSON.stringify(choices).length <= LONGEST_CHOICES ? { enum: choices } : {};
}
