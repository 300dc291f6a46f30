import { z } from 'zod';

/** Input members whose values never reach the audit log, a log line or an error. */
export const sensitive = z.registry<{ sensitive: true }>();

/** Members of an input object that only the server writes, each with the sentence that says who does. */
export const serverManaged = z.registry<{ members: Readonly<Record<string, string>> }>();

/** Marks a field as sensitive; returns it for use in place. */
export function secret<T extends z.ZodType>(schema: T): T {
  sensitive.add(schema, { sensitive: true });
  return schema;
}
