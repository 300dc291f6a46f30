import type { RecordChange } from '../port.ts';
import type { Session } from './session.ts';

/** Where commits cross the border of this process: listeners of this one, and whatever tells other processes. */
export interface CommitHook {
  /** Called in the transaction, right before its COMMIT. */
  note(session: Session, changes: readonly RecordChange[]): Promise<void>;
  /** Called right after the COMMIT, before the caller of the transaction hears of it. */
  committed(changes: readonly RecordChange[], origin: object | undefined): void;
}
