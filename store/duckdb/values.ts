import type { DuckDBDataChunk, DuckDBValue } from '@duckdb/node-api';

/** The rows of a chunk as objects, with numbers for the engine's integers. */
export function rowsOf<Row>(chunk: DuckDBDataChunk, names: readonly string[]): Row[] {
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
