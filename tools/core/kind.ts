import type { EntityType } from '../../resources/version.ts';
import type { WebhookEvent } from '../../resources/webhook.ts';
import type { CollectionName } from '../../store/collections.ts';
import type { Readers, Transaction } from '../../store/port.ts';
import type { GuardedCatalog } from './access/guarded-tool.ts';
import type { Principal } from './access/principal.ts';

/** What is known of a kind of record, apart from its tools. */
export interface RecordKind {
  /** Its name in answers, version paths and purges. */
  readonly type: string;
  /** Its name in messages: the type, if nothing else is given. */
  readonly noun: string;
  readonly collection: CollectionName;
  /** The resource of the grants for it, and the scope that reads it. */
  readonly resource: string;
  readonly scope: string;
  /** The members by which grants name a record. */
  readonly names: readonly string[];
  /** The tool that lists such records. */
  readonly list?: { readonly name: string } | undefined;
  /** The members that hold ids of other records, each with the type of those. A member of one name refers to one type in all kinds. */
  readonly refersTo?: Readonly<Partial<Record<string, string>>> | undefined;
  /** Absent if flows cannot wait for what happens to such records. */
  readonly event?: EventNames | undefined;
  readonly history?: HistoryOptions | undefined;
  /** Whether somebody with the right to read such records sees this one. Default: everybody does. Its parameter is a record of the kind's own collection. */
  sees?(record: never, principal: Principal, seeing: VisibilityContext): boolean | Promise<boolean>;
  /** Removes from such records what they hold of a record that is purged. */
  forget?(store: Transaction, id: string): Promise<void>;
}

/** What it takes to find out who sees a record. */
export interface VisibilityContext {
  readonly store: Readers;
  readonly catalog: GuardedCatalog;
  readonly kinds: readonly RecordKind[];
}

export interface EventNames {
  /** The first part of its event types, before the dot and what happened. */
  readonly name: string;
  /** The subject of sentences about a record: "A skill". */
  readonly words: string;
  /** Further events of a record besides created, changed and deleted, each with the rest of the sentence. */
  readonly also?: Readonly<Record<string, string>>;
  /** The events of a record in place of all others: only what `whichOf` names is one. */
  readonly only?: Readonly<Record<string, string>>;
  /** Which of these a change was. Undefined: just a change. Its parameter is a record of the kind's own collection. */
  whichOf?(record: never, happened: 'created' | 'updated' | 'deleted'): string | undefined;
  /** What receivers are told of the record besides its id and revision. */
  tells?(record: never, server: { readonly baseUrl: string }): Pick<WebhookEvent, 'approval'>;
}

export type Payload = Readonly<Record<string, unknown>>;

/** What versions keep of a record. */
export interface HistoryOptions {
  /** The member that is the text of a text entity. */
  readonly text?: string;
  /** The member that lists the tools it may call. */
  readonly allowlist?: string;
  /** The record without server-managed secrets. Its parameter is a record of the kind's own collection. */
  payload(record: never): Payload;
}

export interface VersionedKind extends RecordKind {
  readonly type: EntityType;
  readonly history: HistoryOptions;
}

/** A kind with a history has a type that versions know: `defineKind` takes no other. */
export function isVersioned<Kind extends RecordKind>(kind: Kind): kind is Kind & VersionedKind & Versioned<Kind> {
  return kind.history !== undefined;
}
type Versioned<Kind extends RecordKind> = { readonly history: NonNullable<Kind['history']> };
