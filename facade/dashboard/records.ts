import { useEffect } from 'preact/hooks';
import { useAnswer, useDebounced } from './answer-cache.ts';
import { refs, titleOf } from './kinds.ts';
import { searchMemberOf } from './schema.ts';
import { useTool } from './tools.ts';
import { usePagedList } from './use-paged-list.ts';

export interface Records {
  readonly options: readonly RecordOption[];
  /** Loads further ones; undefined if that is all. */
  readonly more: (() => void) | undefined;
  /** Records that fit the word may still come. */
  readonly loading: boolean;
}

type RecordOption = Readonly<{ value: string; label: string }>;

type Row = Readonly<Record<string, unknown>>;
type Hits = Readonly<{ data: readonly { readonly id: string; readonly title: string }[] }>;

/** So many records are looked through where no tool searches them. */
const MOST_LOOKED_AT = 1000;

/**
 * The records of a kind by id and name: the first ones, or those with the word in id or name. The server searches where a tool of it can,
 * otherwise records are loaded and looked through. Undefined if the person cannot list them.
 */
export function useRecords(kind: string, word = ''): Records | undefined {
  const ref = refs[kind];
  const tool = useTool(ref?.list);
  const search = useTool('search');
  const settled = useDebounced(word);
  const members = tool?.inputSchema.properties;
  const own = searchMemberOf(members);
  const size = members?.limit && { limit: 100 };
  // Of the first ones, those with the word are there at once.
  const { rows, more, loading } = usePagedList<Row>(tool?.name, { ...size });
  const searched = usePagedList<Row>(own && settled !== '' ? tool?.name : undefined, { ...size, [own ?? '']: settled });
  const needsLook = settled !== '' && !own && more !== undefined;
  const isSearched = search?.inputSchema.properties?.types?.items?.enum?.includes(kind) ?? false;
  const { data: found, loading: isLooking } = useAnswer<Hits>(needsLook && isSearched ? 'search' : undefined, {
    ...{ q: settled, types: [kind], limit: 20 },
  });
  useEffect(() => {
    if (needsLook && !isSearched && rows.length < MOST_LOOKED_AT) more();
  }, [needsLook && !isSearched, rows.length]);
  if (!ref || !tool) return undefined;
  const optionOf = (row: Row) => ({ value: idOf(row), label: titleOf(ref, row) ?? idOf(row) });
  const options = rows.map(optionOf).filter((option) => holds(option, word));
  const known = new Set(options.map(({ value }) => value));
  const hits = (found?.data ?? []).map(({ id, title }) => ({ value: id, label: title }));
  const isAnswered = settled === word && !searched.loading; // else the rows are those of the word before
  const others = [...(isAnswered ? searched.rows.map(optionOf) : []), ...hits].filter(({ value }) => !known.has(value));
  return {
    options: [...options, ...others],
    more: own && settled !== '' ? searched.more : more,
    loading: loading || settled !== word || searched.loading || isLooking,
  };
}

function holds({ label, value }: RecordOption, word: string): boolean {
  return `${label} ${value}`.toLowerCase().includes(word.toLowerCase());
}

function idOf(row: Row): string {
  return String(row.id ?? row.uid ?? '');
}
