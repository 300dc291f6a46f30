import type { Follower } from './feed.ts';
import { type Neighbours, NONE, OrderedRows } from './ordered-rows.ts';
import { type ByPrevious, countBefore, NEVER } from './previous.ts';
import { SummedRows } from './summed-rows.ts';
import type { Labels, Table } from './tables.ts';

/** Earlier than every event, but later than minus infinity, which stands for never. */
const LONG_AGO = -Number.MAX_VALUE;

/** The table of events and the names in it. */
interface Events {
  readonly table: Table<{ time: 'float'; position: 'float'; uid: 'int'; name: 'int' }>;
  readonly names: Labels;
}

/** The events with certain names, by user and by time. It counts the users of any period without visiting every event. */
export class EventSet implements Follower {
  readonly byUser: OrderedRows;
  readonly byTime: SummedRows<ByPrevious>;
  readonly #events: Events;
  /** Undefined: all names. */
  readonly #names: ReadonlySet<string> | undefined;
  /** For each name that was checked, by its number: 1 if it is in the set. */
  #isIn = new Uint8Array(0);

  constructor(events: Events, names?: Iterable<string>) {
    this.#events = events;
    this.#names = names && new Set(names);
    const { columns } = events.table;
    const time = (row: number) => columns.time[row] ?? 0;
    this.byUser = new OrderedRows((row) => columns.uid[row] ?? 0, time);
    this.byTime = new SummedRows(time, (_, values) => ({ sorted: values.toSorted() }));
  }

  add(row: number): void {
    if (!this.#holds(row)) return;
    const { before, after } = this.#ofUser(row, this.byUser.insertBetween(row));
    this.byTime.insert(row, this.#timeOf(before));
    if (after !== NONE) this.byTime.setValue(after, this.#timeOf(row));
  }

  remove(row: number): void {
    if (!this.#holds(row)) return;
    const { before, after } = this.#ofUser(row, this.byUser.around(row));
    this.byUser.delete(row);
    this.byTime.delete(row);
    if (after !== NONE) this.byTime.setValue(after, this.#timeOf(before));
  }

  /** The number of users with an event in [from, to). */
  users(from: number, to: number): number {
    let count = 0;
    this.byTime.each(from, to, (stretch) => {
      count += countBefore(stretch, from);
    });
    return count;
  }

  /** Also the number of users without any earlier event, and the number of events. */
  counts(from: number, to: number) {
    const counts = { users: 0, firstTimeUsers: 0, uses: 0 };
    this.byTime.each(from, to, (stretch) => {
      counts.users += countBefore(stretch, from);
      counts.firstTimeUsers += countBefore(stretch, LONG_AGO);
      counts.uses += stretch.high - stretch.low;
    });
    return counts;
  }

  /**
   * Calls `visit` for each user with an event in [from, to), with the first such event and the time of the user's event before it, or
   * never.
   */
  eachUser(from: number, to: number, visit: (row: number, before: number) => void): void {
    this.byTime.each(from, to, ({ chunk: { rows, values }, low, high }) => {
      for (let place = low; place < high; place += 1) {
        const before = values[place] ?? 0;
        if (before < from) visit(rows[place] ?? 0, before);
      }
    });
  }

  #holds(row: number): boolean {
    if (!this.#names) return true;
    const { names, table } = this.#events;
    const name = table.at('name', row);
    if (name >= this.#isIn.length) {
      const wanted = this.#names;
      this.#isIn = Uint8Array.from(names.texts, (text) => Number(wanted.has(text)));
    }
    return this.#isIn[name] === 1;
  }

  /** The neighbours that belong to the same user. */
  #ofUser(row: number, { before, after }: Neighbours): Neighbours {
    const { uid } = this.#events.table.columns;
    return { before: uid[before] === uid[row] ? before : NONE, after: uid[after] === uid[row] ? after : NONE };
  }

  #timeOf(row: number): number {
    return row === NONE ? NEVER : this.#events.table.at('time', row);
  }
}
