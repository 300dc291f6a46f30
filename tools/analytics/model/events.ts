import type { EventRow } from '../../../resources/imported-rows.ts';
import { EventSet } from './event-set.ts';
import { Feed } from './feed.ts';
import { digestOf, KeyTable } from './key-table.ts';
import { Labels, Table } from './tables.ts';

/** Product events in memory: who, what, when, and the position of the whole row in the log. */
export class EventTable {
  readonly table = new Table({ time: 'float', position: 'float', uid: 'int', name: 'int' });
  readonly names = new Labels();
  readonly uids: Labels;
  readonly feed = new Feed(this.table);
  readonly all = new EventSet(this);
  readonly #keys = new KeyTable();

  constructor(uids: Labels) {
    this.uids = uids;
    this.feed.follow(this.all);
  }

  knows(row: EventRow): 'new' | 'changed' | 'same' {
    return knownIn(this.#keys, row.id, row).known;
  }

  /** Returns the position of a row that the new one replaces. */
  put(row: EventRow, position: number): number | undefined {
    const { known, key, content, before } = knownIn(this.#keys, row.id, row);
    if (known === 'same') return position;
    if (before !== undefined) this.feed.dead(before);
    const number = this.table.push({
      time: Date.parse(row.at),
      position,
      uid: this.uids.add(row.uid),
      name: this.names.add(row.name),
    });
    this.#keys.set(key, number, content);
    return before === undefined ? undefined : this.table.at('position', before);
  }

  /** Removes the events of the user. Returns their positions in the log. */
  remove(uid: string): number[] {
    this.feed.settle(Number.POSITIVE_INFINITY);
    const rows = new Set(this.ofUser(uid));
    for (const row of rows) this.feed.dead(row);
    this.#keys.forget(rows);
    return Array.from(rows, (row) => this.table.at('position', row));
  }

  /** The rows of one user before the time, newest first. */
  *ofUser(uid: string, before = Number.POSITIVE_INFINITY): Generator<number, void> {
    const number = this.uids.get(uid);
    if (number === undefined) return;
    for (const row of this.all.byUser.descending(number, before)) {
      if (this.table.at('uid', row) !== number) return;
      yield row;
    }
  }

  countOf(uid: string): number {
    const number = this.uids.get(uid);
    return number === undefined ? 0 : this.all.byUser.count(number, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
  }

  /** Whether the user has an event in [from, to]. */
  hasEvent(uid: number, from: number, to: number): boolean {
    const row = this.all.byUser.first(uid, from);
    return row >= 0 && this.table.at('uid', row) === uid && this.table.at('time', row) <= to;
  }
}

export function knownIn(keys: KeyTable, id: string, row: object) {
  const [key, content] = [digestOf(id), digestOf(JSON.stringify(row))];
  const before = keys.find(key);
  const known = before === undefined ? 'new' : keys.holds(key, content) ? 'same' : 'changed';
  return { known, key, content, before } as const;
}
