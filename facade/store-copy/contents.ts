import type { SealedEntry } from '../../store/audit-proof/seal.ts';
import { type CollectionName, collections } from '../../store/collections.ts';
import { FILE_RECORDS } from '../../store/files-port.ts';
import type { AuditLog, Page, Position, Query, Store } from '../../store/port.ts';
import type { TableRow } from '../../store/rows/records.ts';
import { keyOf, orderOf, selectPage } from '../../store/rows/table-rows.ts';
import { type RawTable, rawTables } from '../../store/sql/raw-tables.ts';

export type AnyRecord = Readonly<Record<string, unknown>> & { readonly id: string; readonly createdAt: string };

/** A piece of what a store holds, small enough for one line and one transaction. */
export type Part =
  | { readonly records: CollectionName; readonly of: readonly AnyRecord[] }
  | { readonly audit: readonly SealedEntry[] }
  | { readonly rows: RawTable; readonly of: readonly TableRow[] }
  /** The bytes of the file in base64. */
  | { readonly file: string; readonly bytes: string };

/** The collections that are moved: all but the notes of the move itself. */
export const movedCollections = (Object.keys(collections) as CollectionName[]).filter((name) => name !== 'moves');
export const movedTables = Object.keys(rawTables) as RawTable[]; // its own members

const MOST_BYTES = 1024 * 1024;
const MOST = { records: 500, entries: 2000, rows: 5000 };
/** So many parts of rows are read at once, because each reading looks at the whole table. */
const PARTS_OF_ROWS = 4;

/** All that the store holds, through its port: the records oldest first, the audit log, the imported rows. */
export async function* contentsOf(store: Store, most: typeof MOST = MOST): AsyncGenerator<Part> {
  for (const name of movedCollections) yield* recordsIn(store, name, most.records);
  yield* filesIn(store);
  yield* entriesIn(store.audit, most.entries);
  for (const table of movedTables) yield* rowsIn(store, table, most.rows);
}

/** What the exporter needs of the reader of any collection. */
interface AnyReader {
  find(query: Query<AnyRecord>): Promise<Page<AnyRecord>>;
}

async function* recordsIn(store: Store, name: CollectionName, most: number): AsyncGenerator<Part> {
  const reader = store[name] as AnyReader; // records of every kind have an id and a time
  let after: Position | undefined;
  let limit = most;
  do {
    const { records, next } = await reader.find({ order: 'oldest', limit, after });
    let bytes = 0;
    for (const part of inParts(records)) {
      bytes += part.bytes;
      yield { records: name, of: part.records };
    }
    // Few large records are read at a time, and many small ones.
    if (bytes > 0) limit = Math.max(1, Math.min(most, Math.floor((4 * MOST_BYTES * records.length) / bytes)));
    after = next ?? undefined;
  } while (after);
}

/** Reads each file that a record names. A file that was removed meanwhile is left out. */
async function* filesIn(store: Store): AsyncGenerator<Part> {
  for await (const part of recordsIn(store, FILE_RECORDS, MOST.records)) {
    for (const { id } of 'records' in part ? part.of : []) {
      const pieces: Uint8Array[] = [];
      for await (const piece of store.files.read(id)) pieces.push(piece);
      if (pieces.length > 0) yield { file: id, bytes: Buffer.concat(pieces).toString('base64') };
    }
  }
}

function* inParts<Entry extends object>(records: readonly Entry[]) {
  let part: Entry[] = [];
  let bytes = 0;
  for (const record of records) {
    part.push(record);
    bytes += JSON.stringify(record).length;
    if (bytes < MOST_BYTES) continue;
    yield { records: part, bytes };
    part = [];
    bytes = 0;
  }
  if (part.length > 0) yield { records: part, bytes };
}

/** The log from the oldest entry on. It can only be read from the newest on, so ranges of time with few entries are read one by one. */
async function* entriesIn(audit: AuditLog, most: number): AsyncGenerator<Part> {
  await audit.flush();
  const { records } = await audit.find({ limit: 1 });
  if (records[0]) yield* entriesBetween({ audit, most }, 0, Date.parse(records[0].at) + 1);
}

interface EntrySource {
  readonly audit: AuditLog;
  readonly most: number;
}

async function* entriesBetween(source: EntrySource, fromMs: number, toMs: number): AsyncGenerator<Part> {
  const { audit, most } = source;
  const range = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
  const count = await audit.count(range);
  if (count === 0) return;
  if (count > most && toMs - fromMs > 1) {
    const middle = Math.floor((fromMs + toMs) / 2);
    yield* entriesBetween(source, fromMs, middle);
    yield* entriesBetween(source, middle, toMs);
    return;
  }
  const { records } = await audit.find({ ...range, limit: count, sealed: true });
  for (const part of inParts(records.toReversed())) yield { audit: part.records };
}

async function* rowsIn({ rows }: Store, table: RawTable, most: number): AsyncGenerator<Part> {
  const limit = most * PARTS_OF_ROWS;
  let last: TableRow | undefined;
  for (;;) {
    const query = { name: `all of ${table}`, sql: selectPage(table, last === undefined) };
    const place = last ? orderOf(table).map((column) => last?.[column] ?? null) : [];
    const found = await rows.query<TableRow>(query, [...place, limit]);
    const whole = found.length < limit ? found : withoutBegun(table, found);
    for (const part of parted(table, whole, most)) yield { rows: table, of: part };
    if (found.length < limit) return;
    last = whole.at(-1);
  }
}

/** Cuts the rows into parts, the statements about one record into the same. */
function* parted(table: RawTable, rows: readonly TableRow[], most: number): Generator<readonly TableRow[]> {
  for (let left = rows; left.length > 0; ) {
    const part = left.length > most ? withoutBegun(table, left.slice(0, most)) : left;
    yield part;
    left = left.slice(part.length);
  }
}

/** The rows without those about the last record: further rows about it may follow. */
function withoutBegun(table: RawTable, rows: readonly TableRow[]): readonly TableRow[] {
  const key = keyOf(table);
  const begun = rows.findIndex((row) => row[key] === rows.at(-1)?.[key]);
  return begun > 0 && 'place' in rawTables[table] ? rows.slice(0, begun) : rows;
}
