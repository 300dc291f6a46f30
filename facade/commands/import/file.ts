import { createReadStream, statSync } from 'node:fs';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { CsvError, parse } from 'csv-parse';
import { OperatorError } from '../../../store/errors.ts';
import { type CsvRow, tryJson } from '../../import/presets.ts';
import { parquetRows } from './parquet.ts';

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
  const row = tryJson(text);
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
  readonly #started = performance.now();
  #shownAt = 0;

  constructor(total: number, out: NodeJS.WriteStream) {
    this.#total = total;
    this.#out = out;
  }

  show(bytes: number, rows: number): void {
    const now = performance.now();
    if (!this.#out.isTTY || now - this.#shownAt < 100) return;
    this.#shownAt = now;
    const share = this.#total === 0 ? 1 : Math.min(1, bytes / this.#total);
    const bar = '#'.repeat(Math.round(share * 30)).padEnd(30, '.');
    const rate = Math.round(rows / ((now - this.#started) / 1000));
    this.#out.write(`\r[${bar}] ${Math.round(share * 100)} %  ${rows} rows, ${rate} a second `);
  }

  end(): void {
    if (this.#out.isTTY && this.#shownAt > 0) this.#out.write('\r\u001b[2K');
    this.#shownAt = 0;
  }
}
