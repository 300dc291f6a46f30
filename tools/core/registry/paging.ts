import { hash } from 'node:crypto';
import { parseJson } from '../../../resources/json.ts';
import { pagesOf } from '../../../store/pages.ts';
import type { Cursor, Page, Position, Query, Rank, Reader, Sort } from '../../../store/port.ts';
import { cursorOf } from '../../../store/sort-key.ts';
import { ToolError } from '../errors.ts';
import type { Tool } from './tool.ts';

interface ListInput {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly includeTotal?: boolean | undefined;
  /** A member, after `-` in reverse order. */
  readonly sort?: string | undefined;
}

/** For lists of records that may be large, in characters of JSON. */
export const LARGEST_PAGE = 1_000_000;

/** One page of a list tool, newest first or as the input sorts. Its cursor holds for the same filters only. A page of large records ends early. */
export async function listPage<Record extends Position, Shown>(
  reader: Pick<Reader<Record>, 'find' | 'count'>,
  input: ListInput,
  given: Omit<Query<Record>, 'limit' | 'after'> & { readonly filter?: object },
  show: (record: Record) => Shown,
  mostCharacters = Number.POSITIVE_INFINITY,
): Promise<{ data: Shown[]; nextCursor: string | null; total?: number }> {
  const query = { ...given, ...orderOf<Record>(input.sort) };
  const bound = {
    order: query.order,
    sort: query.sort,
    where: query.where,
    any: query.any,
    part: query.part,
    from: query.from,
    to: query.to,
    filter: query.filter,
  };
  const after = openCursor(input.cursor, bound, query.sort !== undefined);
  const found = await reader.find({ ...query, limit: input.limit, after });
  const page = shortened(found, query.sort, mostCharacters);
  return {
    ...pageBody(page, bound, show),
    ...(input.includeTotal && { total: await reader.count(query) }),
  };
}

/** What a query says for the `sort` of a list, see `sortBy`. */
function orderOf<Record>(sort: string | undefined): Pick<Query<Record>, 'order' | 'sort'> {
  if (sort === undefined) return {};
  const isDescending = sort.startsWith('-');
  const by = isDescending ? sort.slice(1) : sort;
  if (by === 'createdAt') return { order: isDescending ? 'newest' : 'oldest' };
  return { sort: { by: by as keyof Record & string, isDescending } }; // the input's schema names members of the record
}

/** Filters the records of a reader by a test that no query can express. It reads until the page is full, and to count all of them. */
export function filteredReader<Record extends Position>(
  reader: Pick<Reader<Record>, 'find'>,
  holds: (record: Record) => boolean | Promise<boolean>,
): Pick<Reader<Record>, 'find' | 'count'> {
  async function* matches(query: Query<Record>): AsyncGenerator<Record, void> {
    for await (const records of pagesOf(reader, { ...query, limit: LOOK })) {
      for (const record of records) if (await holds(record)) yield record;
    }
  }
  return {
    async find(query) {
      const records: Record[] = [];
      for await (const record of matches(query)) {
        const last = records.at(-1);
        if (last && records.length === query.limit) return { records, next: cursorOf(last, query.sort) };
        records.push(record);
      }
      return { records, next: null };
    },
    async count(query) {
      let count = 0;
      for await (const _ of matches({ ...query, limit: LOOK })) count += 1;
      return count;
    },
  };
}

/** The number of records read at a time. */
const LOOK = 100;

/** All records that match, newest first. Only for kinds with few of them. */
export async function allOf<Record extends Position>(
  reader: Pick<Reader<Record>, 'find'>,
  query: Pick<Query<Record>, 'where'>,
): Promise<Record[]> {
  const { records } = await filteredReader(reader, () => true).find({ ...query, limit: Number.MAX_SAFE_INTEGER });
  return [...records];
}

/** Records that are already there, of one kind or several, for lists newest first without other filters. */
export function readerOf<Record extends Position>(records: readonly Record[]): Pick<Reader<Record>, 'find' | 'count'> {
  const isAfter = (one: Position, other: Position) =>
    one.createdAt === other.createdAt ? one.id < other.id : one.createdAt < other.createdAt;
  const sorted = records.toSorted((one, other) => (isAfter(one, other) ? 1 : -1));
  return {
    async find({ after, limit }) {
      const rest = after ? sorted.filter((record) => isAfter(record, after)) : sorted;
      const page = rest.slice(0, limit);
      const last = page.at(-1);
      const next = last && rest.length > limit ? { createdAt: last.createdAt, id: last.id } : null;
      return { records: page, next };
    },
    count: async () => records.length,
  };
}

export function pageBody<Record, Shown>(page: Page<Record>, filters: unknown, show: (record: Record) => Shown) {
  return { data: page.records.map(show), nextCursor: page.next && sealCursor(page.next, filters) };
}

/** How many of the first records together hold at most this many characters of JSON; at least one. */
export function countFitting(records: readonly object[], mostCharacters = LARGEST_PAGE): number {
  let characters = 0;
  const end = records.findIndex((record) => {
    characters += JSON.stringify(record).length;
    return characters > mostCharacters;
  });
  return end < 0 ? records.length : Math.max(1, end);
}

function shortened<Record extends Position>(
  page: Page<Record>,
  sort: Sort<string> | undefined,
  mostCharacters: number,
): Page<Record> {
  if (mostCharacters === Number.POSITIVE_INFINITY) return page;
  const records = page.records.slice(0, countFitting(page.records, mostCharacters));
  const last = records.at(-1);
  if (records.length === page.records.length || !last) return page;
  return { records, next: cursorOf(last, sort) };
}

/** The tool; if it is a list, with cursors that no other tool takes, even with the same filters. */
export function withBoundCursors(tool: Tool): Tool {
  if (!('cursor' in tool.input.shape) || !('nextCursor' in tool.output.shape)) return tool;
  const mark = digest(tool.name);
  return {
    ...tool,
    async handler(input, context) {
      const { cursor } = input as { readonly cursor?: string }; // parsed by the schema that has the member
      if (cursor !== undefined && !cursor.startsWith(mark)) throw foreignCursor();
      const given = cursor === undefined ? input : { ...input, cursor: cursor.slice(mark.length) };
      const page = (await tool.handler(given, context)) as { readonly nextCursor: string | null }; // of the output schema
      return page.nextCursor === null ? page : { ...page, nextCursor: mark + page.nextCursor };
    },
  };
}

export function textFilter<Record>(text: string | undefined, ...members: (keyof Record & string)[]) {
  return text === undefined ? undefined : { members, text };
}

function sealCursor({ createdAt, id, sortKey }: Cursor, filters: unknown): string {
  return seal([createdAt, id, ...(sortKey === undefined ? [] : [sortKey])], filters);
}

/** @throws ToolError if the cursor was not made by `sealCursor` for the same filters, with a sort key or without */
export function openCursor(cursor: string | undefined, filters: unknown, hasSortKey = false): Cursor | undefined {
  if (cursor === undefined) return undefined;
  const [createdAt, id, ...more] = unseal(cursor, filters);
  const isWhole = typeof createdAt === 'string' && typeof id === 'string' && !Number.isNaN(Date.parse(createdAt));
  if (isWhole && !hasSortKey && more.length === 0) return { createdAt, id };
  const [sortKey, ...others] = more;
  const isText = typeof sortKey === 'string' && sortKey.isWellFormed() && !sortKey.includes('\0');
  if (isWhole && hasSortKey && isText && others.length === 0) return { createdAt, id, sortKey };
  throw foreignCursor();
}

export function sealRank(rank: Rank | null, filters: unknown): string | null {
  return rank && seal([rank.score, rank.id], filters);
}

/** @throws ToolError if the cursor was not made by `sealRank` for the same filters */
export function openRank(cursor: string | undefined, filters: unknown): Rank | undefined {
  if (cursor === undefined) return undefined;
  const [score, id, ...more] = unseal(cursor, filters);
  if (typeof score === 'number' && typeof id === 'string' && more.length === 0) return { score, id };
  throw foreignCursor();
}

/** The cursor of a list in its own order: at most three members say where it continues. */
export function seal(place: readonly (string | number | boolean | null)[], filters: unknown): string {
  return Buffer.from(JSON.stringify([...place, digest(filters)])).toString('base64url');
}

/** The place that was sealed for the same filters; empty if it was sealed for others. */
export function unseal(cursor: string, filters: unknown): readonly unknown[] {
  const place = decode(cursor).slice(0, -1);
  const own = Buffer.from(JSON.stringify([...place, digest(filters)])).toString('base64url');
  return own === cursor ? place : [];
}

export function foreignCursor(): ToolError {
  return new ToolError(
    'invalid_input',
    'The cursor does not belong to this list and these filters; start without it.',
    { issues: [{ path: 'cursor', message: 'Take `nextCursor` of the previous page, with the same filters.' }] },
  );
}

function decode(cursor: string): readonly unknown[] {
  const parsed = parseJson(Buffer.from(cursor, 'base64url').toString());
  return Array.isArray(parsed) ? parsed : [];
}

function digest(filters: unknown): string {
  return hash('sha256', JSON.stringify(filters), 'base64url').slice(0, 12);
}
