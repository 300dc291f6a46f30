import { z } from 'zod';

/** Input members whose values, or the user and password in them, never reach the audit log, a log line or an error. */
export const sensitive = z.registry<{ part: 'all' | 'userinfo' }>();

/** Members of an input object that only the server writes, each with the sentence that says who does. */
export const serverManaged = z.registry<{ members: Readonly<Record<string, string>> }>();

/** Marks a field as sensitive; returns it for use in place. */
export function secret<T extends z.ZodType>(schema: T): T {
  sensitive.add(schema, { part: 'all' });
  return schema;
}

/** Marks a URL, in which a user and password would be sensitive also where they are refused; returns it for use in place. */
export function address<T extends z.ZodType>(schema: T): T {
  sensitive.add(schema, { part: 'userinfo' });
  return schema;
}
