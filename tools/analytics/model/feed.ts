import type { Settling } from './settling.ts';

/** Follows the rows of a table. It gets them in the order of their numbers. */
export interface Follower {
  add(row: number): void;
  /** A row that was added before no longer counts. */
  remove(row: number): void;
}

const STRIDE = 32;

/** Passes the rows of a table on to its followers, to each from the first row on and as far as time allows. */
export class Feed implements Settling {
  readonly #table: { readonly size: number };
  readonly #dead = new Set<number>();
  /** For each follower, the number of the next row to pass on. */
  readonly #followers = new Map<Follower, number>();

  constructor(table: { readonly size: number }) {
    this.#table = table;
  }

  follow(follower: Follower): void {
    this.#followers.set(follower, 0);
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
  }

  /** The row no longer counts. */
  dead(row: number): void {
    this.#dead.add(row);
    for (const [follower, next] of this.#followers) if (row < next) follower.remove(row);
  }

  settle(until: number): boolean {
    for (const [follower, next] of this.#followers) {
      const reached = this.#advance(follower, next, until);
      this.#followers.set(follower, reached);
      if (reached < this.#table.size) return false;
    }
    return true;
  }

  #advance(follower: Follower, from: number, until: number): number {
    const { size } = this.#table;
    let row = from;
    while (row < size && performance.now() < until) {
      for (const end = Math.min(size, row + STRIDE); row < end; row += 1) if (!this.#dead.has(row)) follower.add(row);
    }
    return row;
  }
}
