/** A row as the file has it: texts of a CSV file, values of the others. */
export type CsvRow = Readonly<Record<string, unknown>>;

/** Undefined if the text is no JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function withoutEmpty(cells: CsvRow): CsvRow {
  return Object.fromEntries(
    Object.entries(cells).filter(([, cell]) => cell !== '' && cell !== undefined && cell !== null),
  );
}
