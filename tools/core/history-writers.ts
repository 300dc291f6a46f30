import type { VersionKind } from '../../resources/version.ts';
import type { CollectionName, RecordOf } from '../../store/collections.ts';
import type { Change, Guard, NewRecord, Reader, Transaction, Writer } from '../../store/port.ts';

/** What a change leaves in the history besides the new state. */
export interface VersionNote {
  /** `snapshot` unless given; a `delete` holds the state before. */
  readonly kind?: VersionKind;
  readonly changeDescription?: string | undefined;
}

/** A writer that also writes a version with every change, where the collection is a versioned one. */
export interface HistoryWriter<Record> extends Reader<Record> {
  insert(record: NewRecord<Record>, note?: VersionNote): Promise<Record>;
  insertAll: Writer<Record>['insertAll'];
  update(id: string, change: Change<Record>, options?: Guard & VersionNote): Promise<Record>;
  touch: Writer<Record>['touch'];
  delete(id: string, options?: Guard & VersionNote): Promise<Record>;
  deleteAll: Writer<Record>['deleteAll'];
}

/** The transaction as handlers get it: changes of versioned records cannot be made without their version. */
export type HistoryWriters = { readonly [Name in CollectionName]: HistoryWriter<RecordOf<Name>> } & Pick<
  Transaction,
  'rows'
> & {
    /** Removes the record with its versions, stored answers and audited content. Returns whether there was anything to remove. */
    purge(collection: CollectionName, id: string): Promise<boolean>;
    /** The same transaction. Versions of its changes that say nothing themselves say this. */
    noting(changeDescription: string): HistoryWriters;
  };
