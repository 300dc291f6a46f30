/**
 * Where imported rows are kept, and where questions about them are answered. All engines behave the same: the suite in
 * test/store/conformance-rows.ts runs on each of them.
 */
export interface RowStore {
  /**
   * Grows with every committed change of rows or exchange rates. What was computed from the rows is valid while it stays. Valid after
   * `ready`.
   */
  readonly version: number;
  /** Opens the rows, if that was not done yet. The first question does it too. @throws StoreDamaged */
  ready(): Promise<void>;
  /** Amounts are converted by these rates from now on. Takes its time when the rates are others than before. */
  useRates(rates: readonly ExchangeRate[]): Promise<void>;
  /** Answers one query. */
  query<Row>(query: NamedQuery, parameters?: readonly Parameter[], options?: ReadOptions): Promise<readonly Row[]>;
  /** Several queries about the same state of the rows. Nothing may be asked of the store itself meanwhile. */
  read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, options?: ReadOptions): Promise<Result>;
}

export interface RowSnapshot {
  query<Row>(query: NamedQuery, parameters?: readonly Parameter[]): Promise<readonly Row[]>;
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
  /** The rates by which amounts must be converted. */
  readonly rates?: readonly ExchangeRate[] | undefined;
  /** Ends the query when aborted; the reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}
