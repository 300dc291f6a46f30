import { setImmediate } from 'node:timers/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { NamedQuery, Parameter } from '../rows-port.ts';
import { rowsOf } from './values.ts';

/** One connection. Its statements run one after the other. */
export class Connection {
  readonly #raw: DuckDBConnection;

  constructor(raw: DuckDBConnection) {
    this.#raw = raw;
  }

  /** Runs a statement. Returns how many rows it changed. */
  async run(sql: string, parameters: readonly Parameter[] = []): Promise<number> {
    const result = await this.#execute(sql, parameters);
    return result.rowsChanged;
  }

  /** Runs what the engine takes for several statements. */
  async runOnce(sql: string): Promise<void> {
    await this.#raw.run(sql);
  }

  /** The rows are converted in parts, so that other work runs in between. */
  async query<Row>({ name, sql }: NamedQuery, parameters: readonly Parameter[] = []): Promise<readonly Row[]> {
    try {
      const result = await this.#execute(sql, parameters);
      const names = result.columnNames();
      const rows: Row[] = [];
      for (let chunks = 1; ; chunks += 1) {
        const chunk = await result.fetchChunk();
        if (!chunk || chunk.rowCount === 0) return rows;
        for (const row of rowsOf<Row>(chunk, names)) rows.push(row);
        if (chunks % CHUNKS_AT_ONCE === 0) await setImmediate();
      }
    } catch (cause) {
      if (isInterrupt(cause)) throw cause;
      throw new Error(`The query "${name}" failed: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
  }

  /** Ends the statement that runs. The connection can be used further. */
  interrupt(): void {
    this.#raw.interrupt();
  }

  /** Runs the work in a transaction. */
  async transaction<Result>(work: () => Promise<Result>, kind: 'read only' | '' = ''): Promise<Result> {
    await this.run(`begin transaction ${kind}`);
    try {
      const result = await work();
      await this.run('commit');
      return result;
    } catch (error) {
      // An engine that failed may have ended the transaction by itself.
      await this.run('rollback').catch(() => {});
      throw error;
    }
  }

  close(): void {
    this.#raw.closeSync();
  }

  /** Each time anew: a statement of this engine that runs again can write texts of its earlier run. */
  #execute(sql: string, parameters: readonly Parameter[]) {
    return this.#raw.run(sql, parameters.map(bound));
  }
}

/** A chunk has about 2,000 rows. */
const CHUNKS_AT_ONCE = 2;

/** Whole numbers are integers to the engine. */
function bound(value: Parameter) {
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value;
}

function isInterrupt(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('INTERRUPT');
}
