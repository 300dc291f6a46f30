import type { Row } from '../../row.ts';
import type { Collection } from '../records/collection.ts';

/** A record of a collection before or after a change. `row` is undefined if the record does not exist. */
export interface StoredChange {
  readonly collection: string;
  readonly id: string;
  readonly row: Row | undefined;
}

/** The earlier states of records that were changed by transactions in memory but not durable yet. */
export class UndoLog {
  readonly #replaced = new Map<() => void, readonly StoredChange[]>();

  /** Applies the changes. The function it returns undoes them. */
  apply(collections: ReadonlyMap<string, Collection>, changes: readonly StoredChange[]): () => void {
    const replaced = changes.map(({ collection, id }) => ({
      collection,
      id,
      row: collections.get(collection)?.get(id),
    }));
    for (const { collection, id, row } of changes) collections.get(collection)?.set(id, row);
    const undo = () => {
      for (const { collection, id, row } of replaced.toReversed()) collections.get(collection)?.set(id, row);
      this.forget(undo);
    };
    this.#replaced.set(undo, replaced);
    return undo;
  }

  /** Called when the changes are durable. */
  forget(undo: () => void): void {
    this.#replaced.delete(undo);
  }

  /** The states to put back, in this order, to get the records as they are on the disk. */
  latestFirst(): StoredChange[] {
    return [...this.#replaced.values()].toReversed().flatMap((replaced) => replaced.toReversed());
  }
}
