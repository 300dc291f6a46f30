import type { z } from 'zod';
import { compiled } from '../../../resources/compiled.ts';

const frozenValues = new WeakSet<object>();
const checked = new WeakMap<object, { readonly schema: z.ZodObject; readonly output: object }>();
const texts = new WeakMap<object, string>();

/** The value, which nobody can change any more in any part. A tool that answers with it again has it checked and written as JSON once. */
export function frozen<Value extends object>(value: Value): Value {
  freezeParts(value);
  frozenValues.add(value);
  return value;
}

function freezeParts(value: object): void {
  Object.freeze(value);
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) freezeParts(part);
}

/** What the schema makes of the answer of a tool. @throws ZodError */
export function checkedOutput(schema: z.ZodObject, answer: unknown): object {
  if (!isFrozen(answer)) return compiled(schema).parse(answer);
  const known = checked.get(answer);
  if (known?.schema === schema) return known.output;
  const output = frozen(compiled(schema).parse(answer));
  checked.set(answer, { schema, output });
  return output;
}

/** The JSON text of what a door answers with. */
export function jsonOf(value: unknown): string {
  if (!isFrozen(value)) return JSON.stringify(value);
  const text = texts.get(value) ?? JSON.stringify(value);
  texts.set(value, text);
  return text;
}

function isFrozen(value: unknown): value is object {
  return typeof value === 'object' && value !== null && frozenValues.has(value);
}
