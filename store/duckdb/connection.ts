import { setImmediate } from 'node:timers/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { StoreDamaged } from '../errors.ts';
import type { NamedQuery, Parameter } from '../rows-port.ts';
import type { SqlConnection } from '../sql/connection.ts';
import { rowsOf } from './values.ts';

/** One connection. Its statements run one after the other. */
export class Connection implements SqlConnection {
  readonly #raw: DuckDBConnection;

  constructor(raw: DuckDBConnection) {
    this.#raw = raw;
  }

  /** Runs a statement. Returns how many rows it changed. */
  async run(sql: string, parameters: readonly Parameter[] = []): Promise<number> {
    const result = await this.#execute(sql, parameters).catch((cause) => {
      throw damageIn('a change of the rows', cause) ?? cause;
    });
    return result.rowsChanged;
  }

  /** Runs what the engine takes for several statements. */
  async runOnce(sql: string): Promise<void> {
    await this.#raw.run(sql);
  }

  async query<Row>(query: NamedQuery, parameters: readonly Parameter[] = []): Promise<readonly Row[]> {
    const all: Row[] = [];
    await this.each<Row>(query, parameters, (rows) => {
      for (const row of rows) all.push(row);
    });
    return all;
  }

  /** The rows are converted in parts, so that other work runs in between. */
  async each<Row>(
    { name, sql }: NamedQuery,
    parameters: readonly Parameter[],
    take: (rows: readonly Row[]) => void,
  ): Promise<void> {
    try {
      const result = await this.#execute(sql, parameters);
      const names = result.columnNames();
      for (;;) {
        const chunk = await result.fetchChunk();
        if (!chunk || chunk.rowCount === 0) return;
        take(rowsOf<Row>(chunk, names));
        if (chunk.rowCount >= LARGE) await setImmediate();
      }
    } catch (cause) {
      if (isInterrupt(cause)) throw cause;
      throw failed(name, cause);
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

/** Rows of a chunk after whose conversion other work runs. */
const LARGE = 1000;

/** Whole numbers are integers to the engine. */
function bound(value: Parameter) {
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value;
}

function isInterrupt(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('INTERRUPT');
}

/** The engine found other bytes in a file than it wrote. */
const CORRUPT = /corrupt|checksum|not a valid DuckDB/i;

function failed(name: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return damageIn(`the query "${name}"`, cause) ?? new Error(`The query "${name}" failed: ${reason}`, { cause });
}

function damageIn(what: string, cause: unknown): StoreDamaged | undefined {
  const reason = cause instanceof Error ? cause.message : String(cause);
  if (!CORRUPT.test(reason)) return undefined;
  const message = `The imported rows are damaged, as ${what} found: ${reason}`;
  return new StoreDamaged(`${message}. Stop the server and restore a backup made with \`npm run backup\`.`, { cause });
}
