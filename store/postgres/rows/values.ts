import type { QueryArrayResult } from 'pg';

/** Types of PostgreSQL, by the numbers in its catalog. */
const BOOLEAN = 16;
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 700, 701, 1700]);
const TEXTS: ReadonlySet<number> = new Set([18, 19, 25, 1042, 1043]);

type Plain = string | number | boolean | null;

/** The rows of a result as objects, with numbers for the engine's integers and decimals. Its values are texts or null. */
export function rowsOf<Row>({ fields, rows }: Pick<QueryArrayResult<(string | null)[]>, 'fields' | 'rows'>): Row[] {
  const readers = fields.map(({ name, dataTypeID }) => readerOf(name, dataTypeID));
  return rows.map((values) => {
    const row: Record<string, Plain> = {};
    for (const [at, { name }] of fields.entries()) {
      const text = values[at];
      row[name] = text === null || text === undefined ? null : (readers[at]?.(text) ?? null);
    }
    return row as Row; // the query says which columns it gives
  });
}

function readerOf(name: string, type: number): (text: string) => Plain {
  if (NUMBERS.has(type)) return (text) => numberIn(text, name);
  if (type === BOOLEAN) return (text) => text === 't';
  if (TEXTS.has(type)) return (text) => text;
  throw new Error(`The column ${name} holds a value of another kind; cast it in the query.`);
}

function numberIn(text: string, name: string): number {
  const number = Number(text);
  if (!Number.isFinite(number)) throw new Error(`The column ${name} holds ${text}.`);
  if (!Number.isSafeInteger(number) && WHOLE.test(text)) {
    throw new Error(`The column ${name} holds ${text}, which no number can.`);
  }
  return number;
}

const WHOLE = /^-?\d+$/;
