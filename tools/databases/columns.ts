import type { Column, Database, DatabaseRecord, StoredDatabase } from '../../resources/database.ts';
import type { Issue } from '../../resources/error.ts';
import { ToolError } from '../core/errors.ts';

export type Values = Readonly<Record<string, unknown>>;
type NewColumn = Database['columns'][number];

export const MOST_COLUMNS = 100;

/** The key under which records keep the values of a column. It is the column's first name, so renaming changes no record and no history. */
export function keyOf({ key, name }: Column): string {
  return key ?? name;
}

export function byName(columns: readonly Column[], kept: Values): Values {
  const named = columns.flatMap((column) => {
    const value = kept[keyOf(column)];
    return value === undefined ? [] : [[column.name, value] as const];
  });
  return Object.fromEntries(named);
}

export function showDatabase({ columns, ...database }: StoredDatabase): Database {
  return { ...database, columns: columns.map(({ key: _, ...column }) => column) };
}

export function showRecord(columns: readonly Column[], record: DatabaseRecord): DatabaseRecord {
  return { ...record, values: byName(columns, record.values) };
}

/** A new name for an existing column. */
interface Rename {
  readonly from: string;
  readonly to: string;
}

/** Renames columns, all at once, and then adds the new ones. @throws ToolError that names every problem. */
export function changedColumns(
  columns: readonly Column[],
  { renames, added }: { readonly renames: readonly Rename[]; readonly added: readonly NewColumn[] },
): Column[] {
  refuseAny(unknownNames(columns, renames));
  const renamed = columns.map((column) => {
    const to = renames.find(({ from }) => from === column.name)?.to ?? column.name;
    return withKey({ name: to, type: column.type, required: column.required }, keyOf(column));
  });
  const changed = [...renamed];
  for (const column of added) changed.push(withKey(column, freeKey(column.name, changed)));
  const placeOf = (at: number) => {
    if (at >= columns.length) return `addColumns[${at - columns.length}].name`;
    return `renameColumns[${renames.findIndex(({ from }) => from === columns[at]?.name)}].to`;
  };
  const settled = columns.flatMap(({ name }, at) => (changed[at]?.name === name ? [at] : []));
  refuseAny(repeatedNames(changed, placeOf, new Set(settled)));
  if (changed.length > MOST_COLUMNS) {
    const message = `A database has at most ${MOST_COLUMNS} columns; this one has ${columns.length} already.`;
    refuseAny([{ path: 'addColumns', message }]);
  }
  return changed;
}

/** @throws ToolError that names each column whose name an earlier column has, in any case. */
export function requireDistinct(columns: readonly Pick<Column, 'name'>[]): void {
  refuseAny(repeatedNames(columns, (at) => `columns[${at}].name`));
}

function unknownNames(columns: readonly Column[], renames: readonly Rename[]): Issue[] {
  return renames.flatMap(({ from }, at) => {
    const path = `renameColumns[${at}].from`;
    if (renames.findIndex((other) => other.from === from) < at) {
      return [{ path, message: `"${from}" is renamed twice; give one new name.` }];
    }
    if (columns.some(({ name }) => name === from)) return [];
    const names = columns.map(({ name }) => `"${name}"`).join(', ');
    return [{ path, message: `There is no column "${from}"; there are ${names}.` }];
  });
}

/** `settled` are the places of names that already existed. A new name that repeats one of them is the problem, wherever it stands. */
function repeatedNames(
  columns: readonly Pick<Column, 'name'>[],
  placeOf: (at: number) => string,
  settled: ReadonlySet<number> = new Set(),
): Issue[] {
  const names = columns.map(({ name }) => name.toLowerCase());
  return names.flatMap((name, at) => {
    const others = names.flatMap((other, place) => (other === name && place !== at ? [place] : []));
    const isToBlame = !settled.has(at) && others.some((place) => place < at || settled.has(place));
    return isToBlame
      ? [{ path: placeOf(at), message: `Another column is called "${columns[at]?.name}"; choose another name.` }]
      : [];
  });
}

function withKey(column: NewColumn, key: string): Column {
  return key === column.name ? column : { ...column, key };
}

/** A free key for a name that an older column already uses as its key. No column name can equal it. */
function freeKey(name: string, columns: readonly Column[]): string {
  const taken = new Set(columns.map(keyOf));
  let key = name;
  for (let count = 2; taken.has(key); count += 1) key = `${name}~${count}`;
  return key;
}

function refuseAny(issues: readonly Issue[]): void {
  const [first] = issues;
  if (first) throw new ToolError('invalid_input', first.message, { issues: issues.slice(0, 100) });
}
