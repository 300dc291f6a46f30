import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const ROWS = /^rows-(\d+)\.duckdb(\.tmp)?(\.wal)?$/;
const TEMPORARY = 'rows-temporary';

/** The file of imported rows with this number. A file that replaces another has the next number. */
export function rowsFile(folder: string, number: number): string {
  return join(folder, `rows-${number}.duckdb`);
}

/** The number of the file that counts. 0: there is none yet. */
export function currentRowsFile(folder: string): number {
  return Math.max(0, ...numbersIn(folder).flatMap(({ number, isDraft }) => (isDraft ? [] : number)));
}

/** Removes all files of imported rows except the current one, and spilled temporary data. */
export function removeOthers(folder: string, current: number): void {
  for (const { name, number, isDraft } of numbersIn(folder)) {
    if (isDraft || number !== current) rmSync(join(folder, name), { force: true });
  }
  rmSync(join(folder, TEMPORARY), { recursive: true, force: true });
}

/** The folder for what does not fit into memory. */
export function temporaryFolder(folder: string, number: number): string {
  const path = join(folder, TEMPORARY, String(number));
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** Whether the file belongs to the imported rows. */
export function isRowsFile(name: string): boolean {
  return ROWS.test(name);
}

function numbersIn(folder: string) {
  return readdirSync(folder).flatMap((name) => {
    const match = ROWS.exec(name);
    return match ? [{ name, number: Number(match[1]), isDraft: match[2] !== undefined }] : [];
  });
}
