import { NONE } from '../model/ordered-rows.ts';
import type { Settling } from '../model/settling.ts';
import { SummedRows } from '../model/summed-rows.ts';
import { Table } from '../model/tables.ts';

/** What all customers pay a month, and how many of them pay. */
export interface RevenueStanding {
  readonly mrr: number;
  readonly customers: number;
}

/** What each customer pays a month from one change to the next, in millionths of minor units of the workspace currency. */
export class CustomerChanges implements Settling {
  /** `previous` and `next` are 1 + the row of the customer's change before and after, 0 for none. */
  readonly #table = new Table({ time: 'float', before: 'float', after: 'float', previous: 'int', next: 'int' });
  readonly #byTime: SummedRows<RevenueStanding>;
  readonly #rowsOf = new Map<string, readonly number[]>();
  /** Grows with every change. */
  version = 0;

  constructor() {
    const { columns } = this.#table;
    this.#byTime = new SummedRows(
      (row) => columns.time[row] ?? 0,
      (rows) => this.#summarise(rows),
    );
  }

  /** Replaces the customer's changes. Times must grow; each change has what the customer pays from then on. */
  replace(uid: string, changes: readonly { readonly time: number; readonly mrr: number }[]): void {
    this.version += 1;
    for (const row of this.#rowsOf.get(uid) ?? []) {
      this.#byTime.delete(row);
      this.#table.free(row);
    }
    this.#rowsOf.delete(uid);
    const rows: number[] = [];
    for (const [at, { time, mrr }] of changes.entries()) {
      const previous = rows.at(-1) ?? NONE;
      const row = this.#table.push({
        time,
        before: changes[at - 1]?.mrr ?? 0,
        after: mrr,
        previous: previous + 1,
        next: 0,
      });
      if (previous !== NONE) this.#table.set('next', previous, row + 1);
      rows.push(row);
    }
    for (const row of rows) this.#byTime.insert(row);
    if (rows.length > 0) this.#rowsOf.set(uid, rows);
  }

  /** After every change before the time. */
  standing(time: number): RevenueStanding {
    return sumOf(this.#byTime.sums(Number.NEGATIVE_INFINITY, time));
  }

  /**
   * Calls `visit` for each customer with a change in [from, to): what the customer paid before and after, and whether the customer ever
   * paid before.
   */
  eachCustomer(from: number, to: number, visit: (was: number, is: number, hasPaid: boolean) => void): void {
    const { time, before, after, previous, next } = this.#table.columns;
    const isWithin = (link: number) => link > 0 && (time[link - 1] ?? 0) >= from && (time[link - 1] ?? 0) < to;
    this.#byTime.each(from, to, ({ chunk, low, high }) => {
      for (const last of chunk.rows.subarray(low, high)) {
        if (isWithin(next[last] ?? 0)) continue;
        let first = last;
        while (isWithin(previous[first] ?? 0)) first = (previous[first] ?? 0) - 1;
        // The first change of a customer is always from nothing to more.
        visit(before[first] ?? 0, after[last] ?? 0, (previous[first] ?? 0) > 0);
      }
    });
  }

  settle(until: number): boolean {
    return this.#byTime.settle(until);
  }

  #summarise(rows: Uint32Array): RevenueStanding {
    const { before, after } = this.#table.columns;
    const sums = { mrr: 0, customers: 0 };
    for (const row of rows) {
      const [was, is] = [before[row] ?? 0, after[row] ?? 0];
      sums.mrr += is - was;
      sums.customers += Number(is > 0) - Number(was > 0);
    }
    return sums;
  }
}

function sumOf(all: readonly RevenueStanding[]): RevenueStanding {
  const sums = { mrr: 0, customers: 0 };
  for (const { mrr, customers } of all) {
    sums.mrr += mrr;
    sums.customers += customers;
  }
  return sums;
}
