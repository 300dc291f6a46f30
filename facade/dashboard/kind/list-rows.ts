import { useEffect, useState } from 'preact/hooks';
import { type ListedTool, usePagedList, useSettled } from '../app.ts';
import { type JsonSchema, searchMemberOf, withoutNull } from '../schema.ts';
import { type KindSpec, type Row, titleOf } from './spec.ts';

/** A member of the input of a list tool that has few values. */
export type Filter = Readonly<{ name: string; options: readonly string[] }>;

export function filtersOf(schema: JsonSchema | undefined): Filter[] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, member]) => {
    const { schema: plain } = withoutNull(member);
    if (plain.type === 'boolean' && name !== 'includeTotal') return [{ name, options: ['true', 'false'] }];
    return plain.enum && name !== 'order' ? [{ name, options: plain.enum.map(String) }] : [];
  });
}

function inputOf(filters: readonly Filter[], query: URLSearchParams): Row {
  const given = filters.flatMap(({ name, options }) => {
    const value = query.get(name);
    if (value === null || !options.includes(value)) return [];
    return [[name, options[0] === 'true' ? value === 'true' : value] as const];
  });
  return Object.fromEntries(given);
}

/** A list that no tool searches is looked through in steps of so many. */
const STEP = 1000;

/**
 * The rows that match what is typed and chosen. The tool searches where it can; otherwise the rows that are loaded are searched, and more of
 * them are loaded for it.
 */
export function useRows(
  spec: KindSpec,
  tool: ListedTool | undefined,
  filters: readonly Filter[],
  query: URLSearchParams,
) {
  const [steps, setSteps] = useState(1);
  const members = tool?.inputSchema.properties;
  const typed = query.get('q') ?? '';
  const settled = useSettled(typed);
  const searched = searchMemberOf(members);
  const input = {
    ...inputOf(filters, query),
    ...(searched && settled !== '' && { [searched]: settled }),
    ...spec.input,
    ...(members?.limit && { limit: 100 }),
    ...(members?.includeTotal && { includeTotal: true }),
  };
  const { rows, more, look, ...pages } = usePagedList<Row>(tool?.name, input);
  const own = (spec.filters ?? []).filter(({ name }) => query.get(name));
  const chosen = own.map(({ name }) => query.get(name)).join(' ');
  useEffect(() => setSteps(1), [typed, chosen]);
  if ((searched || typed === '') && own.length === 0) {
    return { ...pages, rows, shown: rows, more, look, lookedAt: undefined };
  }
  const isShown = (row: Row) =>
    own.every(({ name, chosenIn }) => chosenIn(row) === query.get(name)) &&
    (searched !== undefined || matches(spec, row, typed));
  const stops = more !== undefined && rows.length >= steps * STEP;
  return {
    ...pages,
    rows,
    shown: rows.filter(isShown),
    more: stops ? undefined : more,
    look: undefined,
    lookedAt: stops ? { count: rows.length, onMore: () => setSteps(steps + 1) } : undefined,
  };
}

function matches(spec: KindSpec, row: Row, typed: string): boolean {
  const wanted = typed.toLowerCase();
  return [titleOf(spec, row), ...Object.values(row)].some(
    (value) => typeof value === 'string' && value.toLowerCase().includes(wanted),
  );
}
