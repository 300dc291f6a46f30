import type { Cursor, Position, Sort } from './port.ts';
import { unaccented } from './search-text.ts';

/** Longer texts sort as what they begin with: entries of ordered indexes have 2,700 bytes at most. */
const LONGEST = 100;
/** Records without the member come last. */
const ABSENT = '\u{10ffff}';

/** What records are sorted by: the text without case and accents. The function `agent_admin_sort_key` of the database makes the same. */
export function sortKey(value: unknown): string {
  if (typeof value !== 'string') return ABSENT;
  const plain = unaccented(value);
  return plain.length > LONGEST ? [...plain.slice(0, 2 * LONGEST)].slice(0, LONGEST).join('') : plain;
}

/** Where a list continues after the record. */
export function cursorOf(record: Position, sort: Sort<string> | undefined): Cursor {
  const { createdAt, id } = record;
  return { createdAt, id, ...(sort && { sortKey: sortKey(Reflect.get(record, sort.by)) }) };
}
