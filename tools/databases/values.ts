import { z } from 'zod';
import type { Column, ColumnType } from '../../resources/database.ts';
import { instant, time } from '../../resources/fields.ts';
import { invalidMember, ToolError } from '../core/errors.ts';
import { oncePer } from '../core/once-per.ts';
import { formatPath, parseInput } from '../core/registry/validate.ts';
import { byName, keyOf, type Values } from './columns.ts';

export const LONGEST_RECORD = 200_000;

export const valueSchemas: Readonly<Record<ColumnType, z.ZodType>> = {
  string: z.string(),
  number: z.number(),
  boolean: z.boolean(),
  'date-time': time,
  json: z.unknown().refine((value) => value !== undefined && value !== null, 'The column needs a value; give one.'),
};

/** The values of a new record in the form in which they are stored. @throws ToolError that names every value that does not fit. */
export function newValues(columns: readonly Column[], given: Values): Values {
  return kept(columns, parse(columns, 'new', given));
}

/** The stored values after a change. Those given as null are removed. @throws as `newValues` does. */
export function changedValues(columns: readonly Column[], current: Values, given: Values): Values {
  return kept(columns, { ...byName(columns, current), ...parse(columns, 'changed', given) });
}

/** The members by the exact names of the columns, however their accents were written. @throws ToolError for a name that occurs twice */
export function byComposedNames(given: Values, member = 'values'): Values {
  const entries = Object.entries(given).map(([name, value]) => [name.normalize('NFC'), value] as const);
  const composed = Object.fromEntries(entries);
  if (Object.keys(composed).length === entries.length) return composed;
  throw invalidMember(member, 'A column is named twice, with its accents written in two ways; name it once.');
}

export function keptValue(type: ColumnType, value: unknown): unknown {
  return type === 'date-time' && typeof value === 'string' ? instant(value) : value;
}

/** @throws ToolError for a name that a column had before it was renamed. */
export function requireCurrentNames(columns: readonly Column[], member: string, names: readonly string[]): void {
  const issues = names.flatMap((given) => {
    if (columns.some(({ name }) => name === given)) return [];
    const renamed = columns.find(({ key }) => key === given);
    if (!renamed) return [];
    return [{ path: formatPath([member, given]), message: `The column "${given}" is called "${renamed.name}" now.` }];
  });
  if (issues[0]) throw new ToolError('invalid_input', `${issues[0].message} Use that name.`, { issues });
}

type Form = 'new' | 'changed';
const inputs = oncePer(
  (columns: readonly Column[]): Record<Form, z.ZodObject> => ({
    new: inputOf(columns, 'new'),
    changed: inputOf(columns, 'changed'),
  }),
);

function parse(columns: readonly Column[], form: Form, given: Values): Values {
  const values = byComposedNames(given);
  requireCurrentNames(columns, 'values', Object.keys(values));
  return parseInput(inputs(columns)[form], { values }).values as Values; // the only member of the schema, itself an object
}

/** An input whose only member holds the values, so that problems name places as in any other input. */
function inputOf(columns: readonly Column[], form: Form): z.ZodObject {
  const shape = columns.map(({ name, type, required }) => {
    const schema = valueSchemas[type];
    if (!required) return [name, schema.nullable().optional()] as const;
    return [name, form === 'new' ? schema : schema.optional()] as const;
  });
  return z.strictObject({ values: z.strictObject(Object.fromEntries(shape)) });
}

function kept(columns: readonly Column[], values: Values): Values {
  const entries = columns.flatMap((column) => {
    const value = values[column.name];
    if (value === undefined || value === null) return [];
    return [[keyOf(column), keptValue(column.type, value)] as const];
  });
  const record = Object.fromEntries(entries);
  if (JSON.stringify(record).length > LONGEST_RECORD) {
    throw invalidMember(
      'values',
      `A record holds at most ${LONGEST_RECORD} characters of JSON; keep longer texts in documents or artifacts.`,
    );
  }
  return record;
}
