import { z } from 'zod';
import { namesUser } from '../../../resources/fields.ts';
import { isObject } from '../../../resources/json.ts';
import { sensitive, toolArguments } from '../../../resources/markers.ts';
import { oncePer } from '../once-per.ts';
import type { Catalog } from '../registry/catalog-index.ts';
import type { Tool } from '../registry/tool.ts';
import { unwrap } from '../registry/validate.ts';
import { mapItems, mapMembers, SizeBudget, truncated } from './size-budget.ts';

const REDACTED = '[redacted]';
const UNKNOWN = '[unknown member]';

/** Finds the tools whose arguments an input may hold. */
export type ToolsByName = Pick<Catalog, 'get'>;

/** What a redaction needs to know. */
interface Showing {
  readonly tools: ToolsByName;
  readonly room: SizeBudget;
}

interface Redactor {
  /** Whether something inside is sensitive. Then a value with another shape than the schema is replaced as a whole. */
  readonly guards: boolean;
  redact(value: unknown, showing: Showing): unknown;
}
/** Bytes tell nothing and fill the room of the other arguments. */
const BYTES: Redactor = {
  guards: false,
  redact: (value, { room }) =>
    truncated(typeof value === 'string' ? `[${Buffer.byteLength(value, 'base64')} bytes]` : value, room),
};
const PLAIN: Redactor = { guards: false, redact: (value, { room }) => truncated(value, room) };
const HIDDEN: Redactor = { guards: true, redact: (_, { room }) => truncated(REDACTED, room) };
/** What stands before the host of an address. */
const USER = /[\\/]*[^\\/?#]*@/;
const NAMELESS: Redactor = {
  guards: true,
  redact: (value, showing) =>
    typeof value === 'string' ? truncated(withoutUser(value), showing.room) : unfit(HIDDEN, value, showing),
};
/** In a text that is not an address, all up to the last `@` could be a password. */
function withoutUser(text: string): string {
  if (URL.canParse(text)) return namesUser(text) ? text.replace(USER, `//${REDACTED}@`) : text;
  const end = text.lastIndexOf('@');
  return end < 0 ? text : `//${REDACTED}${text.slice(end)}`;
}

/** The arguments without sensitive values and unknown members, also inside the arguments of other tools, cut after so many characters of JSON. */
export function redacted(
  tool: Pick<Tool, 'input'>,
  input: object,
  tools: ToolsByName,
  characters = Number.POSITIVE_INFINITY,
): Record<string, unknown> {
  return redactedBy(tool, input, { tools, room: new SizeBudget(characters) });
}

function redactedBy({ input: schema }: Pick<Tool, 'input'>, input: object, showing: Showing): Record<string, unknown> {
  return redactorOfInput(schema).redact(input, showing) as Record<string, unknown>; // a redactor of an object schema returns objects
}

const redactorOfInput = oncePer((schema: z.ZodObject) => redactorOf(schema));

function redactorOf(schema: unknown): Redactor {
  const mark = schema instanceof z.ZodType ? sensitive.get(schema) : undefined;
  if (mark) return mark.part === 'all' ? HIDDEN : NAMELESS;
  const inner = unwrap(schema);
  if (inner !== schema) return redactorOf(inner);
  const holds = schema instanceof z.ZodType ? toolArguments.get(schema) : undefined;
  if (holds && 'byName' in holds) return BY_TOOL;
  if (schema instanceof z.ZodObject) return objectRedactor(schema, holds);
  if (schema instanceof z.ZodArray) return arrayRedactor(redactorOf(schema.element));
  if (schema instanceof z.ZodRecord) return recordRedactor(redactorOf(schema.valueType));
  if (schema instanceof z.ZodBase64) return BYTES;
  return schema instanceof z.ZodUnion ? unionRedactor(schema) : PLAIN;
}

function arrayRedactor(item: Redactor): Redactor {
  return {
    guards: item.guards,
    redact: (value, showing) =>
      Array.isArray(value)
        ? mapItems(value, showing.room, (each) => item.redact(each, showing))
        : unfit(item, value, showing),
  };
}

function recordRedactor(member: Redactor): Redactor {
  if (!member.guards) return PLAIN;
  return {
    guards: true,
    redact: (value, showing) =>
      isObject(value)
        ? mapMembers(value, showing.room, (each) => member.redact(each, showing))
        : unfit(member, value, showing),
  };
}

/** A value that fits none of the forms could be any of them, so all of them redact it. */
function unionRedactor(schema: z.ZodUnion): Redactor {
  const forms = schema.options.map((form) => ({ form, redactor: redactorOf(form) }));
  if (!forms.some(({ redactor }) => redactor.guards)) return PLAIN;
  return {
    guards: true,
    redact(value, showing) {
      const found = forms.find(({ form }) => z.safeParse(form, value).success);
      return found ? found.redactor.redact(value, showing) : unfit(HIDDEN, value, showing);
    },
  };
}

/** `call`: the members that name a tool and hold its arguments. */
function objectRedactor(schema: z.ZodObject, call?: { readonly tool: string; readonly arguments: string }): Redactor {
  const members = new Map(Object.entries(schema.shape).map(([name, member]) => [name, redactorOf(member)]));
  const others = schema.def.catchall && redactorOf(schema.def.catchall) === HIDDEN ? REDACTED : UNKNOWN;
  const guards = call !== undefined || others === REDACTED || [...members.values()].some((member) => member.guards);
  const redact = (value: unknown, showing: Showing) => {
    if (!isObject(value)) return unfit({ guards }, value, showing);
    return mapMembers(value, showing.room, (item, name) => {
      if (name === call?.arguments) return redactedFor(value[call.tool], item, showing);
      const member = members.get(name);
      return member ? member.redact(item, showing) : truncated(others, showing.room);
    });
  };
  return { guards, redact };
}

const BY_TOOL: Redactor = {
  guards: true,
  redact: (value, showing) =>
    isObject(value)
      ? mapMembers(value, showing.room, (held, name) => redactedFor(name, held, showing))
      : unfit(HIDDEN, value, showing),
};

/** If there is no such tool, any argument could be sensitive. */
function redactedFor(name: unknown, held: unknown, showing: Showing): unknown {
  if (!isObject(held)) return unfit(HIDDEN, held, showing);
  const tool = typeof name === 'string' ? showing.tools.get(name)?.tool : undefined;
  return tool
    ? redactedBy(tool, held, showing)
    : mapMembers(held, showing.room, () => HIDDEN.redact(undefined, showing));
}

function unfit({ guards }: { readonly guards: boolean }, value: unknown, { room }: Showing): unknown {
  return truncated(guards && value !== null && value !== undefined ? REDACTED : value, room);
}

/** The secrets in the arguments of a tool, each with its place. Null is not a secret. */
export function secretsIn(tool: Pick<Tool, 'input'>, input: object, tools: ToolsByName): Secret[] {
  return differences(input, redacted(tool, input, tools), []);
}

interface Secret {
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
