import { type PeriodicTask, startPeriodicTask } from '../../store/periodic-task.ts';
import type { BudgetBook, Settlement } from './budget-book.ts';

/** How long until the store is asked again where it refused. */
const AGAIN_MS = 2000;

/**
 * Counts turns of models that have ended. The answer of a turn never depends on that: what the store refuses is counted as soon as it can be,
 * and until then its reservation counts.
 */
export class Settlements {
  readonly #book: BudgetBook;
  readonly #onFailure: (cause: unknown) => void;
  readonly #owed = new Set<Settlement>();
  #repeated: PeriodicTask | undefined;

  constructor(book: BudgetBook, onFailure: (cause: unknown) => void) {
    this.#book = book;
    this.#onFailure = onFailure;
  }

  /** Resolves when it is counted, or will be later. */
  async settle(settlement: Settlement): Promise<void> {
    try {
      await this.#book.enter(settlement);
    } catch (cause) {
      this.#onFailure(cause);
      this.#owed.add(settlement);
      this.#repeated ??= startPeriodicTask(() => this.#pay(), this.#onFailure, AGAIN_MS);
    }
  }

  /** Tries a last time. */
  async close(): Promise<void> {
    await this.#repeated?.close();
    await this.#pay().catch(this.#onFailure);
  }

  async #pay(): Promise<void> {
    for (const settlement of [...this.#owed]) {
      await this.#book.enter(settlement);
      this.#owed.delete(settlement);
    }
  }
}
