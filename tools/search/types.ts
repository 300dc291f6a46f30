import { addresses } from '../../resources/addresses.ts';
import type { SearchHit } from '../../resources/search.ts';
import { type CollectionName, collections, type RecordOf } from '../../store/collections.ts';
import type { Filter, Rank, TextSearch } from '../../store/port.ts';
import { textOf } from '../../store/search-text.ts';
import type { Access } from '../access/guarded-tool.ts';
import type { Principal } from '../access/principal.ts';
import { visibleTo } from '../access/visibility.ts';
import type { ServerFacts } from '../registry/context.ts';
import { onlyThese } from '../registry/paging.ts';
import { shortened, snippetOf } from './snippet.ts';
import { productUsers } from './users.ts';

/** One kind of record of the global search. */
export interface SearchType {
  readonly type: string;
  /** The right to list records of the kind. */
  readonly access: Access;
  /** The tools that show such records: who is held to some tools needs one of these. */
  readonly shownBy: readonly string[];
  find(context: SearchContext, query: TypeQuery): Promise<TypePage>;
}

interface SearchContext {
  readonly store: TextSearch;
  readonly principal: Principal;
  readonly server: ServerFacts;
}

interface TypeQuery {
  readonly text: string;
  readonly limit: number;
  readonly after: Rank | undefined;
}

interface TypePage {
  readonly hits: readonly SearchHit[];
  readonly more: boolean;
  readonly count: number;
}

/** What limits a kind besides the ids in a caller's grants. */
interface Narrowing<Name extends CollectionName> {
  /** Members by which grants name a record; `id` unless given. */
  readonly names?: readonly (keyof RecordOf<Name> & string)[];
  readonly where?: (principal: Principal) => Filter<RecordOf<Name>>['where'];
  /** Tools that show the records, besides those by which they are read and listed as resources. */
  readonly shownBy?: readonly string[];
  /** What the record's owner must meet. */
  readonly owner?: (principal: Principal) => Filter<object>['where'];
}

/** Every kind of record that search finds, with the right to read it. */
export const searchTypes: readonly SearchType[] = [
  ofType('agents', 'agents:read', 'agent:read', {
    names: ['id', 'name'],
    where: () => ({ status: ['active', 'paused'] }),
  }),
  ofType('skills', 'skills:read', 'skill:read'),
  ofType('memories', 'memory:read', 'memory:read', {
    where: (principal) => ({ superseded: false, ...visibleTo(principal) }),
    shownBy: ['search_memories'],
  }),
  ofType('threads', 'threads:read', 'thread:read', { where: visibleTo }),
  ofType('messages', 'threads:read', 'thread:read', {
    names: ['threadId'],
    owner: visibleTo,
    shownBy: ['list_messages'],
  }),
  ofType('projects', 'projects:read', 'project:read'),
  ofType('goals', 'goals:read', 'goal:read'),
  ofType('tasks', 'tasks:read', 'task:read'),
  ofType('taskDocuments', 'tasks:read', 'task:read'),
  ofType('documents', 'documents:read', 'document:read'),
  ofType('artifacts', 'artifacts:read', 'artifact:read', { where: visibleTo }),
  ofType('databases', 'records:read', 'record:read'),
  ofType('databaseRecords', 'records:read', 'record:read', { names: ['id', 'databaseId'], shownBy: ['list_records'] }),
  ofType('flows', 'flows:read', 'flow:read'),
  ofType('reports', 'reports:read', 'report:read'),
  ofType('capsules', 'admin', 'capsule:read'),
  productUsers,
  ofType('adminUsers', 'admin', 'admin-user:read', { shownBy: ['get_admin_user', 'list_admin_users'] }),
];

function ofType<Name extends CollectionName>(
  collection: Name,
  scope: string,
  grant: string,
  { names = ['id'], where, owner, shownBy = [] }: Narrowing<Name> = {},
): SearchType {
  const { search } = collections[collection];
  if (!search) throw new Error(`The collection ${collection} declares no text to search.`);
  const [resource = '', op = ''] = grant.split(':');
  return {
    type: search.type,
    access: { scope, grant, narrows: true },
    shownBy: [...shownBy, ...resourceTools(collection)],
    async find({ store, principal }, query) {
      const any = onlyThese<RecordOf<Name>>(principal.rights.limitedTo(resource, op), ...names);
      const page = await store.search(collection, {
        ...query,
        where: where?.(principal),
        any,
        owner: owner && { where: owner(principal) },
      });
      const hits = page.hits.map(({ record, owner, score }) => ({
        ...describe(search, record, owner, query.text),
        score,
      }));
      return { hits, more: page.next !== null, count: page.count };
    },
  };
}

function resourceTools(collection: CollectionName): string[] {
  const { readTool, listTool } = addresses.find((address) => address.collection === collection) ?? {};
  return [readTool, listTool].filter((tool) => tool !== undefined);
}

type Shown = Pick<SearchHit, 'type' | 'id' | 'title' | 'snippet' | 'updatedAt' | 'parent'>;
type Definition = NonNullable<(typeof collections)[CollectionName]['search']>;

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

function parentOf({ owner: declared }: Definition, owner: object | undefined): Pick<Shown, 'parent'> {
  const search = declared && definitionOf(declared.collection);
  if (!search || !owner) return {};
  return { parent: { type: search.type, id: textOf((owner as { id?: unknown }).id) } }; // every record has an id
}

function titleOf({ owner: declared }: Definition, owner: object | undefined): string {
  const search = declared && definitionOf(declared.collection);
  const [field = ''] = search?.title ?? [];
  return textOf((owner as Readonly<Record<string, unknown>> | undefined)?.[field]); // read by name
}

function definitionOf(collection: string): Definition | undefined {
  return Object.entries(collections).find(([name]) => name === collection)?.[1].search;
}
