import type { UserRow } from '../../resources/imported-rows.ts';
import type { FoundPlace, SearchHit } from '../../resources/search.ts';
import type { CollectionDefinition, SearchDefinition } from '../../store/collection-definition.ts';
import { collections } from '../../store/collections.ts';
import { mapInSeries } from '../../store/map-in-series.ts';
import type { CountQuery, Rank, TextSearch } from '../../store/port.ts';
import { fold, textOf } from '../../store/search-text.ts';
import type { Access } from '../core/access/guarded-tool.ts';
import type { Principal } from '../core/access/principal.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { visibleTo } from '../core/access/visibility.ts';
import type { ServerContext } from '../core/registry/context.ts';
import type { Kind } from '../core/registry/define-kind.ts';
import { findUsers } from '../users/user-rows.ts';
import { shortened, snippetOf } from './snippet.ts';
import { isWeakMatch } from './weak.ts';

/** One kind of record of the global search. */
export interface SearchType {
  readonly type: string;
  /** The right to list records of the kind. */
  readonly access: Access;
  /** The tools that show such records. A caller limited to some tools needs one of these. */
  readonly shownBy: readonly string[];
  find(context: SearchContext, query: TypeQuery): Promise<TypePage>;
}

interface SearchContext {
  readonly store: TextSearch;
  readonly principal: Principal;
  readonly server: ServerContext;
}

interface TypeQuery {
  readonly text: string;
  readonly limit: number;
  readonly after: Rank | undefined;
}

export interface TypeHit extends SearchHit {
  /** Asked of shown hits alone, as it looks through their texts. */
  isWeak?(): boolean;
}

interface TypePage {
  readonly hits: readonly TypeHit[];
  readonly more: boolean;
  readonly count: number;
}

export function searchTypesOf(kinds: readonly Kind[]): SearchType[] {
  return kinds.flatMap((kind) => {
    const search = searchOf(kind.collection);
    return search ? [searchType(kind, search)] : [];
  });
}

function searchType(kind: Kind, search: Definition) {
  const { collection, resource, scope, list, get, search: narrowed = {} } = kind;
  const { shownBy = [], passage } = narrowed;
  const readable = readableBy(kind, search);
  return {
    type: search.type,
    access: { scope, grant: `${resource}:read`, narrows: true },
    shownBy: [list, get, ...shownBy].flatMap((tool) => tool?.name ?? []),
    async find({ store, principal }, query) {
      const page = await store.search(collection, { ...query, ...readable(principal) });
      const hits = await mapInSeries(page.hits, async ({ record, owner, score }) => ({
        ...describe(search, record, owner, query.text),
        ...(passage && placeIn(await passage(record as never, query.text), query.text)), // of its own collection
        score,
        isWeak: () => score < 1 && isWeakMatch(textsOf(search, record), query.text),
      }));
      return { hits, more: page.next !== null, count: page.count };
    },
  } satisfies SearchType;
}

/** The records that a caller may find, in the terms of the store. */
// biome-ignore lint/suspicious/noExplicitAny: it names members of one of several collections
export type ReadableFilter = Pick<CountQuery<any>, 'where' | 'any' | 'owner'>;

/** What each caller may find of the kind: the one place that decides it for search of any sort. */
export function readableBy(
  { collection, resource, names, search: { where } = {} }: Kind,
  search: Definition,
): (principal: Principal) => ReadableFilter {
  const isGuarded = 'accessKeys' in collections[collection].schema.shape;
  const ownerIsGuarded = search.owner && 'accessKeys' in (collectionNamed(search.owner.collection)?.schema.shape ?? {});
  return (principal) => ({
    where: { ...where, ...(isGuarded && visibleTo(principal)) },
    any: whereAllowed<Record<string, string>>(principal.rights.limitedTo(resource, 'read'), ...names),
    owner: ownerIsGuarded ? { where: visibleTo(principal) } : undefined,
  });
}

type Shown = Pick<SearchHit, 'type' | 'id' | 'title' | 'snippet' | 'updatedAt' | 'parent'>;
type Definition = SearchDefinition<never>;

const LONGEST_TITLE = 120;

function describe(search: Definition, found: object, owner: object | undefined, query: string): Shown {
  const record = found as Readonly<Record<string, unknown>>; // its members are read by name
  const text = search.text
    .map((field) => textOf(record[field]))
    .filter((part) => part !== '')
    .join('\n');
  const titles = search.title.map((field) => textOf(record[field])).filter((title) => title !== '');
  const id = textOf(record.id);
  return {
    type: search.type,
    id,
    title: shortened(titles[0] ?? (titleOf(search, owner) || text || id), LONGEST_TITLE),
    snippet: snippetOf(text === '' ? titles.join('\n') : text, query),
    updatedAt: textOf(record.updatedAt ?? record.createdAt),
    ...parentOf(search, owner),
  };
}

/** The texts in which words of the record are found. */
function textsOf({ title, text }: Definition, found: object): string[] {
  const record = found as Readonly<Record<string, unknown>>; // its members are read by name
  return [...title, ...text].map((field) => textOf(record[field]));
}

function placeIn(found: FoundPlace | undefined, query: string): Partial<Pick<SearchHit, 'passage' | 'snippet'>> {
  if (!found) return {};
  const { text, ...passage } = found;
  return { passage, snippet: snippetOf(text, query) };
}

function parentOf({ owner: declared }: Definition, owner: object | undefined): Pick<Shown, 'parent'> {
  const search = declared && searchOf(declared.collection);
  if (!search || !owner) return {};
  return { parent: { type: search.type, id: textOf((owner as { id?: unknown }).id) } }; // every record has an id
}

function titleOf({ owner: declared }: Definition, owner: object | undefined): string {
  const search = declared && searchOf(declared.collection);
  const [field = ''] = search?.title ?? [];
  return textOf((owner as Readonly<Record<string, unknown>> | undefined)?.[field]); // read by name
}

export function searchOf(collection: string): Definition | undefined {
  return collectionNamed(collection)?.search;
}

function collectionNamed(name: string): CollectionDefinition | undefined {
  return Object.entries(collections).find(([each]) => each === name)?.[1] as CollectionDefinition | undefined; // the definition of some collection
}

const ACCESS = { scope: 'users:read', grant: 'user:read', narrows: true } as const;

/** Users of the product are not records of a collection. They are found as list_users finds them, without deleted ones, and ranked here. */
export const productUsers: SearchType = {
  type: 'user',
  access: ACCESS,
  shownBy: ['get_user', 'list_users'],
  async find({ server, principal }, { text, limit, after }) {
    const query = { search: text, uids: principal.rights.limitedTo('user', 'read')?.names };
    const { records } = await findUsers(server.rows, query);
    const hits: SearchHit[] = [];
    let count = 0;
    for (const row of records) {
      const hit = describeUser(row, text);
      count += 1;
      if (!after || hit.score < after.score || (hit.score === after.score && hit.id < after.id)) hits.push(hit);
    }
    hits.sort((a, b) => b.score - a.score || (a.id < b.id ? 1 : -1));
    return { hits: hits.slice(0, limit), more: hits.length > limit, count };
  },
};

function describeUser({ uid, email, name, createdAt }: UserRow, query: string): SearchHit {
  const texts = [uid, email, ...(name === undefined ? [] : [name])];
  const snippet = [name, email, uid].filter((text) => text !== undefined).join(' · ');
  return { type: 'user', id: uid, title: name ?? email, snippet, score: scoreOf(texts, query), updatedAt: createdAt };
}

/** The share of the best text that the query makes up. 1 where they are equal. */
function scoreOf(texts: readonly string[], query: string): number {
  const wanted = fold(query);
  if (texts.some((text) => fold(text) === wanted)) return 1;
  const parts = texts.filter((text) => fold(text).includes(wanted)).map((text) => wanted.length / fold(text).length);
  return Math.min(0.999, Math.round(Math.max(0.001, ...parts) * 1e3) / 1e3);
}
