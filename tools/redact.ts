import { z } from 'zod';
import { sensitive, toolArguments } from '../resources/markers.ts';
import type { Catalog } from './catalog-index.ts';
import type { Tool } from './define-tool.ts';
import { unwrap } from './validate.ts';

export const REDACTED = '[redacted]';
const UNKNOWN = '[unknown member]';

/** Finds the tools whose arguments an input may hold. */
export type ToolsByName = Pick<Catalog, 'get'>;

interface Redactor {
  /** Whether something below is sensitive; then a value of another shape than the schema's is replaced whole. */
  readonly guards: boolean;
  redact(value: unknown, tools: ToolsByName): unknown;
}
const PLAIN: Redactor = { guards: false, redact: (value) => value };
const HIDDEN: Redactor = { guards: true, redact: () => REDACTED };
const NAMELESS: Redactor = {
  guards: true,
  redact: (value) => (typeof value === 'string' ? value.replace(/\/\/[^/]*@/, `//${REDACTED}@`) : unfit(HIDDEN, value)),
};
const redactors = new WeakMap<z.ZodObject, Redactor>();

/** The arguments with sensitive values and unknown members replaced, also in the arguments of other tools that they hold. */
export function redacted(
  { input: schema }: Pick<Tool, 'input'>,
  input: object,
  tools: ToolsByName,
): Record<string, unknown> {
  let redactor = redactors.get(schema);
  if (!redactor) {
    redactor = redactorOf(schema);
    redactors.set(schema, redactor);
  }
  return redactor.redact(input, tools) as Record<string, unknown>; // a redactor of an object schema maps objects to objects
}

/** Made once per schema. */
function redactorOf(schema: unknown): Redactor {
  const mark = schema instanceof z.ZodType ? sensitive.get(schema) : undefined;
  if (mark) return mark.part === 'all' ? HIDDEN : NAMELESS;
  const inner = unwrap(schema);
  if (inner !== schema) return redactorOf(inner);
  const holds = schema instanceof z.ZodType ? toolArguments.get(schema) : undefined;
  if (holds && 'byName' in holds) return BY_TOOL;
  if (schema instanceof z.ZodObject) {
    const plain = objectRedactor(schema);
    return holds ? callRedactor(plain, holds) : plain;
  }
  if (schema instanceof z.ZodArray) return arrayRedactor(redactorOf(schema.element));
  if (schema instanceof z.ZodRecord) return recordRedactor(redactorOf(schema.valueType));
  return schema instanceof z.ZodUnion ? unionRedactor(schema) : PLAIN;
}

function arrayRedactor(item: Redactor): Redactor {
  return {
    guards: item.guards,
    redact: (value, tools) =>
      Array.isArray(value) ? value.map((each) => item.redact(each, tools)) : unfit(item, value),
  };
}

function recordRedactor(member: Redactor): Redactor {
  if (!member.guards) return PLAIN;
  return {
    guards: true,
    redact: (value, tools) =>
      isRecord(value) ? mapMembers(value, (each) => member.redact(each, tools)) : unfit(member, value),
  };
}

/** What fits none of the forms may be any of them. */
function unionRedactor(schema: z.ZodUnion): Redactor {
  const forms = schema.options.map((form) => ({ form, redactor: redactorOf(form) }));
  if (!forms.some(({ redactor }) => redactor.guards)) return PLAIN;
  return {
    guards: true,
    redact(value, tools) {
      const found = forms.find(({ form }) => z.safeParse(form, value).success);
      return found ? found.redactor.redact(value, tools) : unfit(HIDDEN, value);
    },
  };
}

function objectRedactor(schema: z.ZodObject): Redactor {
  const members = new Map(Object.entries(schema.shape).map(([name, member]) => [name, redactorOf(member)]));
  const others = schema.def.catchall && redactorOf(schema.def.catchall) === HIDDEN ? REDACTED : UNKNOWN;
  const guards = others === REDACTED || [...members.values()].some((member) => member.guards);
  const redact = (value: unknown, tools: ToolsByName) => {
    if (!isRecord(value)) return unfit({ guards }, value);
    return mapMembers(value, (item, name) => (members.has(name) ? members.get(name)?.redact(item, tools) : others));
  };
  return { guards, redact };
}

/** An object that names a tool and holds arguments of it. */
function callRedactor(plain: Redactor, { tool, arguments: held }: { tool: string; arguments: string }): Redactor {
  return {
    guards: true,
    redact(value, tools) {
      if (!isRecord(value)) return unfit(HIDDEN, value);
      const shown = plain.redact(value, tools) as Record<string, unknown>; // an object, as the value is
      if (!Object.hasOwn(value, held)) return shown;
      return { ...shown, [held]: redactedFor(value[tool], value[held], tools) };
    },
  };
}

const BY_TOOL: Redactor = {
  guards: true,
  redact: (value, tools) =>
    isRecord(value) ? mapMembers(value, (held, name) => redactedFor(name, held, tools)) : unfit(HIDDEN, value),
};

/** Of a tool that is not there nothing says what is sensitive. */
function redactedFor(name: unknown, held: unknown, tools: ToolsByName): unknown {
  if (!isRecord(held)) return unfit(HIDDEN, held);
  const tool = typeof name === 'string' ? tools.get(name)?.tool : undefined;
  return tool ? redacted(tool, held, tools) : mapMembers(held, () => REDACTED);
}

function unfit({ guards }: { readonly guards: boolean }, value: unknown): unknown {
  return guards && value !== null && value !== undefined ? REDACTED : value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapMembers(value: object, map: (item: unknown, name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, map(item, name)]));
}

/** The places of secrets in the arguments of a tool, with what is there; null is no secret. */
export function secretsIn(tool: Pick<Tool, 'input'>, input: object, tools: ToolsByName): Secret[] {
  return differences(input, redacted(tool, input, tools), []);
}

export interface Secret {
  readonly path: readonly PropertyKey[];
  readonly value: unknown;
}

function differences(value: unknown, shown: unknown, path: readonly PropertyKey[]): Secret[] {
  if (typeof shown === 'string') {
    const isSecret = shown !== value && value !== null && shown.includes(REDACTED);
    return isSecret ? [{ path, value }] : [];
  }
  if (typeof shown !== 'object' || shown === null) return [];
  const inside = value as Record<PropertyKey, unknown>; // redaction keeps the shape of what it does not replace
  return Object.entries(shown).flatMap(([name, item]) => {
    const place = Array.isArray(shown) ? Number(name) : name;
    return differences(inside[place], item, [...path, place]);
  });
}
