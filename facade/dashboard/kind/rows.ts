import { useEffect, useState } from 'preact/hooks';
import { call, type ListAnswer, type ListedTool, useDebounced, usePagedList } from '../app.ts';
import { type JsonSchema, searchMemberOf, withoutNull } from '../schema.ts';
import { type KindSpec, type Row, titleOf } from './spec.ts';

/** What is listed: of a kind of record, as much as finding rows needs. */
export type ListedKind = Pick<
  KindSpec,
  'list' | 'words' | 'title' | 'name' | 'id' | 'filters' | 'input' | 'isFoundRanked'
>;

export type Filter = Readonly<{ name: string; options: readonly string[] }>;

export function filtersOf(schema: JsonSchema | undefined): Filter[] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, member]) => {
    const { schema: plain } = withoutNull(member);
    if (plain.type === 'boolean' && name !== 'includeTotal') return [{ name, options: ['true', 'false'] }];
    return plain.enum && name !== 'order' && name !== 'sort' ? [{ name, options: plain.enum.map(String) }] : [];
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

/** Reads all that match, beyond what is loaded. */
export interface ReadAll {
  /** Tells what is asked for from another filter. */
  readonly key: string;
  readonly run: (tell: (count: number) => void) => Promise<Row[]>;
}

/** A list that no tool searches is looked through in steps of so many. */
const STEP = 1000;

/**
 * The rows that match what is typed and chosen. The tool searches where it can; otherwise the rows that are loaded are searched, and more of
 * them are loaded for it.
 */
export function useRows<Shown extends Row = Row>(
  spec: ListedKind,
  tool: ListedTool | undefined,
  filters: readonly Filter[],
  query: URLSearchParams,
  order: string | undefined,
) {
  const [steps, setSteps] = useState(1);
  const members = tool?.inputSchema.properties;
  const typed = query.get('q') ?? '';
  const settled = useDebounced(typed);
  const searched = searchMemberOf(members);
  const isRanked = spec.isFoundRanked === true && settled !== '';
  const input = {
    ...inputOf(filters, query),
    sort: isRanked ? undefined : order,
    ...(searched && settled !== '' && { [searched]: settled }),
    ...spec.input,
    ...pageSize(members),
  };
  const { rows, more, look, ...pages } = usePagedList<Shown>(tool?.name, input);
  const own = (spec.filters ?? []).filter(({ name }) => query.get(name));
  const isShown = (row: Row) =>
    own.every(({ name, chosenIn }) => chosenIn(row) === query.get(name)) &&
    (searched !== undefined || typed === '' || matches(spec, row, typed));
  const chosen = own.map(({ name }) => query.get(name)).join(' ');
  const readAll: ReadAll = {
    key: JSON.stringify([input, typed, chosen]),
    run: (tell) => readWhole(tool, input, isShown, tell),
  };
  useEffect(() => setSteps(1), [typed, chosen]);
  if ((searched || typed === '') && own.length === 0) {
    return { ...pages, rows, shown: rows, more, look, lookedAt: undefined, readAll, isRanked };
  }
  const stops = more !== undefined && rows.length >= steps * STEP;
  return {
    ...pages,
    rows,
    readAll,
    isRanked,
    shown: rows.filter(isShown),
    more: stops ? undefined : more,
    look: undefined,
    lookedAt: stops ? { count: rows.length, onMore: () => setSteps(steps + 1) } : undefined,
  };
}

async function readWhole(
  tool: ListedTool | undefined,
  input: object,
  isShown: (row: Row) => boolean,
  tell: (count: number) => void,
): Promise<Row[]> {
  const found: Row[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: ListAnswer<Row> = await call(tool?.name ?? '', { ...input, ...WITHOUT, cursor });
    found.push(...page.data.filter(isShown));
    tell(found.length);
    cursor = page.nextCursor;
  }
  return found;
}

function pageSize(members: JsonSchema['properties']): object {
  return { ...(members?.limit && { limit: 100 }), ...(members?.includeTotal && { includeTotal: true }) };
}

/** All records are read by creation time, which no edit changes: so none comes twice or is missed. */
const WITHOUT = { includeTotal: undefined, sort: undefined };

function matches(spec: ListedKind, row: Row, typed: string): boolean {
  const wanted = typed.toLowerCase();
  return [titleOf(spec, row), ...Object.values(row)].some(
    (value) => typeof value === 'string' && value.toLowerCase().includes(wanted),
  );
}
