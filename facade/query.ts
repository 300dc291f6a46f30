import { z } from 'zod';
import type { Issue } from '../resources/error.ts';
import { ToolError } from '../tools/errors.ts';
import { unwrap } from '../tools/validate.ts';

/** Turns a query string into tool input: text, numbers and booleans by the type of the member. What fits none stays text. */
export type QueryReader = (query: URLSearchParams) => Record<string, unknown>;

const NUMBER = /^-?\d+(\.\d+)?$/;

/** Made once per route. */
export function queryReader(input: z.ZodObject): QueryReader {
  const readers = new Map(Object.entries(input.shape).map(([name, schema]) => [name, valueReader(schema)]));
  return (query) => {
    const values: Record<string, unknown> = {};
    const issues: Issue[] = [];
    for (const [name, text] of query) {
      if (Object.hasOwn(values, name)) issues.push({ path: name, message: 'Given more than once in the query.' });
      Object.defineProperty(values, name, {
        value: readers.get(name)?.(text) ?? text,
        enumerable: true,
        configurable: true,
      });
    }
    if (issues[0]) throw new ToolError('invalid_input', `${issues[0].path}: ${issues[0].message}`, { issues });
    return values;
  };
}

function valueReader(schema: z.ZodType): (text: string) => unknown {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodNumber) return (text) => (NUMBER.test(text) ? Number(text) : text);
  if (inner instanceof z.ZodBoolean) return (text) => (text === 'true' ? true : text === 'false' ? false : text);
  return (text) => text;
}
