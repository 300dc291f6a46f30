import { StoreBusy } from '../../errors.ts';
import type { StagedRows } from '../../rows-port.ts';
import type { Counts } from '../../sql/writing/counts.ts';
import type { RowConnection } from './connection.ts';
import type { ImportLock } from './import-lock.ts';
import type { LockedState } from './state.ts';

/** Writes rows, in the transaction that commits them. */
export type Writing = (writer: RowConnection, state: LockedState) => Promise<Counts>;

interface Staging {
  readonly turn: ImportLock;
  readonly counts: Counts;
  /** The version of the rows that they were compared with. */
  readonly version: number;
  readonly write: Writing;
}

/** Rows that were compared with those that are there. They are written in the transaction that commits them, as nobody else imports until then. */
export class StagedWrite implements StagedRows {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly #staging: Staging;

  constructor(staging: Staging) {
    this.#staging = staging;
    const { created, updated, unchanged } = staging.counts;
    this.created = created;
    this.updated = updated;
    this.unchanged = unchanged;
  }

  /** Returns whether it changed anything. @throws StoreBusy if the rows have changed since they were compared */
  async write(writer: RowConnection, state: LockedState): Promise<boolean> {
    const { version, write } = this.#staging;
    if (this.created + this.updated === 0 && version === state.version) return false;
    const { created, updated } = await write(writer, state);
    if (created !== this.created || updated !== this.updated) {
      throw new StoreBusy('The rows were changed by somebody else meanwhile; send them again.');
    }
    return created + updated > 0;
  }

  async discard(): Promise<void> {
    await this.#staging.turn.end();
  }
}
