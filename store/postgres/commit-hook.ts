import type { RecordChange } from '../port.ts';
import type { BatchedStatement } from './batched-writes.ts';

/** Where commits cross the border of this process: listeners of this one, and whatever tells other processes. */
export interface CommitHook {
  /** What to write right before the COMMIT of the transaction. */
  note(changes: readonly RecordChange[]): BatchedStatement;
  /** Called right after the COMMIT, before the caller of the transaction hears of it. */
  committed(changes: readonly RecordChange[], origin: object | undefined): void;
}
