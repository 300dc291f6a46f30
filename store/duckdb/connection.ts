import { setImmediate } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBDataChunk, DuckDBValue } from '@duckdb/node-api';
import { StoreDamaged } from '../errors.ts';
import type { NamedQuery, Parameter, SqlConnection } from '../rows-port.ts';

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

  interrupt(): void {
    this.#raw.interrupt();
  }

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

const LARGE = 1000;

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

/** The rows of a chunk as objects, with numbers for the engine's integers. */
function rowsOf<Row>(chunk: DuckDBDataChunk, names: readonly string[]): Row[] {
  const columns = names.map((name, at) => plainColumn(chunk.getColumnValues(at), name));
  const rows: Row[] = [];
  for (let at = 0; at < chunk.rowCount; at += 1) {
    const row: Record<string, Plain> = {};
    for (const [index, name] of names.entries()) row[name] = columns[index]?.[at] ?? null;
    rows.push(row as Row); // the query says which columns it gives
  }
  return rows;
}

type Plain = string | number | boolean | null;

function plainColumn(values: readonly DuckDBValue[], name: string): Plain[] {
  return values.map((value) => plain(value, name));
}

function plain(value: DuckDBValue, name: string): Plain {
  if (typeof value === 'bigint') {
    const number = Number(value);
    if (!Number.isSafeInteger(number)) throw new Error(`The column ${name} holds ${value}, which no number can.`);
    return number;
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Error(`The column ${name} holds ${value}.`);
    return value;
  }
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  throw new Error(`The column ${name} holds a value of another kind; cast it in the query.`);
}
