import type { CollectionName } from './collections.ts';
import type { AddToCommit, Commit, RecordChange, Transaction } from './port.ts';

interface Listener {
  tell(commit: Commit): void;
  readonly collections: readonly CollectionName[] | undefined;
}

export class CommitListeners {
  readonly #listeners = new Set<Listener>();
  /** The error of a listener at the latest commit. */
  error: Error | undefined;

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  /** The collections that somebody hears of. Undefined: all. */
  get collections(): ReadonlySet<CollectionName> | undefined {
    const wanted = new Set<CollectionName>();
    for (const { collections } of this.#listeners) {
      if (!collections) return undefined;
      for (const name of collections) wanted.add(name);
    }
    return wanted;
  }

  add(tell: Listener['tell'], collections?: Listener['collections']): () => void {
    const listener = { tell, collections };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A listener that throws neither undoes the commit nor keeps the others from being called. */
  tell(commit: Commit): void {
    this.error = undefined;
    for (const { tell, collections } of this.#listeners) {
      if (collections && !commit.changes.some(({ collection }) => collections.includes(collection))) continue;
      try {
        tell(commit);
      } catch (cause) {
        this.error = new Error(`what follows changes failed: ${String(cause)}`, { cause });
      }
    }
  }
}

export class CommitAdditions {
  readonly #additions = new Set<AddToCommit>();

  add(addition: AddToCommit): () => void {
    this.#additions.add(addition);
    return () => this.#additions.delete(addition);
  }

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
