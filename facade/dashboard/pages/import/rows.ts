/** Members of imported rows that are numbers, over all types. Cells of a CSV file are texts. */
export const NUMBER_MEMBERS: ReadonlySet<string> = new Set([
  'amount',
  'intervalCount',
  'quantity',
  'discountPercent',
  'discountAmount',
  'total',
  'tax',
]);

export type ImportedRow = Readonly<Record<string, unknown>>;

/** A row of a file with its line, or why the line is none. */
export type FileRow = { readonly line: number } & ({ readonly row: ImportedRow } | { readonly problem: string });

/** The rows of a CSV or NDJSON file. @throws Error that says why the file cannot be read */
export async function rowsOf(file: File): Promise<readonly FileRow[]> {
  const text = (await file.text()).replace(/^\uFEFF/, '');
  if (/\.(ndjson|jsonl)$/i.test(file.name)) return text.split(/\r?\n/).flatMap(jsonRow);
  if (/\.csv$/i.test(file.name)) return csvRows(text);
  throw new Error(`${file.name} is neither a .csv nor an .ndjson file.`);
}

function jsonRow(text: string, index: number): FileRow[] {
  if (text.trim() === '') return [];
  const line = index + 1;
  const row = parsed(text);
  if (typeof row === 'object' && row !== null && !Array.isArray(row)) return [{ line, row: { ...row } }];
  return [{ line, problem: 'The line is not a JSON object.' }];
}

/** The parser is loaded when the first file is read. */
async function csvRows(text: string): Promise<FileRow[]> {
  const { parse, CsvError } = await import('csv-parse/browser/esm/sync');
  const rows: FileRow[] = [];
  const refuse = (error: { readonly lines?: number; readonly message: string }) => {
    rows.push({ line: error.lines ?? 0, problem: error.message });
    return undefined;
  };
  try {
    parse(text, {
      columns: true,
      skip_empty_lines: true,
      skip_records_with_error: true,
      on_record: (row: ImportedRow, { lines }) => void rows.push({ line: lines, row }),
      on_skip: (error) => (error ? refuse(error) : undefined),
    });
  } catch (error) {
    // The file ends within a quote: what stands before it is whole.
    if (!(error instanceof CsvError)) throw error;
    refuse(error);
  }
  return rows;
}

/** The value of a member out of a cell, which is a text. */
export function typed(member: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (NUMBER_MEMBERS.has(member) && /^-?\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  return member === 'properties' ? (parsed(value) ?? value) : value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
