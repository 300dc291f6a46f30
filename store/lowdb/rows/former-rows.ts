import { hash } from 'node:crypto';
import { importedRows, type RowType } from '../../../resources/imported-rows.ts';
import type { Connection } from '../../duckdb/connection.ts';
import {
  countsFrom,
  type ImportedRow,
  isStated,
  type PlainType,
  plainTypes,
  recordOf,
  rowOf,
  type StatedType,
  statedTables,
  type TableRow,
} from '../../rows/records.ts';
import { type Statement, Statements } from '../../rows/statements.ts';
import { quoted, type RawTable, rawTables } from '../../sql/raw-tables.ts';
import type { LoadedPart } from '../../sql/writing/load.ts';
import { datedRows } from '../../sql/writing/put.ts';
import type { RowLog } from './row-log.ts';

/** The type of a logged row that removed a user. */
const PURGE = 'purge';

interface KeptRow {
  readonly digest: bigint;
  readonly uid: unknown;
}

/** The rows that earlier versions kept in a log, on their way into tables. What must come out is worked out beside it, from the log alone. */
export class FormerRows {
  readonly #log: RowLog;
  readonly #plain = new Map<PlainType, Map<unknown, KeptRow>>(plainTypes.map((type) => [type, new Map()]));
  readonly #stated = new Map<StatedType, Map<unknown, Statements>>([
    ['subscriptions', new Map()],
    ['websites', new Map()],
  ]);
  /** The part of the log that was read, from 0 to 1. */
  progress = 0;

  constructor(log: RowLog) {
    this.#log = log;
  }

  /** The rows in the order in which they came, those of a type together where no user was removed in between. */
  async *parts(): AsyncGenerator<LoadedPart, void> {
    for await (const { rows, offset } of this.#log.read()) {
      const batches = new Map<RowType, { rows: ImportedRow[]; at: string[] }>();
      for (const { type, at, row } of rows) {
        if (type === PURGE) {
          yield* this.#taken(batches);
          this.#forget(String(row.uid));
          yield { erased: [String(row.uid)] };
          continue;
        }
        const known = type as RowType; // every other line was an imported row
        const batch = batches.get(known) ?? { rows: [], at: [] };
        batches.set(known, batch);
        batch.rows.push(row);
        batch.at.push(at);
      }
      yield* this.#taken(batches);
      this.progress = offset / this.#log.end;
    }
  }

  /** Compares the tables with the log, by count and sum of hashes of each type. Returns the types that differ. */
  async differing(connection: Connection): Promise<string[]> {
    const found: string[] = [];
    for (const [type, kept] of this.#plain) {
      const expected = new Sum();
      for (const { digest } of kept.values()) expected.add(digest);
      if (!expected.equals(await sumOf(connection, type, (record) => digestOf(rowOf(type, record))))) found.push(type);
    }
    for (const [type, kept] of this.#stated) {
      const expected = new Sum();
      for (const { list } of kept.values()) {
        for (const [place, { terms, ...said }] of list.entries())
          expected.add(statementDigest(type, { ...terms, ...said, place }));
      }
      const digest = (record: TableRow) => statementDigest(type, record);
      if (!expected.equals(await sumOf(connection, statedTables[type], digest))) found.push(type);
    }
    return found;
  }

  *#taken(batches: Map<RowType, { rows: ImportedRow[]; at: string[] }>): Generator<LoadedPart, void> {
    for (const [type, batch] of batches) {
      const part = { type, ...batch };
      if (isStated(type)) this.#state(type, datedRows(part));
      else for (const row of batch.rows) this.#keep(type, row);
      yield part;
    }
    batches.clear();
  }

  #keep(type: PlainType, row: ImportedRow): void {
    this.#plain.get(type)?.set(row[importedRows[type].key], { digest: digestOf(row), uid: row.uid });
  }

  #state(type: StatedType, rows: readonly { readonly row: ImportedRow; readonly importedMs: number }[]): void {
    const known = this.#stated.get(type) ?? new Map<unknown, Statements>();
    for (const { row, importedMs } of rows) {
      const statements = known.get(row.id) ?? new Statements();
      known.set(row.id, statements);
      const time = row.effectiveAt === undefined ? undefined : Date.parse(String(row.effectiveAt));
      const from: Statement['from_ms'] = time ?? countsFrom(type, row, importedMs, statements.list.length === 0);
      const terms = recordOf(type, row);
      statements.put({ terms, from_ms: from, explicit: time !== undefined, imported_ms: importedMs });
    }
  }

  #forget(uid: string): void {
    for (const kept of this.#plain.values()) for (const [key, row] of kept) if (row.uid === uid) kept.delete(key);
    for (const known of this.#stated.values()) {
      for (const [id, { owner }] of known) if (owner === uid) known.delete(id);
    }
  }
}

/** A count and a sum that are the same in any order. */
class Sum {
  #count = 0;
  #total = 0n;

  add(digest: bigint): void {
    this.#count += 1;
    this.#total = BigInt.asUintN(64, this.#total + digest);
  }

  equals(other: Sum): boolean {
    return this.#count === other.#count && this.#total === other.#total;
  }
}

/** They are larger than a number can be. */
const HASHES = ['person', 'visitor'];

async function sumOf(connection: Connection, table: RawTable, digest: (record: TableRow) => bigint): Promise<Sum> {
  const sum = new Sum();
  const columns = Object.keys(rawTables[table]).filter((column) => !HASHES.includes(column));
  const sql = `select ${columns.map(quoted).join(', ')} from ${table}`;
  await connection.each<TableRow>({ name: `rows of ${table}`, sql }, [], (rows) => {
    for (const row of rows) sum.add(digest(row));
  });
  return sum;
}

function digestOf(row: ImportedRow): bigint {
  return bits(JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))));
}

function statementDigest(type: StatedType, record: TableRow): bigint {
  const columns = ['place', 'from_ms', 'explicit', ...Object.keys(recordOf(type, {}))];
  return bits(JSON.stringify(columns.map((column) => record[column] ?? null)));
}

function bits(text: string): bigint {
  return BigInt(`0x${hash('sha256', text).slice(0, 16)}`);
}
