/** A row as the file has it: texts of a CSV file, values of the others. */
export type Cells = Readonly<Record<string, unknown>>;

/** Undefined where the text is no JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
