import type { JsonSchema } from './json-schema.ts';

/** Longer lists of members are cut: they are for a model that chooses a tool. */
const MOST_NAMES = 6;
/** Members that many answers have and that say nothing about the tool, or that the input tells of. */
const COMMON: ReadonlySet<string> = new Set(['createdAt', 'updatedAt', 'createdBy', 'total', 'revision']);

/**
 * An output schema as lists show it: the members of an answer with their types, and of objects in it the names of their members. Every value that
 * fits the whole schema fits this one.
 */
export function outlineSchema({ type, properties = {} }: JsonSchema): JsonSchema {
  const members = Object.entries(properties as Readonly<Record<string, Node>>).filter(([name]) => !COMMON.has(name));
  return { type, properties: Object.fromEntries(members.map(([name, part]) => [name, outline(part)])) };
}

/** What `z.toJSONSchema` makes that is looked at here. */
interface Node {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
}

function outline({ type, properties, items, anyOf }: Node): JsonSchema {
  if (anyOf) return { anyOf: anyOf.map(outline) };
  if (type === 'array') return items?.properties || items?.anyOf ? { type, items: outline(items) } : { type };
  if (properties) return { type, description: namesOf(Object.keys(properties)) };
  return typeof type === 'string' ? { type } : {}; // one of several says little for its length
}

function namesOf(names: readonly string[]): string {
  return names.slice(0, MOST_NAMES).join(', ') + (names.length > MOST_NAMES ? ', …' : '');
}
