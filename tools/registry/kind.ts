import type { EntityType } from '../../resources/version.ts';
import type { CollectionName } from '../../store/collections.ts';
import type { Transaction } from '../../store/port.ts';

/** What a kind of record is known by, apart from its tools. */
export interface RecordKind {
  /** As answers, version paths and purges call it. */
  readonly type: string;
  /** As refusals call one: the type, if nothing else is given. */
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
  /** Absent where no flow waits for what happens to such records. */
  readonly event?: EventNames | undefined;
  readonly history?: KeptHistory | undefined;
  /** Takes away what such records hold of a record that is purged. */
  forget?(store: Transaction, id: string): Promise<void>;
}

export interface EventNames {
  /** Event types are this, a dot and what happened. */
  readonly name: string;
  /** As sentences about it begin: "A skill". */
  readonly words: string;
}

export type Payload = Readonly<Record<string, unknown>>;

/** What versions keep of a record. */
export interface KeptHistory {
  /** The member that is the text of a text entity. */
  readonly text?: string;
  /** The record without server-managed secrets. Its parameter is a record of the kind's own collection. */
  payload(record: never): Payload;
}

export interface VersionedKind extends RecordKind {
  readonly type: EntityType;
  readonly history: KeptHistory;
}

/** Only a kind whose type versions know can be defined with a history. */
export function isVersioned<Kind extends RecordKind>(kind: Kind): kind is Kind & VersionedKind & Versioned<Kind> {
  return kind.history !== undefined;
}
type Versioned<Kind extends RecordKind> = { readonly history: NonNullable<Kind['history']> };
