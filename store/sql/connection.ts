import type { NamedQuery, Parameter } from '../rows-port.ts';

/** A connection to an engine of imported rows. Its statements run one after the other. */
export interface SqlConnection {
  /** Runs a statement. Returns how many rows it changed. */
  run(sql: string, parameters?: readonly Parameter[]): Promise<number>;
  query<Row>(query: NamedQuery, parameters?: readonly Parameter[]): Promise<readonly Row[]>;
  /** Called when a temporary table was filled that later statements read, where the engine wants to know how much it holds. */
  filled?(table: string, rows: number): Promise<void>;
}
