import { setImmediate } from 'node:timers/promises';
import type { DatabaseRecord } from '../../resources/database.ts';
import type { Position, Reader, Where } from '../../store/port.ts';
import { invalidMember, type ToolError } from '../core/errors.ts';
import { countFitting, foreignCursor, seal, unseal } from '../core/registry/paging.ts';
import type { RecordQuery, SortKey } from './record-query.ts';

/** One call reads at most this many records. A record counts once more for each 500 characters in which a text is searched. */
export const MOST_RECORDS = 100_000;
export const CHARACTERS = 500;
const BATCH = 500;
/** After this many milliseconds, other calls run. */
const SLICE_MS = 10;

interface ScanInput {
  readonly where: Where<DatabaseRecord>;
  readonly any: readonly Where<DatabaseRecord>[] | undefined;
  readonly query: RecordQuery;
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly includeTotal: boolean;
  /** The query that a cursor belongs to. */
  readonly bound: object;
}

/** The place of a record in the list. */
interface ScanPosition extends Position {
  readonly key: SortKey;
}

interface ScanHit {
  readonly record: DatabaseRecord;
  readonly place: ScanPosition;
}

/** A page of the matching records. Without an order, a page ends where too many were read, and the next continues there; else that is refused. */
export async function scanRecords(
  reader: Reader<DatabaseRecord>,
  asked: ScanInput,
  show: (record: DatabaseRecord) => DatabaseRecord,
  signal: AbortSignal | undefined,
): Promise<{ data: DatabaseRecord[]; nextCursor: string | null; total?: number }> {
  const { query, limit, bound } = asked;
  const after = openPlace(asked);
  const page = new PageOf(query, limit, after);
  const from = query.order ? undefined : after;
  let total = 0;
  const stoppedAt = await look(reader, { ...asked, from, signal }, (record) => {
    total += 1;
    return page.take(record);
  });
  if (query.order && stoppedAt) throw tooMany();
  if (asked.includeTotal && !query.order) {
    total = 0;
    const uncounted = await look(reader, { ...asked, from: undefined, signal }, () => {
      total += 1;
      return true;
    });
    if (uncounted) throw tooMany();
  }
  const { found, last } = page.end(stoppedAt);
  return {
    data: found.map(({ record }) => show(record)),
    nextCursor: last ? seal([last.key, last.createdAt, last.id], bound) : null,
    ...(asked.includeTotal && { total }),
  };
}

interface Look extends Pick<ScanInput, 'where' | 'any' | 'query'> {
  readonly from: Position | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Passes on matching records, newest first, until no more are taken. Returns the last record it read where it may read no more. */
async function look(
  reader: Reader<DatabaseRecord>,
  { where, any, query, from, signal }: Look,
  take: (record: DatabaseRecord) => boolean,
): Promise<DatabaseRecord | undefined> {
  let left = MOST_RECORDS;
  let sliceEnd = performance.now() + SLICE_MS;
  for (let after = from; ; ) {
    const { records, next } = await reader.find({ where, any, after, limit: BATCH });
    for (const record of records) {
      left -= 1 + query.reads(record.values) / CHARACTERS;
      if (query.matches(record.values) && !take(record)) return undefined;
      if ((left < 1 && (next || record !== records.at(-1))) || signal?.aborted) return record;
      if (performance.now() < sliceEnd) continue;
      await setImmediate();
      sliceEnd = performance.now() + SLICE_MS;
    }
    if (!next) return undefined;
    after = next;
  }
}

/** Collects the records of a page, and one more to know whether another page follows. */
class PageOf {
  readonly #query: RecordQuery;
  readonly #limit: number;
  readonly #after: ScanPosition | undefined;
  #found: ScanHit[] = [];

  constructor(query: RecordQuery, limit: number, after: ScanPosition | undefined) {
    this.#query = query;
    this.#limit = limit;
    this.#after = after;
  }

  /** Returns whether it needs more records. */
  take(record: DatabaseRecord): boolean {
    const { order } = this.#query;
    const found = { record, place: placeOf(record, this.#query) };
    if (!order) return this.#found.push(found) <= this.#limit;
    if (this.#after && this.#compare(found.place, this.#after) <= 0) return true;
    this.#found.push(found);
    if (this.#found.length > 4 * this.#limit + 100) this.#settle();
    return true;
  }

  /** The page, and where the next one starts: after its last record, or where reading stopped. */
  end(stoppedAt: DatabaseRecord | undefined): { found: readonly ScanHit[]; last: ScanPosition | undefined } {
    this.#settle();
    const most = countFitting(this.#found.map(({ record }) => record));
    const found = this.#found.slice(0, Math.min(this.#limit, most));
    if (found.length < this.#found.length) return { found, last: found.at(-1)?.place };
    return { found, last: stoppedAt && placeOf(stoppedAt, this.#query) };
  }

  #settle(): void {
    if (this.#query.order) this.#found.sort((a, b) => this.#compare(a.place, b.place));
    this.#found = this.#found.slice(0, this.#limit + 1);
  }

  #compare(a: ScanPosition, b: ScanPosition): number {
    const byKey = this.#query.order?.compare(a.key, b.key) ?? 0;
    if (byKey !== 0) return byKey;
    if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? 1 : -1;
    return a.id < b.id ? 1 : Number(a.id !== b.id) * -1;
  }
}

function placeOf({ createdAt, id, values }: DatabaseRecord, { order }: RecordQuery): ScanPosition {
  return { key: order ? order.keyOf(values) : null, createdAt, id };
}

function openPlace({ cursor, bound }: ScanInput): ScanPosition | undefined {
  if (cursor === undefined) return undefined;
  const [key, createdAt, id] = unseal(cursor, bound);
  if (
    typeof createdAt !== 'string' ||
    Number.isNaN(Date.parse(createdAt)) ||
    typeof id !== 'string' ||
    key === undefined
  )
    throw foreignCursor();
  return { key: key as SortKey, createdAt, id }; // this server made the cursor, for the same query
}

function tooMany(): ToolError {
  return invalidMember(
    'sort',
    `To sort or count them, a call looks at no more than ${MOST_RECORDS} records, fewer where it looks for texts in long ones; leave out sort and includeTotal and read page by page.`,
  );
}
