import { z } from 'zod';
import { bookkeeping, nameText, recordId } from './fields.ts';

const columnType = z.enum(['string', 'number', 'boolean', 'date-time', 'json']);
export type ColumnType = z.infer<typeof columnType>;

/** A column name starts with a letter, so that records keep the order of their members. It is not a name that objects inherit. */
const columnName = z
  .string()
  .normalize('NFC')
  .max(100)
  .regex(/^\p{L}[\p{L}\p{M}\p{N} _.()/%#&+-]*$/u, 'Write a name that starts with a letter.')
  .refine((name) => !name.endsWith(' '), 'A name may not end with a space; leave it out.')
  .refine((name) => !(name in {}), 'Every object has a member of this name; choose another.');

const column = z.strictObject({
  name: columnName.describe('Starts with a letter; unique in the database.'),
  type: columnType.describe('date-time is ISO 8601, kept in UTC, json any JSON value.'),
  required: z.boolean().default(false),
});

/** Records keep the values of the column under `key`, or under `name` where there is no key. The key stays when the column is renamed. */
const storedColumn = column.extend({ key: z.string().max(120).optional() });
export type Column = z.infer<typeof storedColumn>;

export const databaseFields = {
  name: nameText(200),
  description: z.string().max(2000),
  columns: z.array(column).min(1).max(100),
  addColumns: z.array(column).max(100),
  columnName,
  values: z.record(z.string().max(100), z.unknown()),
};

/** A table with typed columns. */
export const database = z.object({
  id: recordId,
  name: databaseFields.name,
  description: databaseFields.description.optional(),
  columns: databaseFields.columns,
  ...bookkeeping,
});
export type Database = z.infer<typeof database>;

export const storedDatabase = database.extend({ columns: z.array(storedColumn).min(1).max(100) });
export type StoredDatabase = z.infer<typeof storedDatabase>;

/** The stored record. It keeps values by the keys of the columns; callers see them by the names of the columns. */
export const databaseRecord = z.object({
  id: recordId,
  databaseId: recordId,
  values: databaseFields.values.describe('By column; columns without a value are left out.'),
  ...bookkeeping,
});
export type DatabaseRecord = z.infer<typeof databaseRecord>;
