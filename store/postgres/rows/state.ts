import { hash } from 'node:crypto';
import { StoreBusy } from '../../errors.ts';
import type { OpenProgress } from '../../open-progress.ts';
import { rebuildTable } from '../../sql/derived-table.ts';
import { derivedTables } from '../../sql/derived-tables.ts';
import type { ClientSession } from '../session.ts';
import { enterRows, leaveRows, type RowConnection } from './connection.ts';

const DERIVATION = hash('sha256', JSON.stringify(derivedTables));

export interface LockedState {
  readonly version: number;
  /** The next place in the order of arrival. */
  nextSeq(): number;
  seqFrom(least: number): void;
  /** Notes a change. Returns the version that counts once the transaction commits. */
  advance(): Promise<number>;
}

/** Waits until no other transaction changes rows, and lets none do so until this one ends. @throws StoreBusy */
export async function lockState(connection: RowConnection): Promise<LockedState> {
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
  const { version } = found;
  let seq = found.next_seq;
  return {
    version,
    nextSeq: () => seq++,
    seqFrom: (least) => {
      seq = Math.max(seq, least);
    },
    async advance() {
      await connection.run('update state set version = $1, next_seq = $2', [version + 1, seq]);
      return version + 1;
    },
  };
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
