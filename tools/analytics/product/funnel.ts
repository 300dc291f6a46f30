import type { EventTable } from '../model/events.ts';
import type { Follower } from '../model/feed.ts';
import { NONE, OrderedRows } from '../model/ordered-rows.ts';

/**
 * For each event of a step, the same user's first later event of the next step. So a user's way through the steps is known from its
 * beginning.
 */
export class Funnel implements Follower {
  readonly steps: readonly string[];
  readonly #events: EventTable;
  /** For each name among the steps, its events by user. */
  readonly #byUser = new Map<string, OrderedRows>();
  /** For each step and each of its rows: 1 + the row of the next step, 0 for none. Steps with different names share a list. */
  readonly #next: { rows: Uint32Array }[];

  constructor(events: EventTable, steps: readonly string[]) {
    this.steps = steps;
    this.#events = events;
    const { columns } = events.table;
    const lists: { rows: Uint32Array }[] = [];
    this.#next = steps.map((step, at) => {
      const level = steps.slice(0, at).filter((earlier) => earlier === step).length;
      lists[level] ??= { rows: new Uint32Array(0) };
      return lists[level];
    });
    for (const step of steps) {
      const byUser = new OrderedRows(
        (row) => columns.uid[row] ?? 0,
        (row) => columns.time[row] ?? 0,
      );
      this.#byUser.set(step, byUser);
    }
  }

  /** The row with which the user passes the next step after this row, or NONE. */
  next(step: number, row: number): number {
    return (this.#next[step]?.rows[row] ?? 0) - 1;
  }

  add(row: number): void {
    const name = this.#nameOf(row);
    const byUser = this.#byUser.get(name);
    if (!byUser) return;
    byUser.insert(row);
    for (const [step, own] of this.steps.entries()) {
      if (own !== name) continue;
      if (step + 1 < this.steps.length) this.#setNext(step, row, this.#firstAfter(step + 1, row));
      for (const earlier of this.#leadingTo(step, row)) {
        const known = this.next(step - 1, earlier);
        if (known !== NONE && this.#timeOf(known) <= this.#timeOf(row)) break;
        this.#setNext(step - 1, earlier, row);
      }
    }
  }

  remove(row: number): void {
    const name = this.#nameOf(row);
    this.#byUser.get(name)?.delete(row);
    for (const [step, own] of this.steps.entries()) {
      if (own !== name) continue;
      for (const earlier of this.#leadingTo(step, row)) {
        const known = this.next(step - 1, earlier);
        if (known !== NONE && this.#timeOf(known) < this.#timeOf(row)) break;
        if (known === row) this.#setNext(step - 1, earlier, this.#firstAfter(step, earlier));
      }
    }
  }

  /** The same user's rows of the step before, before this row, latest first. */
  *#leadingTo(step: number, row: number): Generator<number, void> {
    const { uid } = this.#events.table.columns;
    const before = this.#byUser.get(this.steps[step - 1] ?? '');
    if (!before) return;
    for (const earlier of before.descending(uid[row] ?? 0, this.#timeOf(row))) {
      if (uid[earlier] !== uid[row]) return;
      yield earlier;
    }
  }

  #firstAfter(step: number, row: number): number {
    const { uid } = this.#events.table.columns;
    const after = this.#byUser.get(this.steps[step] ?? '')?.first(uid[row] ?? 0, this.#timeOf(row) + 1) ?? NONE;
    return after !== NONE && uid[after] === uid[row] ? after : NONE;
  }

  #setNext(step: number, row: number, next: number): void {
    const list = this.#next[step];
    if (!list) return;
    if (row >= list.rows.length) {
      const rows = new Uint32Array(Math.max(row + 1, Math.ceil(list.rows.length * 1.5)));
      rows.set(list.rows);
      list.rows = rows;
    }
    list.rows[row] = next + 1;
  }

  #nameOf(row: number): string {
    return this.#events.names.text(this.#events.table.at('name', row));
  }

  #timeOf(row: number): number {
    return this.#events.table.at('time', row);
  }
}
