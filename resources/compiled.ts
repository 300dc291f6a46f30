import { z } from 'zod';

const made = new WeakMap<z.ZodType, z.ZodType>();

/**
 * The schema with a parser that zod compiles when it is first needed. What that parser does not accept, the ordinary one looks at again
 * and words every problem. Compiling makes another schema, without the marks of this one, so it is used to parse and for nothing else.
 */
export function compiled<Schema extends z.ZodType>(schema: Schema): Schema {
  let found = made.get(schema);
  if (!found) {
    found = z.compile(schema);
    made.set(schema, found);
  }
  return found as Schema; // which parses what the schema parses
}
