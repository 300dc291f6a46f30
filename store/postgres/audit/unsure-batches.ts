import type { SealedBatch } from '../../audit-proof/sealer.ts';
import type { Database } from '../database.ts';

/** A transaction of a lost connection has ended by then. */
const ENDED_AFTER_MS = 60_000;

/** Entries of transactions whose COMMIT was not answered, until the database is asked for them. */
export class UnsureBatches {
  readonly #database: Database;
  readonly #endedAfterMs: number;
  #batches: readonly { readonly batch: SealedBatch; readonly since: number }[] = [];

  constructor(database: Database, endedAfterMs = ENDED_AFTER_MS) {
    this.#database = database;
    this.#endedAfterMs = endedAfterMs;
  }

  add(batch: SealedBatch): void {
    this.#batches = [...this.#batches, { batch, since: performance.now() }];
  }

  async settle(): Promise<void> {
    const due = this.#batches.filter(({ since }) => performance.now() - since > this.#endedAfterMs);
    for (const unsure of due) {
      const { batch } = unsure;
      const [entry] = batch.entries;
      // All of them were committed, or none.
      const text = `select 1 as there from audit_entries where at = $1 and id = $2 and entry ->> 'proof' = $3`;
      const values = [entry?.at, entry?.id, entry?.proof];
      const isThere = (await this.#database.query({ text, values })).length > 0;
      this.#batches = this.#batches.filter((other) => other !== unsure);
      if (isThere) batch.kept();
      else batch.undone();
    }
  }
}
