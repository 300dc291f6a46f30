import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useAnswer } from './answer-cache.ts';
import { type CallError, call } from './client.ts';

/** What the list tools answer. */
export type ListAnswer<Row> = Readonly<{ data: readonly Row[]; nextCursor: string | null; total?: number }>;

export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly loading: boolean;
  readonly error: CallError | undefined;
  /** Undefined: that is all. */
  readonly more: (() => void) | undefined;
  /** All that match, where the tool counts them. */
  readonly total: number | undefined;
  /** Which rows are looked at: those are renewed when records change. */
  readonly look: (from: number, to: number) => void;
}

interface ListedRecord<Row> extends Omit<Pages<Row>, 'look'> {
  readonly data: Row | undefined;
  /** Neither found nor still looked for. */
  readonly isGone: boolean;
}

/** A record that no tool gets by itself: its list is read until it is found, and the page that it is on is renewed. */
export function useListedRecord<Row>(
  tool: string | undefined,
  input: object,
  isWanted: (row: Row) => boolean,
): ListedRecord<Row> {
  const { look, ...pages } = usePagedList<Row>(tool, input);
  const { rows, more, loading, error } = pages;
  const place = rows.findIndex(isWanted);
  const isFurther = place < 0 && !loading && more !== undefined;
  if (place >= 0) look(place, place + 1);
  useEffect(() => {
    if (isFurther) more();
  }, [isFurther, rows.length]);
  return { ...pages, data: rows[place], isGone: place < 0 && !isFurther && !loading && !error };
}

/** The first record of a list that is wanted, read page by page. */
export async function findListed<Row>(
  tool: string,
  input: object,
  isWanted: (row: Row) => boolean,
): Promise<Row | undefined> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: ListAnswer<Row> = await call(tool, { ...input, cursor });
    const found = page.data.find(isWanted);
    if (found) return found;
    cursor = page.nextCursor;
  }
  return undefined;
}

/** A page after the first one, by the cursor it was asked with. */
type Further<Row> = Readonly<{ cursor: string; rows: readonly Row[] }>;

interface Loaded<Row> {
  readonly key: string;
  /** The first page as it was when further ones were loaded, for the rows that left it since. */
  readonly before: readonly Row[];
  readonly further: readonly Further<Row>[];
  readonly next: string | null | undefined;
  readonly loading: boolean;
  readonly error?: CallError | undefined;
}

/**
 * The pages of a list so far. The first page is renewed when records change, and with it further ones that are looked at. While a new input is
 * asked, the rows of the last one stay.
 */
export function usePagedList<Row>(tool: string | undefined, input: object = {}): Pages<Row> {
  const first = useAnswer<ListAnswer<Row>>(tool, input);
  const key = `${tool} ${JSON.stringify(input)}`;
  const none: Loaded<Row> = { key, before: [], further: [], next: undefined, loading: false };
  const [kept, setLoaded] = useState(none);
  const loaded = kept.key === key ? kept : none;
  // An answer that comes after the input changed is no part of the list any more.
  const change = (next: (now: Loaded<Row>) => Loaded<Row>) => setLoaded((now) => (now.key === key ? next(now) : now));
  const seen = useRef<readonly [number, number]>([0, 0]);
  const rows = useMemo(() => joined(first.data?.data ?? [], loaded), [first.data, loaded.further]);
  const last = useRef<{ readonly tool: string | undefined; readonly rows: readonly Row[] }>({ tool, rows });
  if (first.data || !first.loading) last.current = { tool, rows };
  const next = loaded.next === undefined ? first.data?.nextCursor : loaded.next;

  async function load(cursor: string) {
    setLoaded({ ...loaded, loading: true });
    try {
      const { data, nextCursor } = await call<ListAnswer<Row>>(tool ?? '', { ...withoutTotal(input), cursor });
      const before = loaded.further.length > 0 ? loaded.before : (first.data?.data ?? []);
      const added = { cursor, rows: data };
      change((now) => ({ ...now, before, further: [...now.further, added], next: nextCursor, loading: false }));
    } catch (error) {
      change((now) => ({ ...now, next: null, loading: false, error: error as CallError })); // as `call` throws
    }
  }
  useEffect(() => {
    const stale = pagesAt(loaded.further, first.data?.data.length ?? 0, seen.current);
    for (const { cursor } of stale) {
      call<ListAnswer<Row>>(tool ?? '', { ...withoutTotal(input), cursor }).then(
        ({ data }) =>
          change((now) => ({
            ...now,
            further: now.further.map((page) => (page.cursor === cursor ? { cursor, rows: data } : page)),
          })),
        () => {}, // what is shown stays
      );
    }
  }, [first.data]);
  const stays = !first.data && first.loading && last.current.tool === tool;
  return {
    rows: stays ? last.current.rows : rows,
    loading: first.loading || loaded.loading,
    error: first.error ?? loaded.error,
    more: next ? () => void (loaded.loading || load(next)) : undefined,
    total: first.data?.total,
    look: (from, to) => {
      seen.current = [from, to];
    },
  };
}

/** The count of all is asked once. */
function withoutTotal(input: object): object {
  return { ...input, includeTotal: undefined };
}

/** All rows, each once: those that left the first page since further ones were loaded stand between. */
function joined<Row>(first: readonly Row[], { before, further }: Loaded<Row>): readonly Row[] {
  if (further.length === 0) return first;
  const last = idOf(first.at(-1));
  const place = last === undefined ? -1 : before.findIndex((row) => idOf(row) === last);
  const left = place < 0 ? [] : before.slice(place + 1);
  const known = new Set<unknown>();
  return [...first, ...left, ...further.flatMap(({ rows }) => rows)].filter((row) => {
    const id = idOf(row);
    const isNew = id === undefined || !known.has(id);
    known.add(id);
    return isNew;
  });
}

/** Records have one of them; rows about a holder of rights name it. */
type Named = Readonly<{ id?: unknown; uid?: unknown; subject?: Readonly<{ id?: unknown }> }>;

/** Undefined where rows have none, such as folders of backups. */
function idOf(row: unknown): unknown {
  const { id, uid, subject } = (row ?? {}) as Named;
  return id ?? uid ?? subject?.id;
}

/** The further pages that hold rows of the range. `first` is the place of the first row of the first of them. */
function pagesAt<Row>(
  further: readonly Further<Row>[],
  first: number,
  [from, to]: readonly [number, number],
): Further<Row>[] {
  let start = first;
  return further.filter(({ rows }) => {
    const isSeen = start < to && start + rows.length > from;
    start += rows.length;
    return isSeen;
  });
}
