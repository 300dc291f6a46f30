import type { EventRow } from '../../../resources/imported-rows.ts';
import { type Digest, digestOf, KeyTable } from './key-table.ts';
import { Labels, lowerBound, SortedRows, Table } from './tables.ts';

/** Product events in memory: who, what, when, and where the whole row is in the log. */
export class EventTable {
  readonly table = new Table({ time: 'float', position: 'float', uid: 'int', name: 'int' });
  readonly names = new Labels();
  readonly uids: Labels;
  readonly #keys = new KeyTable();
  readonly #dead = new Set<number>();
  readonly #byTime: SortedRows;
  readonly #byUser: SortedRows;

  constructor(uids: Labels) {
    this.uids = uids;
    const { table } = this;
    const { columns } = table;
    this.#byTime = new SortedRows((a, b) => (columns.time[a] ?? 0) - (columns.time[b] ?? 0) || a - b);
    this.#byUser = new SortedRows(
      (a, b) =>
        (columns.uid[a] ?? 0) - (columns.uid[b] ?? 0) || (columns.time[a] ?? 0) - (columns.time[b] ?? 0) || a - b,
    );
  }

  knows(row: EventRow): 'new' | 'changed' | 'same' {
    return knownIn(this.#keys, row.id, row).known;
  }

  /** Returns the position of the row that no longer matters. */
  put(row: EventRow, position: number): number | undefined {
    const { known, key, content, before } = knownIn(this.#keys, row.id, row);
    if (known === 'same') return position;
    if (before !== undefined) this.#dead.add(before);
    const number = this.table.push({
      time: Date.parse(row.at),
      position,
      uid: this.uids.add(row.uid),
      name: this.names.add(row.name),
    });
    this.#keys.set(key, number, content);
    return before === undefined ? undefined : this.table.at('position', before);
  }

  /** Takes away what the user did; returns where it is in the log. */
  remove(uid: string): number[] {
    const rows = new Set(this.ofUser(uid));
    for (const row of rows) this.#dead.add(row);
    this.#keys.forget(rows);
    return Array.from(rows, (row) => this.table.at('position', row));
  }

  /** Rows by time; a place in it is found with `from`. */
  byTime(): Uint32Array {
    return this.#byTime.get(this.table.size, this.#dead);
  }

  /** The rows with times in [from, to), in order of time. */
  within(from: number, to: number): Uint32Array {
    const rows = this.byTime();
    const time = (row: number) => this.table.at('time', row);
    return rows.subarray(lowerBound(rows, from, time), lowerBound(rows, to, time));
  }

  /** The rows of one user, oldest first. */
  ofUser(uid: string): Uint32Array {
    const number = this.uids.get(uid);
    if (number === undefined) return new Uint32Array(0);
    const rows = this.#byUser.get(this.table.size, this.#dead);
    const user = (row: number) => this.table.at('uid', row);
    return rows.subarray(lowerBound(rows, number, user), lowerBound(rows, number + 1, user));
  }

  /** Whether the user has an event in [from, to]. */
  hasEvent(uid: number, from: number, to: number): boolean {
    const rows = this.ofUser(this.uids.text(uid));
    const at = lowerBound(rows, from, (row) => this.table.at('time', row));
    const row = rows[at];
    return row !== undefined && this.table.at('time', row) <= to;
  }
}

export function knownIn(keys: KeyTable, id: string, row: object) {
  const [key, content]: [Digest, Digest] = [digestOf(id), digestOf(JSON.stringify(row))];
  const before = keys.find(key);
  const known = before === undefined ? 'new' : keys.holds(key, content) ? 'same' : 'changed';
  return { known, key, content, before } as const;
}
