import { z } from 'zod';
import type { Issue } from '../../resources/error.ts';
import { ToolError } from '../../tools/core/errors.ts';
import { unwrap } from '../../tools/core/registry/validate.ts';

/** Text, numbers and booleans by the type of each member; a value that does not fit stays text. Lists are comma-separated, repeated, or both. */
export type QueryReader = (query: URLSearchParams) => Record<string, unknown>;

const NUMBER = /^-?\d+(\.\d+)?$/;

export function queryReader(input: z.ZodObject): QueryReader {
  const readers = new Map(Object.entries(input.shape).map(([name, schema]) => [name, memberReader(schema)]));
  return (query) => {
    const values: Record<string, unknown> = {};
    const issues: Issue[] = [];
    for (const name of new Set(query.keys())) {
      const given = query.getAll(name);
      const reader = readers.get(name);
      if (given.length > 1 && !reader?.takesMany) {
        issues.push({ path: name, message: 'Is given more than once; give it once.' });
      }
      Object.defineProperty(values, name, {
        value: reader ? reader.read(given) : given[0],
        enumerable: true,
        configurable: true,
      });
    }
    if (issues[0]) throw new ToolError('invalid_input', `${issues[0].path}: ${issues[0].message}`, { issues });
    return values;
  };
}

interface MemberReader {
  readonly takesMany: boolean;
  /** `given` has at least one text. */
  read(given: readonly string[]): unknown;
}

function memberReader(schema: z.ZodType): MemberReader {
  const inner = unwrap(schema);
  if (!(inner instanceof z.ZodArray)) {
    const read = valueReader(schema);
    return { takesMany: false, read: ([text = '']) => read(text) };
  }
  // The type allows schemas of zod's core, but this project makes all schemas with the classic package.
  const read = valueReader(inner.element as z.ZodType);
  return {
    takesMany: true,
    read: (given) => given.flatMap((text) => text.split(',')).map((text) => read(text.trim())),
  };
}

/** As JSON writes them, and as Python does. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
]);

function valueReader(schema: z.ZodType): (text: string) => unknown {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodNumber) return (text) => (NUMBER.test(text) ? Number(text) : text);
  if (inner instanceof z.ZodBoolean) return (text) => BOOLEANS.get(text) ?? text;
  return (text) => text;
}
