import { z } from 'zod';
import { cursor, limit } from '../../resources/fields.ts';
import { type SearchHit, searchResult, searchText } from '../../resources/search.ts';
import type { Rank, Readers, TextSearch } from '../../store/port.ts';
import type { Context } from '../core/registry/context.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { openRank, sealRank } from '../core/registry/paging.ts';
import type { Tool } from '../core/registry/tool.ts';
import { forbiddenType, mayFind } from './passage-kinds.ts';
import type { SearchType, TypeHit } from './types.ts';

export function searchTool(types: readonly SearchType[]): Tool {
  return defineTool({
    name: 'search',
    title: 'Search',
    description:
      'Find records of every type you may read, best match first; exact ids, names and e-mails lead. Returns type, id, title, snippet and score of each, and counts by type.',
    keywords:
      'find anything, look everywhere, full text, keyword, where is it mentioned, global search, find anything that mentions a word, search everywhere, where was this written',
    access: { scope: 'agents:read', grant: 'search:read' },
    looksAcross: true,
    annotations: READS,
    view: 'search',
    input: z.strictObject({
      q: searchText,
      types: z
        .array(z.enum(types.map(({ type }) => type)))
        .min(1)
        .max(types.length)
        .optional()
        .describe('Look for these only. Default: all you may read.'),
      limit,
      cursor,
    }),
    output: searchResult,
    errors: [],

    handler: (input, context) => searchAmong(types, input, context),
  });
}

interface SearchInput {
  readonly q: string;
  readonly types?: readonly string[] | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

async function searchAmong(
  all: readonly SearchType[],
  { q, types, limit, cursor }: SearchInput,
  context: Context<Readers & TextSearch, never>,
): Promise<z.input<typeof searchResult>> {
  const bound = { q, types: types && [...new Set(types)].sort() };
  const after = openRank(cursor, bound);
  const places = new Map(all.map(({ type }, place) => [type, place]));
  const asked = typesFor(all, types, context);
  const pages = await Promise.all(
    asked.map((type) => type.find(context, { text: q, limit, after: after && afterIn(type, after, places) })),
  );
  const ranked = pages.flatMap(({ hits }) => hits).sort((a, b) => byRank(a, b, places));
  const data = ranked.slice(0, limit).map(shown);
  const more = ranked.length > limit || pages.some((page) => page.more);
  const last = data.at(-1);
  return {
    data,
    nextCursor: more && last ? sealRank({ score: last.score, id: `${last.id} ${last.type}` }, bound) : null,
    facets: Object.fromEntries(pages.flatMap(({ count }, at) => (count > 0 ? [[asked[at]?.type, count]] : []))),
  };
}

function shown({ isWeak, ...hit }: TypeHit): SearchHit {
  return isWeak?.() ? { ...hit, weak: true } : hit;
}

type Caller = Pick<Context<never, never>, 'principal' | 'server' | 'fail'>;
/** The place of each type among all types. */
type Places = ReadonlyMap<string, number>;

/** The types to search: those that the caller may read. A type that the caller names must be one of them. */
function typesFor(all: readonly SearchType[], types: readonly string[] | undefined, caller: Caller): SearchType[] {
  const asked = all.filter(({ type }) => !types || types.includes(type));
  const refused = types && asked.find((type) => !mayFind(caller, type));
  if (!refused) return asked.filter((type) => mayFind(caller, type));
  throw forbiddenType(caller, refused);
}

/** By score, then id, then the order of the types, because a task and its document have the same id. */
function byRank(a: SearchHit, b: SearchHit, places: Places): number {
  if (a.score !== b.score) return b.score - a.score;
  if (a.id !== b.id) return a.id < b.id ? 1 : -1;
  return placeOf(a.type, places) - placeOf(b.type, places);
}

function placeOf(type: string, places: Places): number {
  return places.get(type) ?? -1;
}

/** Where a type continues after the last hit of a page. A record with the hit's id still follows in the types after the hit's type. */
function afterIn({ type }: SearchType, { score, id: idAndType }: Rank, places: Places): Rank {
  const gap = idAndType.lastIndexOf(' ');
  const [id, lastType] = [idAndType.slice(0, gap), idAndType.slice(gap + 1)];
  return { score, id: placeOf(type, places) > placeOf(lastType, places) ? `${id}\u0000` : id };
}
