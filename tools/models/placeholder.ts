/** A value that fits a JSON Schema, with `text` in place of every string. It shows what an answer in that form could look like. */
export function placeholderFor(schema: unknown, text: string): unknown {
  if (typeof schema !== 'object' || schema === null) return text;
  const { enum: choices, const: only, type, properties, items, minItems, minimum, maxLength, anyOf } = schema as Schema;
  if (only !== undefined) return only;
  if (Array.isArray(choices)) return choices[0];
  if (Array.isArray(anyOf)) return placeholderFor(anyOf[0], text);
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(properties ?? {}).map(([name, member]) => [name, placeholderFor(member, text)]),
      );
    case 'array':
      return Array.from({ length: Number(minItems ?? 1) }, () => placeholderFor(items, text));
    case 'number':
    case 'integer':
      return Number(minimum ?? 0);
    case 'boolean':
      return false;
    case 'null':
      return null;
    default:
      return text.slice(0, Number(maxLength ?? text.length));
  }
}

/** The keywords that are used. The caller checks the answer against the whole schema. */
type Schema = Readonly<Record<string, unknown>> & { readonly properties?: Readonly<Record<string, unknown>> };
