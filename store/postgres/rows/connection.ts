import type { QueryArrayResult } from 'pg';
import { StoreDamaged, StoreUnavailable } from '../../errors.ts';
import { ResourcePool } from '../../resource-pool.ts';
import { plainTypes } from '../../rows/records.ts';
import {
  type NamedQuery,
  type Parameter,
  type ReadOptions,
  type RowSnapshot,
  type SqlConnection,
  snapshotOf,
} from '../../rows-port.ts';
import { touchedKeys } from '../../sql/derived-table.ts';
import { createTable, rawTables } from '../../sql/raw-tables.ts';
import type { Database } from '../database.ts';
import { isConflict, withRetries } from '../failures.ts';
import type { ClientSession, Session } from '../session.ts';

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

const SCHEMA = 'imported';

/** What statements about imported rows need, until the end of the transaction. A question may use so much memory in each of its sorts and joins. */
const SETTINGS = `set local search_path = ${SCHEMA}; set local work_mem = '64MB'; set local enable_seqscan = on; set local client_min_messages = warning`;

export async function beginReading(session: Session): Promise<number> {
  const text = `begin isolation level repeatable read read only; ${SETTINGS}; select pg_backend_pid() as pid`;
  const [begun] = await session.query<{ pid: number }>({ text });
  return begun?.pid ?? 0;
}

export async function beginWriting(session: ClientSession): Promise<RowConnection> {
  await session.query({ text: 'begin isolation level read committed read write' });
  return enterRows(session);
}

export async function enterRows(session: ClientSession): Promise<RowConnection> {
  await session.query({ text: `${SETTINGS}; ${TEMPORARY_TABLES}` });
  return new RowConnection(session);
}

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

/** Types of PostgreSQL, by the numbers in its catalog. */
const BOOLEAN = 16;
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 700, 701, 1700]);
const TEXTS: ReadonlySet<number> = new Set([18, 19, 25, 1042, 1043]);

type Plain = string | number | boolean | null;

/** The rows of a result as objects, with numbers for the engine's integers and decimals. Its values are texts or null. */
function rowsOf<Row>({ fields, rows }: Pick<QueryArrayResult<(string | null)[]>, 'fields' | 'rows'>): Row[] {
  const readers = fields.map(({ name, dataTypeID }) => readerOf(name, dataTypeID));
  return rows.map((values) => {
    const row: Record<string, Plain> = {};
    for (const [at, { name }] of fields.entries()) {
      const text = values[at];
      row[name] = text === null || text === undefined ? null : (readers[at]?.(text) ?? null);
    }
    return row as Row; // the query says which columns it gives
  });
}

function readerOf(name: string, type: number): (text: string) => Plain {
  if (NUMBERS.has(type)) return (text) => numberIn(text, name);
  if (type === BOOLEAN) return (text) => text === 't';
  if (TEXTS.has(type)) return (text) => text;
  throw new Error(`The column ${name} holds a value of another kind; cast it in the query.`);
}

function numberIn(text: string, name: string): number {
  const number = Number(text);
  if (!Number.isFinite(number)) throw new Error(`The column ${name} holds ${text}.`);
  if (!Number.isSafeInteger(number) && WHOLE.test(text)) {
    throw new Error(`The column ${name} holds ${text}, which no number can.`);
  }
  return number;
}

const WHOLE = /^-?\d+$/;

/** Answers so many questions at a time, each on one state of the rows. Others wait in the order in which they came. */
export class Questions {
  readonly #database: Database;
  readonly #places: ResourcePool<number>;

  constructor(database: Database, atOnce: number) {
    this.#database = database;
    this.#places = new ResourcePool(Array.from({ length: atOnce }, (_, place) => place));
  }

  async read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, { signal }: ReadOptions = {}): Promise<Result> {
    const answer = () => withRetries(() => this.#database.use((session) => this.#answer(session, work, signal)));
    return this.#places.use(answer, signal);
  }

  async idle(): Promise<void> {
    await this.#places.allBack();
  }

  async #answer<Result>(
    session: ClientSession,
    work: (snapshot: RowSnapshot) => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const backend = await beginReading(session);
    let canceled: Promise<unknown> | undefined;
    const cancel = () => {
      canceled = this.#cancel(backend);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await work(snapshotOf(new RowConnection(session), signal));
    } finally {
      signal?.removeEventListener('abort', cancel);
      // Otherwise it would cancel a statement of the connection's next user.
      await canceled;
      await endReading(session);
    }
  }

  async #cancel(backend: number): Promise<void> {
    const statement = { text: 'select pg_cancel_backend($1)', values: [backend] };
    await this.#database.query(statement).catch(() => {});
  }
}

/** The second time: a cancellation that came late ends the first one. */
async function endReading(session: ClientSession): Promise<void> {
  const end = () => session.query({ text: 'rollback' });
  await end()
    .catch(end)
    .catch(() => {});
}
