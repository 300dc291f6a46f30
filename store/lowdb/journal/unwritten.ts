import type { Collection } from '../records/collection.ts';
import type { Row } from '../rows/row.ts';

/** A record of a collection as it is to be, or as it was; `row` is undefined where there is none. */
export interface Change {
  readonly collection: string;
  readonly id: string;
  readonly row: Row | undefined;
}

/** What transactions that are in memory but not durable yet have replaced. */
export class Unwritten {
  readonly #replaced = new Map<() => void, readonly Change[]>();

  /** Changes the records; the function returned takes the changes back. */
  apply(collections: ReadonlyMap<string, Collection>, changes: readonly Change[]): () => void {
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

  /** The changes are durable. */
  forget(undo: () => void): void {
    this.#replaced.delete(undo);
  }

  /** What to put back, in this order, to have the records as they are on the disk. */
  latestFirst(): Change[] {
    return [...this.#replaced.values()].toReversed().flatMap((replaced) => replaced.toReversed());
  }
}
