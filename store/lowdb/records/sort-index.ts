import { setImmediate } from 'node:timers/promises';
import type { Position } from '../../port.ts';
import type { Row } from '../../row.ts';
import { sortKey } from '../../sort-key.ts';
import { OrderedSet } from '../ordered-set.ts';
import type { Entry } from './indexes.ts';

/** An entry in a sorted order: the key stands in place of the time. */
export interface Sorted extends Position {
  readonly entry: Entry;
}

/** The longest time that entries are put in order at once, while others wait. */
const STRETCH_MS = 5;

/**
 * All entries of a collection in the order of a member. It is made when first asked for, because most collections are never sorted, and in
 * small parts, because others wait while it is made.
 */
export class SortIndex {
  readonly field: string;
  #set: OrderedSet<Sorted> | undefined;
  /** Entries that are not in the set yet. */
  readonly #waiting = new Set<Entry>();
  #making: Promise<void> | undefined;
  #isClosed = false;

  constructor(field: string) {
    this.field = field;
  }

  /** With every entry in it; what is missing is put in at once. */
  over(entries: Iterable<Entry>): OrderedSet<Sorted> {
    const set = this.#begin(entries);
    for (const entry of this.#waiting) this.#take(set, entry);
    return set;
  }

  /** Resolves when the entries are in order, so that `over` has nothing left to do. */
  caughtUp(entries: Iterable<Entry>): Promise<void> {
    this.#making ??= this.#make(this.#begin(entries));
    return this.#making;
  }

  replace(entry: Entry, before: Row | undefined, after: Row | undefined): void {
    if (!this.#set) return;
    const { field } = this;
    if (before && after && before[field] === after[field]) return;
    if (before && !this.#waiting.delete(entry)) this.#set.delete(sorted(entry, before[field]));
    if (after) this.#set.add(sorted(entry, after[field]));
  }

  close(): void {
    this.#isClosed = true;
  }

  #begin(entries: Iterable<Entry>): OrderedSet<Sorted> {
    if (this.#set) return this.#set;
    for (const entry of entries) this.#waiting.add(entry);
    this.#set = new OrderedSet();
    return this.#set;
  }

  async #make(set: OrderedSet<Sorted>): Promise<void> {
    let began = performance.now();
    for (const entry of this.#waiting) {
      this.#take(set, entry);
      if (performance.now() - began < STRETCH_MS) continue;
      await setImmediate();
      if (this.#isClosed) return;
      began = performance.now();
    }
  }

  #take(set: OrderedSet<Sorted>, entry: Entry): void {
    this.#waiting.delete(entry);
    set.add(sorted(entry, entry.row[this.field]));
  }
}

export function sorted(entry: Entry, value: unknown): Sorted {
  return { createdAt: inBytes(sortKey(value)), id: entry.id, entry };
}

/** A text whose units compare as PostgreSQL compares texts: by code points. */
export function inBytes(key: string): string {
  return ASCII.test(key) ? key : Buffer.from(key).toString('latin1');
}

const ASCII = /^[\0-\x7f]*$/;
