import type { JsonSchema } from '../../schema.ts';

/** What people read at a field instead of the words that the schema has for models; `items` of lists are passed over: `prices.from`. */
export type FormWords = Readonly<
  Record<string, Readonly<{ label?: string; hint?: string; add?: string; options?: Readonly<Record<string, string>> }>>
>;

/** The schema with these words; its members in the order in which they are named. */
export function inWords(schema: JsonSchema, words: FormWords, path = ''): JsonSchema {
  const { properties, items, anyOf } = schema;
  const inside = <Part extends JsonSchema>(part: Part) => inWords(part, words, path);
  return {
    ...schema,
    ...(properties && { properties: membersInWords(properties, words, path) }),
    ...(items && { items: inside(items) }),
    ...(anyOf && { anyOf: anyOf.map(inside) }),
  };
}

type Properties = NonNullable<JsonSchema['properties']>;

function membersInWords(properties: Properties, words: FormWords, path: string): Properties {
  const named = Object.keys(words).flatMap((name) => (name.startsWith(path) ? [name.slice(path.length)] : []));
  const order = new Set([...named.filter((name) => name in properties), ...Object.keys(properties)]);
  return Object.fromEntries(
    [...order].flatMap((name) => {
      const member = properties[name];
      if (!member) return [];
      const { label, hint, add, options } = words[path + name] ?? {};
      const said = {
        ...member,
        ...(label !== undefined && { title: label }),
        ...(hint !== undefined && say(member, hint)),
        ...(options && { 'x-words': options }),
        ...(add !== undefined && { 'x-add': add }),
      };
      return [[name, inWords(said, words, `${path}${name}.`)]];
    }),
  );
}

/** In place of what the alternatives say too. */
function say({ anyOf }: JsonSchema, description: string): Partial<JsonSchema> {
  return { description, ...(anyOf && { anyOf: anyOf.map(({ description: _, ...form }) => form) }) };
}
