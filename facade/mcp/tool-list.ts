import { INVALID_PARAMS } from '@modelcontextprotocol/server';
import { globMatcher } from '../../tools/core/access/allowlist.ts';
import { isListed } from '../../tools/core/access/guarded-tool.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { rightsFingerprint } from '../../tools/core/access/reach.ts';
import { nearest } from '../../tools/core/access/similar-names.ts';
import type { CatalogEntry } from '../../tools/core/registry/catalog-index.ts';
import type { ServerContext } from '../../tools/core/registry/context.ts';
import { type ListedTool, listedForForms, listedTool, withoutView } from '../../tools/core/registry/listed-tool.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import { CompressedPrefix } from '../http/compressed-prefix.ts';
import type { RequestContext } from '../http/request-context.ts';
import { RpcError } from './message.ts';
import type { Era } from './protocol-versions.ts';
import type { ResponseWriter } from './response-writer.ts';

const PAGE = 500;
/** The number of lists that are kept: one for each set of rights and narrowing. */
const MOST_LISTS = 64;

interface ListPage {
  readonly tools: readonly ListedTool[];
  readonly nextCursor?: string;
}

interface CachedList {
  readonly entries: readonly CatalogEntry[];
  /** As clients that show pages see them, and as others do. */
  readonly withViews: readonly ListedTool[];
  readonly withoutViews: readonly ListedTool[];
  /** Written out, by revision and whether they name pages. */
  readonly prepared: Map<string, CompressedPrefix>;
}

type ListRequest = Pick<RequestContext, 'principal' | 'url'>;

interface ListSource extends Pick<Registry, 'list'> {
  readonly server: Pick<ServerContext, 'catalog' | 'kinds'>;
}

/**
 * Makes the answers of `tools/list`, narrowed by `?tools=` and `?groups=`, replaced by `?mode=search`, with more in the inputs for
 * `?hints=1`. None of these changes what the caller may call.
 */
export class ToolLists {
  readonly #registry: ListSource;
  readonly #writer: ResponseWriter;
  readonly #kept = new Map<string, CachedList>();

  constructor(registry: ListSource, writer: ResponseWriter) {
    this.#registry = registry;
    this.#writer = writer;
  }

  /** @throws RpcError for a cursor of another list, and for a narrowing that matches nothing */
  page(asked: ListRequest, cursor: unknown, showsViews: boolean): ListPage {
    const tools = toolsIn(this.#list(asked), showsViews);
    const start = cursor === undefined ? 0 : readCursor(cursor, tools.length);
    const end = start + PAGE;
    return { tools: tools.slice(start, end), ...(end < tools.length && { nextCursor: cursorAt(end) }) };
  }

  /** The first page as a response without its id. Undefined if there are more pages. @throws RpcError */
  prepared(asked: ListRequest, era: Era, showsViews: boolean): CompressedPrefix | undefined {
    const list = this.#list(asked);
    const tools = toolsIn(list, showsViews);
    if (tools.length > PAGE) return undefined;
    const key = `${era} ${showsViews}`;
    const body = list.prepared.get(key) ?? new CompressedPrefix(this.#writer.listWithoutId(tools, era));
    list.prepared.set(key, body);
    return body;
  }

  #list({ principal, url }: ListRequest): CachedList {
    const entries = this.#registry.list(principal);
    const key = `${rightsFingerprint(principal)}${url.search === '' ? '' : `\n${narrowingOf(url)}`}`;
    const known = this.#kept.get(key);
    if (known && sameEntries(known.entries, entries)) return known;
    const shown = url.search === '' ? entries : this.#narrowed(entries, principal, url.searchParams);
    const { kinds } = this.#registry.server;
    const hinted = url.search !== '' && wantsHints(url.searchParams);
    const list = ({ tool }: CatalogEntry) => {
      const fixed = principal.tools?.fixed?.(tool);
      return hinted ? listedForForms(tool, kinds, fixed) : listedTool(tool, fixed);
    };
    const withViews = shown.map(list);
    const made = {
      entries,
      withViews,
      withoutViews: withViews.map(withoutView),
      prepared: new Map<string, CompressedPrefix>(),
    };
    if (this.#kept.size >= MOST_LISTS) this.#kept.clear();
    this.#kept.set(key, made);
    return made;
  }

  #narrowed(entries: readonly CatalogEntry[], principal: Principal, search: URLSearchParams) {
    if (!searches(search)) return narrow(entries, this.#known(principal), search);
    return this.#registry.server.catalog.entries.filter(({ tool }) => tool.discovery);
  }

  /** The tools that words in the URL may name: all tools, except those outside the principal's limit. */
  #known({ tools }: Principal): readonly CatalogEntry[] {
    const { entries } = this.#registry.server.catalog;
    return entries.filter(({ tool }) => isListed(tool) && (tools?.allows(tool) ?? true));
  }
}

function toolsIn({ withViews, withoutViews }: CachedList, showsViews: boolean): readonly ListedTool[] {
  return showsViews ? withViews : withoutViews;
}

function sameEntries(one: readonly CatalogEntry[], other: readonly CatalogEntry[]): boolean {
  return one === other || (one.length === other.length && one.every((entry, index) => entry === other[index]));
}

function narrowingOf({ searchParams }: URL): string {
  return JSON.stringify(['mode', 'tools', 'groups', 'hints'].map((name) => wordsOf(searchParams, name)));
}

function wordsOf(search: URLSearchParams, name: string): string[] {
  const words = search.getAll(name).flatMap((value) => value.split(','));
  return words.map((word) => word.trim()).filter((word) => word !== '');
}

/** What is wrong with the narrowing is wrong with every message to this address. @throws RpcError */
export function requireNarrowing({ search, searchParams }: URL): void {
  if (search === '') return;
  searches(searchParams);
  wantsHints(searchParams);
}

function searches(search: URLSearchParams): boolean {
  const modes = wordsOf(search, 'mode');
  const narrowed = wordsOf(search, 'tools').length > 0 || wordsOf(search, 'groups').length > 0;
  if (modes.some((mode) => mode !== 'search')) {
    throw new RpcError(INVALID_PARAMS, 'mode= in the URL is search, or absent for the list of all tools.');
  }
  if (modes.length > 0 && narrowed) {
    throw new RpcError(
      INVALID_PARAMS,
      'mode=search in the URL shows tools that lead to all others; leave out tools= and groups=.',
    );
  }
  return modes.length > 0;
}

function wantsHints(search: URLSearchParams): boolean {
  const words = wordsOf(search, 'hints');
  if (words.every((word) => word === '1')) return words.length > 0;
  throw new RpcError(INVALID_PARAMS, 'hints= in the URL is 1, or absent for the list that models read.');
}

function narrow(
  entries: readonly CatalogEntry[],
  known: readonly CatalogEntry[],
  search: URLSearchParams,
): readonly CatalogEntry[] {
  const inGroups = groupTest(known, wordsOf(search, 'groups'));
  const named = nameTest(known, wordsOf(search, 'tools'));
  return entries.filter((entry) => inGroups(entry) && named(entry));
}

type Test = (entry: CatalogEntry) => boolean;

function groupTest(all: readonly CatalogEntry[], wanted: readonly string[]): Test {
  if (wanted.length === 0) return () => true;
  const known = [...new Set(all.map(({ group }) => group))];
  const names = new Set(wanted.map((name) => name.toLowerCase()));
  const unknown = [...names].some((name) => !known.some((group) => group.toLowerCase() === name));
  if (unknown) {
    throw new RpcError(INVALID_PARAMS, `groups= in the URL names an unknown group; there are: ${known.join(', ')}.`);
  }
  return ({ group }) => names.has(group.toLowerCase());
}

/** An entry that matches nothing may name a tool that is away. A mistake is certain only where no entry matches. */
function nameTest(all: readonly CatalogEntry[], globs: readonly string[]): Test {
  if (globs.length === 0) return () => true;
  const matchers = globs.map(globMatcher);
  const test: Test = ({ tool }) => matchers.some((matches) => matches(tool.name));
  if (all.some(test)) return test;
  const names = all.map(({ tool }) => tool.name);
  const close = globs.slice(0, 10).flatMap((glob) => nearest(glob, names, 2));
  const hint = close.length > 0 ? `; similar names: ${close.join(', ')}` : '';
  throw new RpcError(INVALID_PARAMS, `tools= in the URL matches no tool${hint}.`);
}

function cursorAt(start: number): string {
  return Buffer.from(`tools ${start}`).toString('base64url');
}

function readCursor(cursor: unknown, length: number): number {
  for (let start = PAGE; start < length; start += PAGE) if (cursorAt(start) === cursor) return start;
  throw new RpcError(INVALID_PARAMS, 'The cursor is not one that this list gave; start again without it.');
}
