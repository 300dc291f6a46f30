import type { AddToCommit, RecordChange, Transaction } from './port.ts';

/** What is written along with the changes of transactions. */
export class CommitAdditions {
  readonly #additions = new Set<AddToCommit>();

  add(addition: AddToCommit): () => void {
    this.#additions.add(addition);
    return () => this.#additions.delete(addition);
  }

  /** The work with the additions after it. Without any it is the work itself. */
  after<Result>(
    work: (tx: Transaction) => Promise<Result>,
    changes: () => readonly RecordChange[],
  ): (tx: Transaction) => Promise<Result> {
    if (this.#additions.size === 0) return work;
    return async (tx) => {
      const result = await work(tx);
      const changed = changes();
      if (changed.length > 0) for (const add of this.#additions) await add(tx, changed);
      return result;
    };
  }
}
