import { z } from 'zod';
import { cursor, limit } from '../../resources/fields.ts';
import { type SearchHit, searchResult, searchText } from '../../resources/search.ts';
import type { Rank } from '../../store/port.ts';
import { mayTry } from '../access/requirement.ts';
import type { Context } from '../registry/context.ts';
import { defineTool, type Fail, READS } from '../registry/define-tool.ts';
import { openRank, sealRank } from '../registry/paging.ts';
import { type SearchType, searchTypes } from './types.ts';

export const search = defineTool({
  name: 'search',
  title: 'Search',
  description:
    'Find records of every type you may read, best match first; exact ids, names and e-mails lead. Returns type, id, title, snippet and score of each, and counts by type.',
  access: { scope: 'agents:read', grant: 'search:read' },
  looksAcross: true,
  annotations: READS,
  input: z.strictObject({
    q: searchText,
    types: z
      .array(z.enum(searchTypes.map(({ type }) => type)))
      .min(1)
      .optional()
      .describe('Look for these only. Default: all you may read.'),
    limit,
    cursor,
  }),
  output: searchResult,
  errors: [],

  async handler({ q, types, limit, cursor }, context) {
    const { fail } = context;
    const bound = { q, types: types && [...new Set(types)].sort() };
    const after = openRank(cursor, bound);
    const asked = typesFor(context, types, fail);
    const pages = await Promise.all(
      asked.map((type) => type.find(context, { text: q, limit, after: after && afterIn(type, after) })),
    );
    const ranked = pages.flatMap(({ hits }) => hits).sort(byRank);
    const data = ranked.slice(0, limit);
    const more = ranked.length > limit || pages.some((page) => page.more);
    const last = data.at(-1);
    return {
      data,
      nextCursor: more && last ? sealRank({ score: last.score, id: `${last.id} ${last.type}` }, bound) : null,
      facets: Object.fromEntries(pages.flatMap(({ count }, at) => (count > 0 ? [[asked[at]?.type, count]] : []))),
    };
  },
});

type Caller = Pick<Context<never, never>, 'principal' | 'server'>;

/** The types to look in: those the caller may read. One asked for by name must be among them. */
function typesFor(caller: Caller, types: readonly string[] | undefined, fail: Fail<never>): SearchType[] {
  const asked = searchTypes.filter(({ type }) => !types || types.includes(type));
  const refused = types && asked.find((type) => !mayFind(caller, type));
  if (!refused) return asked.filter((type) => mayFind(caller, type));
  const { scope, grant } = refused.access;
  throw fail('forbidden', 'Insufficient permissions', {
    required: { scope, grant: [grant].flat().join(', ') },
    issues: [{ path: 'types', message: `You may not read records of type ${refused.type}; leave it out.` }],
  });
}

function mayFind({ principal: { rights, tools }, server: { catalog } }: Caller, { access, shownBy }: SearchType) {
  if (!mayTry(rights, access)) return false;
  const shows = (name: string) => {
    const shown = catalog.get(name)?.tool;
    return shown !== undefined && tools?.allows(shown) === true;
  };
  return !tools || shownBy.some(shows);
}

/** By score, then id, then the order of the types: a task and its document have one id. */
function byRank(a: SearchHit, b: SearchHit): number {
  if (a.score !== b.score) return b.score - a.score;
  if (a.id !== b.id) return a.id < b.id ? 1 : -1;
  return placeOf(a.type) - placeOf(b.type);
}

function placeOf(type: string): number {
  return searchTypes.findIndex((searchType) => searchType.type === type);
}

/** Where a type goes on behind the last hit of a page; one of the same id still comes in the types behind that hit's. */
function afterIn({ type }: SearchType, { score, id: idAndType }: Rank): Rank {
  const gap = idAndType.lastIndexOf(' ');
  const [id, lastType] = [idAndType.slice(0, gap), idAndType.slice(gap + 1)];
  return { score, id: placeOf(type) > placeOf(lastType) ? `${id}\u0000` : id };
}
