import { z } from 'zod';
import type { Column, ColumnType } from '../../resources/database.ts';
import { instant, time } from '../../resources/fields.ts';
import { ToolError } from '../errors.ts';
import { parseInput } from '../validate.ts';

export type Values = Readonly<Record<string, unknown>>;

const LONGEST_RECORD = 200_000;

const schemas: Readonly<Record<ColumnType, z.ZodType>> = {
  string: z.string(),
  number: z.number(),
  boolean: z.boolean(),
  'date-time': time,
  json: z.unknown().refine((value) => value !== undefined && value !== null, 'The column needs a value.'),
};

/** The values of a new record, in the order of the columns. @throws ToolError naming every value that does not fit. */
export function newValues(columns: readonly Column[], given: Values): Values {
  return stored(columns, parse(columns, 'new', given));
}

/** The values with some of them changed, those given as null taken away. @throws as `newValues` does. */
export function changedValues(columns: readonly Column[], current: Values, given: Values): Values {
  return stored(columns, { ...current, ...parse(columns, 'changed', given) });
}

type Form = 'new' | 'changed';
const made = new WeakMap<readonly Column[], Record<Form, z.ZodObject>>();

function parse(columns: readonly Column[], form: Form, values: Values): Values {
  let known = made.get(columns);
  if (!known) {
    known = { new: inputOf(columns, 'new'), changed: inputOf(columns, 'changed') };
    made.set(columns, known);
  }
  return parseInput(known[form], { values }).values as Values; // the one member of the schema, itself an object
}

/** An input with the one member that the values are in, so that problems are named as in any other input. */
function inputOf(columns: readonly Column[], form: Form): z.ZodObject {
  const shape = columns.map(({ name, type, required }) => {
    const schema = schemas[type];
    if (!required) return [name, schema.nullable().optional()] as const;
    return [name, form === 'new' ? schema : schema.optional()] as const;
  });
  return z.strictObject({ values: z.strictObject(Object.fromEntries(shape)) });
}

function stored(columns: readonly Column[], values: Values): Values {
  const kept = columns.flatMap(({ name, type }) => {
    const value = values[name];
    if (value === undefined || value === null) return [];
    return [[name, type === 'date-time' ? instant(String(value)) : value] as const];
  });
  const record = Object.fromEntries(kept);
  if (JSON.stringify(record).length > LONGEST_RECORD) {
    const message = `A record holds at most ${LONGEST_RECORD} characters of JSON; keep longer texts in documents or artifacts.`;
    throw new ToolError('invalid_input', message, { issues: [{ path: 'values', message }] });
  }
  return record;
}
