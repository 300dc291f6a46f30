import { StoreDamaged, StoreUnavailable } from '../../errors.ts';
import { plainTypes } from '../../rows/records.ts';
import type { NamedQuery, Parameter } from '../../rows-port.ts';
import type { SqlConnection } from '../../sql/connection.ts';
import { touchedKeys } from '../../sql/derived-table.ts';
import { createTable, rawTables } from '../../sql/raw-tables.ts';
import { isConflict } from '../failures.ts';
import type { ClientSession, Session } from '../session.ts';
import { rowsOf } from './values.ts';

/** A session of the database as the SQL of imported rows sees it, within a transaction that `begin` or `enter` prepared. */
export class RowConnection implements SqlConnection {
  readonly #session: ClientSession;

  constructor(session: ClientSession) {
    this.#session = session;
  }

  async run(sql: string, parameters: readonly Parameter[] = []): Promise<number> {
    const { rowCount } = await this.#session.answer({ text: sql, values: parameters });
    return rowCount ?? 0;
  }

  async query<Row>({ name, sql }: NamedQuery, parameters: readonly Parameter[] = []): Promise<readonly Row[]> {
    try {
      return rowsOf<Row>(await this.#session.answer({ text: sql, values: parameters }));
    } catch (cause) {
      throw failed(name, cause);
    }
  }

  /** The planner knows nothing of temporary tables, and takes long ways where it guesses. */
  async filled(table: string, rows: number): Promise<void> {
    if (rows >= FEW) await this.#session.query({ text: `analyze ${table}` });
  }
}

/** As many rows as the planner expects of a table that it does not know. */
const FEW = 200;

function failed(name: string, cause: unknown): Error {
  // Callers that retry the whole transaction recognise these errors by class and code.
  if (cause instanceof StoreUnavailable || (cause instanceof Error && isConflict(cause))) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `The query "${name}" failed: ${reason}`;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (!CORRUPT.test(code)) return new Error(message, { cause });
  return new StoreDamaged(`${message}. Restore a backup of the database.`, { cause });
}

/** The database found other bytes in a file than it wrote. */
const CORRUPT = /^XX00[12]$/;

/** The schema of imported rows. Temporary tables come first. */
const SCHEMA = 'imported';

/** What statements about imported rows need, until the end of the transaction. A question may use so much memory in each of its sorts and joins. */
const SETTINGS = `set local search_path = ${SCHEMA}; set local work_mem = '64MB'; set local enable_seqscan = on; set local client_min_messages = warning`;

/** Begins a transaction that sees one state of all rows. Returns the number of the backend. */
export async function beginReading(session: Session): Promise<number> {
  const text = `begin isolation level repeatable read read only; ${SETTINGS}; select pg_backend_pid() as pid`;
  const [begun] = await session.query<{ pid: number }>({ text });
  return begun?.pid ?? 0;
}

/** Begins a transaction that writes. */
export async function beginWriting(session: ClientSession): Promise<RowConnection> {
  await session.query({ text: 'begin isolation level read committed read write' });
  return enterRows(session);
}

/** Lets the transaction of the session write rows. */
export async function enterRows(session: ClientSession): Promise<RowConnection> {
  await session.query({ text: `${SETTINGS}; ${TEMPORARY_TABLES}` });
  return new RowConnection(session);
}

/** Lets the transaction of the session continue with other tables. */
export async function leaveRows(session: Session): Promise<void> {
  await session.query({
    text: 'set local search_path to default; set local work_mem to default; set local enable_seqscan to default',
  });
}

const TEMPORARY_TABLES = [
  ...plainTypes.flatMap((type) => ['batch', 'old'].map((kind) => [`${kind}_${type}`, rawTables[type]] as const)),
  ...Object.entries(touchedKeys).map(([name, columns]) => [`touched_${name}`, columns] as const),
]
  .map(([name, columns]) => `${createTable(name, columns, 'temporary table')} on commit delete rows`)
  .join('; ');
