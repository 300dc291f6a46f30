import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Column, ColumnType } from '../../resources/database.ts';
import { isObject } from '../../resources/json.ts';
import { fold } from '../../store/search-text.ts';
import { invalidMember } from '../core/errors.ts';
import { parseInput } from '../core/registry/validate.ts';
import { keyOf, type Values } from './columns.ts';
import { byComposedNames, keptValue, requireCurrentNames, valueSchemas } from './values.ts';

/** Texts are sorted by this many first characters. */
export const ORDERED_BY = 200;

/** Which records of a database are wanted, and in which order. */
export interface RecordQuery {
  matches(values: Values): boolean;
  reads(values: Values): number;
  readonly order?: RecordOrder;
}

interface RecordOrder {
  readonly direction: 'asc' | 'desc';
  /** The sort value of the record in a form that a cursor can hold. Null if the record has no value. */
  keyOf(values: Values): SortKey;
  compare(a: SortKey, b: SortKey): number;
}

export type SortKey = string | number | boolean | null;

/** @throws ToolError that names every column, operator and value that does not fit. */
export function recordQuery(
  columns: readonly Column[],
  given: Values,
  sort: { readonly column: string; readonly direction: 'asc' | 'desc' } | undefined,
): RecordQuery {
  const filter = byComposedNames(given, 'filter');
  requireCurrentNames(columns, 'filter', Object.keys(filter));
  const asked = Object.fromEntries(Object.entries(filter).map(([name, given]) => [name, asOperators(given)]));
  const parsed = parseInput(inputOf(columns), { filter: asked }).filter as Readonly<Record<string, Values>>; // the schema says so
  const conditions = columns.flatMap((column) => {
    const wanted = Object.entries(parsed[column.name] ?? {});
    return wanted.map(([operator, operand]) => conditionOf(column, operator as Operator, operand)); // the schema has only operators as members
  });
  const searched = columns.filter(({ name }) => parsed[name]?.contains !== undefined).map(keyOf);
  return {
    matches: (values) => conditions.every((holds) => holds(values)),
    reads: (values) => searched.reduce((sum, key) => sum + String(values[key] ?? '').length, 0),
    ...(sort && { order: orderOf(columns, sort) }),
  };
}

const EQUALITY = ['eq', 'ne'] as const;
const ORDER = ['lt', 'lte', 'gt', 'gte'] as const;
type Operator = (typeof EQUALITY)[number] | (typeof ORDER)[number] | 'contains';

/** An object holds operators, unless it is empty. */
function asOperators(given: unknown): unknown {
  return isObject(given) && Object.keys(given).length > 0 ? given : { eq: given };
}

const operators: Readonly<Record<ColumnType, z.ZodType>> = {
  string: operatorsOf('string', {
    ...inOrder('string'),
    contains: z.string().min(1).max(1000).optional(),
  }),
  number: operatorsOf('number', inOrder('number')),
  boolean: operatorsOf('boolean'),
  'date-time': operatorsOf('date-time', inOrder('date-time')),
  json: operatorsOf('json'),
};

function inOrder(type: ColumnType): Record<string, z.ZodType> {
  return Object.fromEntries(ORDER.map((operator) => [operator, valueSchemas[type].optional()]));
}

function operatorsOf(type: ColumnType, more: Record<string, z.ZodType> = {}): z.ZodType {
  const equality = Object.fromEntries(EQUALITY.map((operator) => [operator, valueSchemas[type].nullable().optional()]));
  return z.strictObject({ ...equality, ...more }).optional();
}

function inputOf(columns: readonly Column[]): z.ZodObject {
  const shape = Object.fromEntries(columns.map(({ name, type }) => [name, operators[type]]));
  return z.strictObject({ filter: z.strictObject(shape) });
}

function conditionOf(column: Column, operator: Operator, operand: unknown): (values: Values) => boolean {
  const key = keyOf(column);
  const wanted = keptValue(column.type, operand) ?? undefined;
  if (operator === 'eq') return (values) => isDeepStrictEqual(values[key], wanted);
  if (operator === 'ne') return (values) => !isDeepStrictEqual(values[key], wanted);
  if (operator === 'contains') {
    const part = fold(String(wanted));
    return (values) => fold(String(values[key] ?? '')).includes(part);
  }
  const limit = sortable(wanted);
  return (values) => values[key] !== undefined && isWithin(operator, compareKeys(sortable(values[key]), limit));
}

function isWithin(operator: (typeof ORDER)[number], order: number): boolean {
  if (operator === 'lt') return order < 0;
  if (operator === 'lte') return order <= 0;
  return operator === 'gt' ? order > 0 : order >= 0;
}

function orderOf(
  columns: readonly Column[],
  { column: given, direction }: { readonly column: string; readonly direction: 'asc' | 'desc' },
): RecordOrder {
  const name = given.normalize('NFC');
  requireCurrentNames(columns, 'sort', [name]);
  const column = columns.find((each) => each.name === name);
  if (!column || column.type === 'json') {
    const others = columns.filter(({ type }) => type !== 'json').map((each) => `"${each.name}"`);
    const problem = column ? `The column "${name}" holds JSON, which has no order` : `There is no column "${name}"`;
    throw invalidMember('sort.column', `${problem}; sort by ${others.join(', ') || 'nothing'}.`);
  }
  const key = keyOf(column);
  const sign = direction === 'asc' ? 1 : -1;
  return {
    direction,
    keyOf: (values) => sortable(values[key]),
    compare(a, b) {
      if (a === null || b === null) return Number(a === null) - Number(b === null);
      return compareKeys(a, b) * sign;
    },
  };
}

function sortable(value: unknown): SortKey {
  if (typeof value === 'string') return value.slice(0, ORDERED_BY);
  return typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

/** Texts are compared without case and accents first, so that people find them where they expect them. */
function compareKeys(a: SortKey, b: SortKey): number {
  if (typeof a === 'string' && typeof b === 'string') return plain(fold(a), fold(b)) || plain(a, b);
  return plain(Number(a), Number(b));
}

function plain<Value extends string | number>(a: Value, b: Value): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
