import type { FoundPlace } from '../../../resources/search.ts';
import type { EntityType } from '../../../resources/version.ts';
import type { CollectionName, RecordOf } from '../../../store/collections.ts';
import type { Filter, NewRecord, Readers, Transaction } from '../../../store/port.ts';
import { ANYONE } from '../access/guarded-tool.ts';
import type { Principal } from '../access/principal.ts';
import { accessFor } from '../access/requirement.ts';
import type { HistoryWriters } from '../history-writers.ts';
import type { EventNames, HistoryOptions, Payload, RecordKind, VisibilityContext } from '../kind.ts';
import type { CallerContext, Context } from './context.ts';
import type { Staged, Tool } from './tool.ts';

/** A kind of record with its tools: what versions, search, events, purges and resources do with it follows from this. */
export interface Kind<Name extends CollectionName = CollectionName> extends RecordKind, Tools {
  readonly collection: Name;
  readonly list?: Tool | undefined;
  readonly history?: History<Name> | undefined;
  readonly search?: SearchOptions<Name> | undefined;
  readonly address?: ResourceOptions | 'none' | undefined;
  /** `alone`: nothing else goes with the record, which stays while others refer to it. */
  readonly purge?: 'alone' | Purge | undefined;
  readonly authorizePurge?: AuthorizePurge | undefined;
}

interface Tools {
  readonly list?: Tool | undefined;
  /** Its rights decide who may read the record in any way. Where anyone may call it, for what is their own, those of `list` open the kind. */
  readonly get?: Tool | undefined;
  /** Its rights decide who may restore the record. */
  readonly update?: Tool | undefined;
  /** Does what undoing the creation of a record takes. Absent if a record goes with another one. */
  readonly delete?: Tool | undefined;
}

/** How records of the kind are kept in versions, shown there and brought back. */
export interface History<Name extends CollectionName = CollectionName> extends HistoryOptions {
  payload(record: RecordOf<Name>): Payload;
  /** The payload as callers see it, if it is kept in another form. */
  shown?(payload: Payload, store: Readers): Promise<Payload>;
  /** Does what takes long before the transaction that restores a state begins. */
  stageRestore?(state: RecordOf<Name>, principal: Principal): Promise<Staged>;
  /** Refuses a state that goes beyond the caller's rights, as `authorize` of the update does. @throws ToolError (forbidden) */
  authorizeRestore?(
    state: RecordOf<Name>,
    current: RecordOf<Name> | undefined,
    context: CallerContext,
  ): void | Promise<void>;
  /** The record to store when an earlier state is restored: checked, with server-managed members as they are now. Default: the state itself. */
  prepareRestore?(
    state: RecordOf<Name>,
    current: RecordOf<Name> | undefined,
    context: Context<HistoryWriters, 'conflict'>,
    staged: Staged | undefined,
  ): Promise<NewRecord<RecordOf<Name>>>;
}

/** Limits what search finds of the kind to less than a caller may see, and names further tools that show these records. */
interface SearchOptions<Name extends CollectionName> {
  readonly where?: Filter<RecordOf<Name>>['where'];
  readonly shownBy?: readonly Tool[];
  /** The passage of a long text that fits the query best. */
  passage?(record: RecordOf<Name>, query: string): Promise<FoundPlace | undefined>;
}

/** The parts of the record's resource URI that do not follow from type, tools and collection. */
interface ResourceOptions {
  readonly uriTemplate?: string;
  readonly title?: string;
  readonly description?: string;
  /** Undefined if each record names its own type in `mimeType`. */
  readonly mimeType?: string | undefined;
  /** The member with the text to read, and the member with bytes in base64. */
  readonly text?: string;
  readonly blob?: string;
  /** The member that a list shows as the name of the record. Default: the last title member of search. */
  readonly label?: string;
}

type PurgeContext = Context<HistoryWriters, 'not_found' | 'conflict'>;

/** Removes a record with all that belongs to it, unless others refer to it. Resolves to whether there was anything to remove. */
export type Purge = (id: string, context: PurgeContext) => Promise<boolean>;

/** Refuses a purge that goes beyond the caller's rights. @throws ToolError (forbidden) */
export type AuthorizePurge = (id: string, context: CallerContext) => void | Promise<void>;

type Definition<Name extends CollectionName> = Tools & {
  readonly collection: Name;
  readonly noun?: string;
  readonly names?: readonly (keyof RecordOf<Name> & string)[];
  readonly refersTo?: { readonly [Member in keyof RecordOf<Name> & string]?: string };
  /** Default: the events have the name of the type. `none`: flows cannot wait for changes of such a record. */
  readonly event?: EventNames | 'none';
  readonly search?: SearchOptions<Name>;
  /** Default: whatever has a get tool is a resource, read as JSON. `none`: it is not a resource. */
  readonly address?: ResourceOptions | 'none';
  readonly purge?: 'alone' | Purge;
  readonly authorizePurge?: AuthorizePurge;
  sees?(record: RecordOf<Name>, principal: Principal, seeing: VisibilityContext): boolean | Promise<boolean>;
  forget?(store: Transaction, id: string): Promise<void>;
} & (
    | { readonly type: string; readonly history?: never }
    | { readonly type: EntityType; readonly history: History<Name> }
  );

export function defineKind<Name extends CollectionName>(definition: Definition<Name>): Kind<Name> {
  const { type, noun = type, names = ['id'], event = { name: noun, words: withArticle(noun) }, get, list } = definition;
  const reading = readingTool({ get, list });
  if (!reading) throw new Error(`No tool reads records of type ${type}.`);
  const { scope, grant } = accessFor(reading.access, {});
  const [resource = ''] = String(grant).split(':');
  return { ...definition, noun, names, event: event === 'none' ? undefined : event, scope, resource };
}

/** The tool whose right is needed to read records of the kind: that of `get`, unless anybody may call it for their own. */
export function readingTool({ get, list }: Pick<Kind, 'get' | 'list'>): Tool | undefined {
  return get?.access === ANYONE ? list : (get ?? list);
}

function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'An' : 'A'} ${noun}`;
}
