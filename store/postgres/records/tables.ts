import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CollectionDefinition, UniqueRule } from '../../collection-definition.ts';
import { type CollectionName, collections } from '../../collections.ts';
import { uniqueKey } from '../../record-change.ts';
import type { Row } from '../../row.ts';

export type ColumnType = 'text' | 'double precision' | 'boolean' | 'text[]';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Its texts may be longer than an entry of an ordered index can be. */
  readonly isLong: boolean;
}

/** Values that must be unique, as hashes in a column of their own: texts of any length, compared as the rule says. */
interface UniqueColumn {
  readonly rule: UniqueRule<Row>;
  readonly name: string;
}

/** The table of a collection. The record itself is kept as JSON; what is filtered, sorted or unique has a column. */
export interface Table {
  readonly name: CollectionName;
  readonly definition: CollectionDefinition;
  readonly sql: string;
  readonly columns: ReadonlyMap<string, Column>;
  readonly uniques: readonly UniqueColumn[];
  /** The column with the key by which the records sort, by member. */
  readonly sorts: ReadonlyMap<string, string>;
  readonly expires: boolean;
}

/** Entries of ordered indexes have 2,700 bytes at most; a character has up to 4. */
const LONGEST_ORDERED = 500;
export const ID: Column = { name: 'id', type: 'text', isLong: false };
export const CREATED_AT: Column = { name: 'created_at', type: 'text', isLong: false };

export const tables: ReadonlyMap<CollectionName, Table> = new Map(
  (Object.keys(collections) as CollectionName[]).map((name) => [name, tableOf(name, collections[name])]),
);

export function tableNamed(name: CollectionName): Table {
  const table = tables.get(name);
  if (!table) throw new Error(`there is no collection ${name}`);
  return table;
}

/** What the column of a unique rule holds for the record. Null if the rule skips it. */
export function uniqueHash({ rule }: UniqueColumn, row: Row): Buffer | null {
  const key = uniqueKey(rule, row);
  return key === undefined ? null : createHash('sha256').update(key).digest();
}

export function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function tableOf(name: CollectionName, given: object): Table {
  const definition = given as CollectionDefinition; // each is one, of its own schema
  const columns = new Map<string, Column>([
    ['id', ID],
    ['createdAt', CREATED_AT],
  ]);
  const owner = definition.search?.owner?.field;
  for (const field of [...definition.indexes.flat(), ...(definition.parts ?? []), ...(owner ? [owner] : [])]) {
    if (!columns.has(field)) columns.set(field, columnOf(field, definition.schema.shape[field]));
  }
  return {
    name,
    definition,
    sql: `"${snake(name)}"`,
    columns,
    uniques: definition.unique.map((rule) => ({ rule, name: `"unique_${rule.fields.map(snake).join('_')}"` })),
    sorts: new Map(definition.sorts?.map((field) => [field, `"sort_${snake(field)}"`])),
    expires: definition.expires !== undefined,
  };
}

function columnOf(field: string, schema: z.core.$ZodType | undefined): Column {
  const name = `"${snake(field)}"`;
  const bare = unwrapped(schema);
  if (bare instanceof z.ZodArray) return { name, type: 'text[]', isLong: false };
  if (bare instanceof z.ZodNumber) return { name, type: 'double precision', isLong: false };
  if (bare instanceof z.ZodBoolean) return { name, type: 'boolean', isLong: false };
  const isChoice = bare instanceof z.ZodEnum || bare instanceof z.ZodLiteral;
  const longest = bare instanceof z.ZodString ? bare.maxLength : isChoice ? 0 : null;
  return { name, type: 'text', isLong: longest === null || longest > LONGEST_ORDERED };
}

function unwrapped(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  const wraps = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return wraps ? unwrapped(schema.unwrap()) : schema;
}

export function ownerOf(table: Table): { readonly table: Table; readonly column: string } | undefined {
  const owner = table.definition.search?.owner;
  if (!owner || !(owner.collection in collections)) return undefined;
  const column = table.columns.get(owner.field)?.name ?? 'id';
  return { table: tableNamed(owner.collection as CollectionName), column }; // looked up just now
}
