import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { CsvError, parse } from 'csv-parse';
import { z } from 'zod';
import { importedRows, type RowType } from '../../resources/imported-rows.ts';
import { OperatorError } from '../../store/errors.ts';
import { unwrap } from '../../tools/registry/validate.ts';

/** One line of an import file: a row, or why it is no row. `bytes` says how far the file was read. */
export type ReadLine = { readonly line: number; readonly bytes: number } & (
  | { readonly row: Readonly<Record<string, unknown>> }
  | { readonly problem: string }
);

/** The rows of a file, one after the other. The memory used does not grow with the file. */
export function readRows(file: string, type: RowType): AsyncGenerator<ReadLine, void> {
  const format = extname(file).toLowerCase();
  if (format === '.csv') return csvRows(file, type);
  if (format === '.ndjson' || format === '.jsonl') return jsonRows(file);
  throw new OperatorError(`${file} is neither .csv nor .ndjson.`);
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

async function* csvRows(file: string, type: RowType): AsyncGenerator<ReadLine, void> {
  const stream = createReadStream(file);
  const skipped: ReadLine[] = [];
  const numbers = numbersOf(type);
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
      yield { line: info.lines, bytes: stream.bytesRead, row: typedCells(record, numbers) };
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
  /** The line at which the record ended. */
  readonly info: { readonly lines: number };
}

function numbersOf(type: RowType): ReadonlySet<string> {
  const members = Object.entries(importedRows[type].schema.shape);
  return new Set(members.filter(([, schema]) => unwrap(schema) instanceof z.ZodNumber).map(([name]) => name));
}

/** Cells are text. Numbers and the properties of events are parsed; empty cells are left out. */
function typedCells(record: Readonly<Record<string, string>>, numbers: ReadonlySet<string>): Record<string, unknown> {
  const cells = Object.entries(record).filter(([, text]) => text !== '');
  return Object.fromEntries(
    cells.map(([name, text]) => {
      if (numbers.has(name) && /^-?\d+(\.\d+)?$/.test(text.trim())) return [name, Number(text)];
      return [name, name === 'properties' ? (tryJson(text) ?? text) : text];
    }),
  );
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
