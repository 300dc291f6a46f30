import type { RowType } from '../resources/imported-rows.ts';
import type { ImportedRow, TableRow } from './rows/records.ts';
import type { RawTable } from './sql/raw-tables.ts';

/** Imported rows and questions about them. The suite in test/store/conformance-rows.ts runs on each engine. */
export interface RowStore {
  /** Grows with every change of rows or exchange rates; what was computed is valid while it stays. Valid after `ready`. */
  readonly version: number;
  /** Opens the rows if there are any, so that the first question does not wait for it. @throws StoreDamaged */
  wake(): Promise<void>;
  /** Opens the rows, if that was not done yet. The first question does it too. @throws StoreDamaged */
  ready(): Promise<void>;
  useRates(rates: readonly ExchangeRate[]): Promise<void>;
  /**
   * Writes rows by their natural key, all or none: they replace those with their key; statements about a time are added. Other writes wait
   * until they are committed or discarded. @throws StoreUnavailable
   */
  stage(batch: RowBatch): Promise<StagedRows>;
  /**
   * Writes rows as a table of another store holds them, in place of those under their keys. Derived tables are wrong until `rebuild`.
   * @throws StoreUnavailable
   */
  restore(rows: RawRows): Promise<StagedRows>;
  /** Answers one quick query. It waits only for other quick queries. */
  query<Row>(query: NamedQuery, parameters?: readonly Parameter[], options?: ReadOptions): Promise<readonly Row[]>;
  /** Makes the derived tables anew, or those that are named, and says whether they were right before. */
  rebuild(tables?: readonly string[]): Promise<readonly Rebuilt[]>;
  check(): Promise<void>;
  /** Several queries on one state of the rows. Nothing may be asked of the store itself during this. */
  read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, options?: ReadOptions): Promise<Result>;
}

export interface RowSnapshot {
  query<Row>(query: NamedQuery, parameters?: readonly Parameter[]): Promise<readonly Row[]>;
}

/** The connection as questions use it: after the signal has aborted, it runs no further query. */
export function snapshotOf(connection: SqlConnection, signal: AbortSignal | undefined): RowSnapshot {
  return {
    query(query, parameters) {
      signal?.throwIfAborted();
      return connection.query(query, parameters);
    },
  };
}

/** A query in the SQL that all engines understand, with the parameters $1, $2 and so on. All of them must be used. */
export interface NamedQuery {
  readonly name: string;
  readonly sql: string;
}

/** A list is one text, see `listOf`. */
export type Parameter = string | number | boolean | null;

/** What one minor unit of the currency is worth in minor units of the workspace currency, in [fromMs, toMs). */
export interface ExchangeRate {
  readonly currency: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly factor: number;
}

export interface ReadOptions {
  readonly rates?: readonly ExchangeRate[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Imported rows of one type. They were checked by the schema of the type; times are in UTC. */
export interface RowBatch {
  readonly type: RowType;
  readonly rows: readonly ImportedRow[];
  /** When they were imported, ISO 8601: all of them, or each. */
  readonly at: string | readonly string[];
}

/** Rows without the columns that follow from others; of statements, all rows of a record or none. */
export interface RawRows {
  readonly table: RawTable;
  readonly rows: readonly TableRow[];
}

/** Rows that are written but do not count yet. See `Transaction.rows.commit`. */
export interface StagedRows {
  readonly created: number;
  /** Rows that changed what was known under their key. */
  readonly updated: number;
  readonly unchanged: number;
  /** Forgets the rows. Does nothing once they count. Until then, or until they are committed, other writes wait. */
  discard(): Promise<void>;
}

export interface Rebuilt {
  readonly table: string;
  readonly rows: number;
  readonly equal: boolean;
}

export interface SqlConnection {
  run(sql: string, parameters?: readonly Parameter[]): Promise<number>;
  query<Row>(query: NamedQuery, parameters?: readonly Parameter[]): Promise<readonly Row[]>;
  /** Called when a temporary table was filled that later statements read, where the engine wants to know how much it holds. */
  filled?(table: string, rows: number): Promise<void>;
}
