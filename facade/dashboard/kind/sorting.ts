import { type ListedTool, labelOf, setQuery } from '../app.ts';
import { withoutNull } from '../schema.ts';
import type { Column, Sorting } from '../ui.ts';
import type { Row } from './spec.ts';

/** The name under which the order stands in the address: as the list tool takes it, like `-name`. `sort` is that of a table in a record. */
export const SORT = 'by';

export interface Orders {
  /** What the list tool takes. */
  readonly all: readonly string[];
  readonly chosen: string | undefined;
}

export function ordersOf(tool: ListedTool | undefined, query: URLSearchParams): Orders {
  const sort = tool?.inputSchema.properties?.sort;
  const all = (sort && withoutNull(sort).schema.enum?.map(String)) ?? [];
  return { all, chosen: all.find((order) => order === query.get(SORT)) };
}

/** The columns with those marked by which rows can be sorted, and the order as their head shows it. */
export function sortedBy(columns: readonly Column<Row>[], { all, chosen }: Orders) {
  const marked = columns.map((column) =>
    column.member !== undefined && all.includes(column.member) ? { ...column, sorts: true } : column,
  );
  const of = (order: string | undefined) => marked.find(({ sorts, member }) => sorts && member === memberOf(order));
  const sorting: Sorting = {
    by: of(chosen)?.title,
    isDescending: chosen?.startsWith('-') === true,
    onSort(title) {
      const member = marked.find((column) => column.title === title)?.member ?? '';
      const steps = [undefined, ...directions(member)];
      const next = memberOf(chosen) === member ? steps[steps.indexOf(chosen) + 1] : steps[1];
      setQuery({ [SORT]: next }, { replace: false });
    },
  };
  return { columns: marked, sorting };
}

/** The orders as people read them. */
export function orderOptions({ all }: Orders) {
  const members = [...new Set(all.map((order) => memberOf(order) ?? ''))];
  return members.flatMap((member) =>
    directions(member).map((value) => ({ value, label: `${wordsOf(member)}, ${directionWords(value, member)}` })),
  );
}

const WORDS: Readonly<Record<string, string>> = { updatedAt: 'Changed', dueAt: 'Due' };

function wordsOf(member: string): string {
  return WORDS[member] ?? labelOf(member);
}

function directionWords(order: string, member: string): string {
  const isDescending = order.startsWith('-');
  if (!isTime(member)) return isDescending ? 'Z to A' : 'A to Z';
  if (!isPast(member)) return isDescending ? 'last first' : 'next first';
  return isDescending ? 'newest first' : 'oldest first';
}

/** Both directions; the first press sorts past times from the newest, names from A, and due dates from the next. */
function directions(member: string): readonly string[] {
  return isTime(member) && isPast(member) ? [`-${member}`, member] : [member, `-${member}`];
}

function isTime(member: string): boolean {
  return /(At|Date)$/.test(member);
}

function isPast(member: string): boolean {
  return !['dueAt', 'targetDate'].includes(member);
}

function memberOf(order: string | undefined): string | undefined {
  return order?.replace(/^-/, '');
}
