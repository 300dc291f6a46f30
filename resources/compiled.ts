import { z } from 'zod';

const made = new WeakMap<z.ZodType, z.ZodType>();

/** The schema with a parser that zod compiles at first use. It lacks the marks of this one, so it only parses; the ordinary parser words problems. */
export function compiled<Schema extends z.ZodType>(schema: Schema): Schema {
  let found = made.get(schema);
  if (!found) {
    found = z.compile(schema);
    made.set(schema, found);
  }
  return found as Schema; // which parses what the schema parses
}
