import { hash } from 'node:crypto';
import { StoreBusy } from '../../errors.ts';
import type { OpenProgress } from '../../open-progress.ts';
import type { SqlConnection } from '../../sql/connection.ts';
import { derivedTables } from '../../sql/derived-tables.ts';
import { rebuildTable } from '../../sql/rebuild.ts';
import type { ClientSession } from '../session.ts';
import { enterRows, leaveRows, type RowConnection } from './connection.ts';

/** Names the formulas of this version of the program. */
const DERIVATION = hash('sha256', JSON.stringify(derivedTables));

/** What all processes agree on. */
export class LockedState {
  readonly #connection: SqlConnection;
  readonly version: number;
  #nextSeq: number;

  private constructor(connection: SqlConnection, version: number, nextSeq: number) {
    this.#connection = connection;
    this.version = version;
    this.#nextSeq = nextSeq;
  }

  /** Waits until no other transaction changes rows, and lets none do so until this one ends. @throws StoreBusy */
  static async lock(connection: RowConnection): Promise<LockedState> {
    const [found] = await connection.query<{ version: number; next_seq: number; derivation: string }>({
      name: 'state of imported rows',
      sql: 'select version, next_seq, derivation from state for update',
    });
    if (!found) throw new Error('The table imported.state is empty.');
    if (found.derivation !== DERIVATION) {
      throw new StoreBusy(
        'Imported rows are kept by another version of this server, which is taking over; send them again in a minute.',
      );
    }
    return new LockedState(connection, found.version, found.next_seq);
  }

  /** The next place in the order of arrival. */
  readonly nextSeq = () => this.#nextSeq++;

  /** Rows that come later come after this place. */
  seqFrom(least: number): void {
    this.#nextSeq = Math.max(this.#nextSeq, least);
  }

  /** Notes a change. Returns the version that counts once the transaction commits. */
  async advance(): Promise<number> {
    const version = this.version + 1;
    await this.#connection.run('update state set version = $1, next_seq = $2', [version, this.#nextSeq]);
    return version;
  }
}

/** A last step of the migrations: makes the derived tables anew where another version of the program derived them in another way. */
export async function prepareRows(session: ClientSession, opening: OpenProgress): Promise<void> {
  await renewDerivation(await enterRows(session), opening);
  await leaveRows(session);
}

async function renewDerivation(connection: RowConnection, opening: OpenProgress): Promise<void> {
  // An import holds the lock for as long as it takes, so it is asked for only where there is something to do.
  if ((await derivationOf(connection)) === DERIVATION) return;
  opening.step('waiting for an import of another process');
  if ((await derivationOf(connection, 'for update')) === DERIVATION) return;
  for (const [at, table] of derivedTables.entries()) {
    opening.step(`rebuilding the tables of metrics, ${at + 1} of ${derivedTables.length}`);
    await rebuildTable(connection, table);
  }
  await connection.run('update state set version = version + 1, derivation = $1', [DERIVATION]);
}

async function derivationOf(connection: RowConnection, lock = ''): Promise<string | undefined> {
  const query = { name: 'derivation', sql: `select derivation from state ${lock}` };
  return (await connection.query<{ derivation: string }>(query))[0]?.derivation;
}
