import { StoreUnavailable } from '../../errors.ts';
import type { Turns } from '../../turns.ts';
import type { Journal } from '../journal/journal.ts';
import type { RowFile } from './row-file.ts';
import type { RowExtent } from './row-lines.ts';
import type { RowRewrite } from './row-rewrite.ts';

interface RowDroppingOptions {
  readonly rows: RowFile;
  readonly journal: Journal;
  /** The turns that writers take. */
  readonly turns: Turns;
  /** Commits the extent. */
  readonly place: (extent: RowExtent) => Promise<void>;
}

/** Drops rows by copying the others into a new file, which replaces the old one in a transaction. */
export class RowDropping {
  readonly #options: RowDroppingOptions;
  #last: Promise<void> = Promise.resolve();
  #stopped = false;
  error: Error | undefined;

  constructor(options: RowDroppingOptions) {
    this.#options = options;
  }

  /** Drops the rows at these positions. One call at a time. @throws StoreUnavailable */
  drop(positions: Iterable<number>): Promise<void> {
    const dropped = this.#last.then(() => this.#drop(new Set(positions)));
    this.#last = dropped.catch(() => {});
    return dropped;
  }

  stop(): void {
    this.#stopped = true;
  }

  ended(): Promise<void> {
    return this.#last;
  }

  async #drop(positions: ReadonlySet<number>): Promise<void> {
    const { journal, rows } = this.#options;
    try {
      // A transaction that the journal refused may still be in its file, and name the file that would be overwritten.
      if (journal.error) throw journal.error;
      const rewrite = await rows.without(positions, () => this.#assertRunning());
      if (rewrite) await this.#replace(rewrite);
      this.error = undefined;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const error = new StoreUnavailable(`imported rows could not be dropped: ${reason}`, { cause });
      if (!this.#stopped) this.error = error;
      throw error;
    }
  }

  /** Replaces the file. Writers wait meanwhile. */
  async #replace(rewrite: RowRewrite): Promise<void> {
    const { rows, turns, place } = this.#options;
    const endTurn = await turns.take();
    try {
      const state = await rewrite.orDiscarded(async () => {
        this.#assertRunning();
        return rewrite.finish(rows.extent.end);
      });
      await place(state.extent);
      await rows.replace(state);
    } finally {
      endTurn();
    }
  }

  #assertRunning(): void {
    if (this.#stopped) throw new Error('the store is closing');
  }
}
