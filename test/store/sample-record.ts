import { z } from 'zod';

/** Texts. Every schema of a text takes at least two of them. */
const TEXTS = [
  ...['2026-01-05T00:00:00.000Z', '2999-01-05T00:00:00.000Z', 'ada@example.com', 'alan@example.com'],
  ...['https://one.example/a', 'https://two.example/b', 'Europe/Berlin', 'UTC', 'EUR', 'USD', '2026-01'],
  ...['2026-02', 'text/plain', 'text/html', '* * * * *', '0 * * * *', 'one', 'two', 'a'.repeat(64)],
  ...['b'.repeat(64), 'abcdefgh', 'bcdefghi'],
];

/** A value that the schema takes: the first of what comes to mind, or for `which` 1 another one, where there is another. */
export function sampleOf(schema: z.ZodType, which: 0 | 1 = 0): unknown {
  const found = valuesOf(schema);
  return found[Math.min(which, found.length - 1)];
}

/** A record of the required members, and of the named ones. */
export function sampleRecord(schema: z.ZodObject, named: readonly string[], which: 0 | 1 = 0): Record<string, unknown> {
  const members = Object.entries(schema.shape).flatMap(([name, member]) => {
    const isOptional = member.safeParse(undefined).success;
    if (isOptional && !named.includes(name)) return [];
    return [[name, sampleOf(member, named.includes(name) ? which : 0)] as const];
  });
  return Object.fromEntries(members);
}

function valuesOf(schema: z.core.$ZodType): readonly unknown[] {
  const tried = candidatesOf(schema).filter((value) => value !== undefined && z.safeParse(schema, value).success);
  return tried;
}

function candidatesOf(schema: z.core.$ZodType): readonly unknown[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return valuesOf(schema.unwrap() as z.ZodType);
  }
  if (schema instanceof z.ZodArray) return [...valuesOf(schema.element).map((item) => [item]), []];
  if (schema instanceof z.ZodObject) return [0, 1].map((which) => sampleRecord(schema, [], which as 0 | 1));
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => valuesOf(option));
  if (schema instanceof z.ZodEnum) return schema.options;
  if (schema instanceof z.ZodLiteral) return [...schema.values];
  return [...TEXTS, true, false, 1, 2, 0.5, 1000, 2000, {}];
}
