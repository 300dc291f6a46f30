import type { RowStore, StagedRows } from '../rows-port.ts';
import type { ClientSession } from './session.ts';

/** Imported rows as the transactions of records need them. */
export interface PostgresRows extends RowStore {
  /**
   * Changes rows in the transaction of this connection; others who change rows wait until it ends. Returns what is to be called after the
   * COMMIT.
   */
  write(session: ClientSession, changes: RowChanges): Promise<() => Promise<void>>;
  /** Lets running questions end. */
  close(): Promise<void>;
}

/** What a transaction does to imported rows. */
export interface RowChanges {
  readonly staged: StagedRows | undefined;
  /** Users whose rows are all removed. */
  readonly erased: readonly string[];
}
