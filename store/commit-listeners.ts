import type { CollectionName } from './collections.ts';
import type { Commit } from './port.ts';

interface Listener {
  tell(commit: Commit): void;
  /** Undefined: it hears of changes of all. */
  readonly collections: readonly CollectionName[] | undefined;
}

/** Listeners for commits. */
export class CommitListeners {
  readonly #listeners = new Set<Listener>();
  #error: Error | undefined;

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  /** The error of a listener at the latest commit. */
  get error(): Error | undefined {
    return this.#error;
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
    this.#error = undefined;
    for (const { tell, collections } of this.#listeners) {
      if (collections && !commit.changes.some(({ collection }) => collections.includes(collection))) continue;
      try {
        tell(commit);
      } catch (cause) {
        this.#error = new Error(`what follows changes failed: ${String(cause)}`, { cause });
      }
    }
  }
}
