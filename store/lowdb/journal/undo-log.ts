import type { Row } from '../../row.ts';
import type { Collection } from '../records/collection.ts';

export interface StoredChange {
  readonly collection: string;
  readonly id: string;
  readonly row: Row | undefined;
}

/** The earlier states of records that were changed by transactions in memory but not durable yet. */
export class UndoLog {
  readonly #replaced = new Map<() => void, readonly StoredChange[]>();

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

  forget(undo: () => void): void {
    this.#replaced.delete(undo);
  }

  /** The states to put back, in this order, to get the records as they are on the disk. */
  latestFirst(): StoredChange[] {
    return [...this.#replaced.values()].toReversed().flatMap((replaced) => replaced.toReversed());
  }
}
