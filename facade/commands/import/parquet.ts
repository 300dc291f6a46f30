import { OperatorError } from '../../../store/errors.ts';
import type { CsvRow } from '../../import/presets.ts';

/** A row of the file with its number, from 1 on, and how much of the file was read by then, from 0 to 1. */
interface ParquetRow {
  readonly number: number;
  readonly share: number;
  readonly row: CsvRow;
}

/** Read by DuckDB in this process, as the server may be elsewhere. Times become ISO 8601 in UTC, nested values JSON. */
export async function* parquetRows(file: string): AsyncGenerator<ParquetRow, void> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const engine = await DuckDBInstance.create(':memory:', { threads: '1', memory_limit: '256MB' });
  const connection = await engine.connect();
  try {
    const source = `read_parquet('${file.replaceAll("'", "''")}')`;
    const described = await connection.runAndReadAll(`describe select * from ${source}`);
    const columns = described
      .getRowObjects()
      .map(({ column_name, column_type }) => shown(String(column_name), String(column_type)));
    const [{ rows = 0 } = {}] = (
      await connection.runAndReadAll(`select count(*)::double as rows from ${source}`)
    ).getRowObjects();
    const result = await connection.stream(`select ${columns.join(', ')} from ${source}`);
    const names = result.deduplicatedColumnNames();
    let number = 0;
    for (;;) {
      const chunk = await result.fetchChunk();
      if (!chunk || chunk.rowCount === 0) return;
      for (const values of chunk.getRows()) {
        number += 1;
        const row = Object.fromEntries(names.map((name, at) => [name, values[at]]));
        yield { number, share: number / Number(rows), row };
      }
    }
  } catch (cause) {
    const problem = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause);
    throw new OperatorError(`${file} cannot be read as Parquet: ${problem}`, { cause });
  } finally {
    connection.closeSync();
    engine.closeSync();
  }
}

function shown(name: string, type: string): string {
  const column = `"${name.replaceAll('"', '""')}"`;
  if (/^(TIMESTAMP|DATETIME)/.test(type))
    return `strftime(make_timestamp(epoch_us(${column})), '%Y-%m-%dT%H:%M:%S.%gZ') as ${column}`;
  if (type === 'DATE') return `strftime(${column}, '%Y-%m-%d') as ${column}`;
  if (/^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL|DOUBLE|FLOAT)\b/.test(type))
    return `${column}::double as ${column}`;
  if (type === 'BOOLEAN' || type === 'VARCHAR') return column;
  return `to_json(${column})::varchar as ${column}`;
}
