import { boot, labelOf, setQuery, useLocation } from '../app.ts';
import { Badge, type Column, Time, Value } from '../ui.ts';
import type { KindSpec, Row } from './spec.ts';

/** A column besides the name, which people show and hide by its id. */
export interface ColumnChoice {
  readonly id: string;
  readonly column: Column<Row>;
  readonly isUsual: boolean;
}

/** The columns that there are, and the ids of those that are shown: as the address says, as chosen before in this browser, or the usual ones. */
export function useColumns(spec: KindSpec, rows: readonly Row[]) {
  const { query } = useLocation();
  const choices = choicesOf(spec, rows);
  const usual = choices.filter(({ isUsual }) => isUsual).map(({ id }) => id);
  const said = query.get('columns') ?? localStorage.getItem(placeOf('columns', spec));
  const shown = new Set(said?.split(',') ?? usual);
  const show = (id: string, isShown: boolean) => {
    const ids = choices.map((choice) => choice.id).filter((one) => (one === id ? isShown : shown.has(one)));
    const text = ids.join(',') === usual.join(',') ? undefined : ids.join(',') || NO_COLUMN;
    if (text === undefined) localStorage.removeItem(placeOf('columns', spec));
    else localStorage.setItem(placeOf('columns', spec), text);
    setQuery({ columns: text }, { replace: false });
  };
  return { choices, shown, show, columns: choices.filter(({ id }) => shown.has(id)).map(({ column }) => column) };
}

const NO_COLUMN = '-';

/** Where this browser keeps how somebody looks at a kind. */
export function placeOf(what: string, { one }: KindSpec): string {
  return `${what} ${boot.user.id} ${one}`;
}

/** So many of the rows tell which members there are. */
const LOOKED_AT = 30;
const MOST_LETTERS = 80;

function choicesOf(spec: KindSpec, rows: readonly Row[]): readonly ColumnChoice[] {
  const some = rows.slice(0, LOOKED_AT);
  const members = [...new Set(some.flatMap((row) => Object.keys(row)))];
  const usual: readonly ColumnChoice[] = (spec.columns ?? usualColumns(members)).map((column) => ({
    id: column.title.toLowerCase().replaceAll(' ', '-'),
    column,
    isUsual: true,
  }));
  const titles = usual.map(({ column }) => column.title.toLowerCase());
  const away = new Set([
    'id',
    'uid',
    'revision',
    spec.title,
    spec.subtitle,
    ...(spec.blocks ?? []),
    ...(spec.without ?? []),
  ]);
  const others = members.filter((name) => {
    const label = labelOf(name).toLowerCase();
    return !away.has(name) && !titles.some((title) => label.endsWith(title)) && some.every((row) => isShort(row[name]));
  });
  return [
    ...usual,
    ...others.filter((name) => !hasTwin(name, titles)).map((name) => otherColumn(name, spec.fields?.[name]?.label)),
  ];
}

/** The usual column `Changed` shows `updatedAt` already. */
function hasTwin(name: string, titles: readonly string[]): boolean {
  return name === 'updatedAt' && titles.includes('changed');
}

function isShort(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= MOST_LETTERS && !value.includes('\n');
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string' && item.length <= MOST_LETTERS);
  return typeof value !== 'object' || value === null;
}

function otherColumn(name: string, label = labelOf(name)): ColumnChoice {
  if (name === 'updatedAt') return { id: 'changed', column: timeColumn(name, 'Changed'), isUsual: false };
  const column: Column<Row> = {
    title: label,
    member: name,
    cell: (row) => (typeof row[name] === 'boolean' ? stateOf(row[name]) : <Value value={row[name]} />),
    hidePriority: 2,
    width: '10rem',
  };
  return { id: name, column, isUsual: false };
}

function usualColumns(members: readonly string[]): Column<Row>[] {
  const state = ['status', 'state', 'enabled', 'isActive', 'kind', 'role'].find((name) => members.includes(name));
  const time = ['updatedAt', 'createdAt'].find((name) => members.includes(name));
  return [
    ...(state ? [{ title: labelOf(state), cell: (row: Row) => stateOf(row[state]), width: '8rem' }] : []),
    ...(time ? [timeColumn(time, time === 'updatedAt' ? 'Changed' : 'Created')] : []),
  ];
}

function stateOf(value: unknown) {
  if (typeof value === 'boolean') return <Badge tone={value ? 'good' : 'plain'}>{value ? 'On' : 'Off'}</Badge>;
  return <Badge value={String(value ?? '')} />;
}

export function timeColumn(name: string, title: string): Column<Row> {
  const cell = (row: Row) => <Time at={row[name] as string | undefined /* times are texts or absent */} />;
  return { title, cell, member: name, alignEnd: true, hidePriority: 2, width: '8rem' };
}
