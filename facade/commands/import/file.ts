import { createReadStream, statSync } from 'node:fs';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { CsvError, parse } from 'csv-parse';
import { parseJson } from '../../../resources/json.ts';
import { OperatorError } from '../../../store/errors.ts';
import type { CsvRow } from './presets.ts';

/** One line of an import file: a row, or why it is not a row. `bytes` says how far the file was read. A line of Parquet is a row. */
export type ReadLine = { readonly line: number; readonly bytes: number } & (
  | { readonly row: CsvRow }
  | { readonly problem: string }
);

/** The rows of a file, one after the other. The memory used does not grow with the file. */
export function readRows(file: string): AsyncGenerator<ReadLine, void> {
  const format = extname(file).toLowerCase();
  if (format === '.csv') return csvRows(file);
  if (format === '.ndjson' || format === '.jsonl') return jsonRows(file);
  if (format === '.parquet') return linesOfParquet(file);
  throw new OperatorError(`${file} is neither .csv nor .ndjson nor .parquet.`);
}

async function* linesOfParquet(file: string): AsyncGenerator<ReadLine, void> {
  const { size } = statSync(file);
  for await (const { number, share, row } of parquetRows(file)) yield { line: number, bytes: share * size, row };
}

async function* jsonRows(file: string): AsyncGenerator<ReadLine, void> {
  const stream = createReadStream(file);
  let line = 0;
  for await (const text of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
    line += 1;
    if (text.trim() === '') continue;
    yield { line, bytes: stream.bytesRead, ...jsonRow(line === 1 ? text.replace(/^\uFEFF/, '') : text) };
  }
}

function jsonRow(text: string): { row: Record<string, unknown> } | { problem: string } {
  const row = parseJson(text);
  if (typeof row === 'object' && row !== null && !Array.isArray(row)) return { row: { ...row } };
  return { problem: row === undefined ? 'not valid JSON' : 'not a JSON object' };
}

async function* csvRows(file: string): AsyncGenerator<ReadLine, void> {
  const stream = createReadStream(file);
  const skipped: ReadLine[] = [];
  const parser = stream.pipe(
    parse({
      bom: true,
      columns: true,
      info: true,
      skip_empty_lines: true,
      skip_records_with_error: true,
      max_record_size: 1_000_000,
      on_skip: (error) => {
        skipped.push({
          line: Number(error?.lines ?? 0),
          bytes: stream.bytesRead,
          problem: error?.message ?? 'not valid CSV',
        });
        return undefined;
      },
    }),
  );
  stream.on('error', (error) => parser.destroy(error));
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRecord>) {
      yield* skipped.splice(0);
      yield { line: info.lines, bytes: stream.bytesRead, row: record };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    yield* skipped.splice(0);
    yield { line: Number(error.lines ?? 0), bytes: stream.bytesRead, problem: error.message };
  }
  yield* skipped;
}

/** A record as csv-parse returns it with `columns` and `info`. */
interface CsvRecord {
  readonly record: Readonly<Record<string, string>>;
  readonly info: { readonly lines: number };
}

/** A line that is overwritten on a terminal. Elsewhere nothing is shown. */
export class ProgressLine {
  readonly #total: number;
  readonly #out: NodeJS.WriteStream;
  readonly #unit: string;
  readonly #started = performance.now();
  #shownAt = 0;

  constructor(total: number, out: NodeJS.WriteStream, unit = 'rows') {
    this.#total = total;
    this.#out = out;
    this.#unit = unit;
  }

  show(bytes: number, rows: number): void {
    const now = performance.now();
    if (!this.#out.isTTY || now - this.#shownAt < 100) return;
    this.#shownAt = now;
    const share = this.#total === 0 ? 1 : Math.min(1, bytes / this.#total);
    const bar = '#'.repeat(Math.round(share * 30)).padEnd(30, '.');
    const rate = Math.round(rows / ((now - this.#started) / 1000));
    this.#out.write(`\r[${bar}] ${Math.round(share * 100)} %  ${rows} ${this.#unit}, ${rate} a second `);
  }

  end(): void {
    if (this.#out.isTTY && this.#shownAt > 0) this.#out.write('\r\u001b[2K');
    this.#shownAt = 0;
  }
}

/** A row of the file with its number, from 1 on, and how much of the file was read by then, from 0 to 1. */
interface ParquetRow {
  readonly number: number;
  readonly share: number;
  readonly row: CsvRow;
}

/** Read by DuckDB in this process, as the server may be elsewhere. Times become ISO 8601 in UTC, nested values JSON. */
async function* parquetRows(file: string): AsyncGenerator<ParquetRow, void> {
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
