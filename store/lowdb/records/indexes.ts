import type { UniqueRule } from '../../collection-definition.ts';
import type { Position, Scalar } from '../../port.ts';
import { uniqueKey } from '../../record-change.ts';
import type { Row } from '../../row.ts';
import { OrderedSet } from '../ordered-set.ts';

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

export function indexKey(values: readonly Scalar[]): string {
  return JSON.stringify(values);
}

export function indexKeys(lists: readonly (readonly Scalar[])[]): string[] {
  let tuples: Scalar[][] = [[]];
  for (const list of lists) tuples = tuples.flatMap((tuple) => list.map((value) => [...tuple, value]));
  return [...new Set(tuples.map(indexKey))];
}

/** An index on some fields: for each combination of their values, the entries in order. */
export class FieldIndex {
  readonly fields: readonly string[];
  /** True while no entry was ever under several keys. Only then can the sizes of different keys be added. */
  disjoint = true;
  readonly #sets = new Map<string, OrderedSet<Entry>>();

  constructor(fields: readonly string[]) {
    this.fields = fields;
  }

  get(key: string): OrderedSet<Entry> | undefined {
    return this.#sets.get(key);
  }

  replace(entry: Entry, before: Row | undefined, after: Row | undefined): void {
    if (before && after && this.fields.every((field) => before[field] === after[field])) return;
    const left = before ? this.#keys(before) : [];
    const entered = after ? this.#keys(after) : [];
    if (entered.length > 1) this.disjoint = false;
    for (const key of left) if (!entered.includes(key)) this.#leave(key, entry);
    for (const key of entered) if (!left.includes(key)) this.#enter(key, entry);
  }

  #keys(row: Row): string[] {
    const values = this.fields.map((field) => row[field]);
    if (values.every(isScalar)) return [indexKey(values)];
    return indexKeys(values.map((value) => (Array.isArray(value) ? value : [value]).filter(isScalar)));
  }

  #enter(key: string, entry: Entry): void {
    const set = this.#sets.get(key);
    if (set) set.add(entry);
    else this.#sets.set(key, OrderedSet.of([entry]));
  }

  #leave(key: string, entry: Entry): void {
    const set = this.#sets.get(key);
    set?.delete(entry);
    if (set?.size === 0) this.#sets.delete(key);
  }
}

export class UniqueIndex {
  readonly rule: UniqueRule<Row>;
  readonly #holders = new Map<string, string>();

  constructor(rule: UniqueRule<Row>) {
    this.rule = rule;
  }

  holder(key: string): string | undefined {
    return this.#holders.get(key);
  }

  key(row: Row): string | undefined {
    return uniqueKey(this.rule, row);
  }

  replace(before: Row | undefined, after: Row | undefined): void {
    const left = before && this.key(before);
    const entered = after && this.key(after);
    if (left === entered) return;
    // Another record of the same transaction may have taken the value already.
    if (left !== undefined && this.#holders.get(left) === before?.id) this.#holders.delete(left);
    if (entered !== undefined && after) this.#holders.set(entered, after.id);
  }
}

/** A record's place in the ordered sets. `row` is replaced when the record changes; the position never changes. */
export interface Entry extends Position {
  row: Row;
}
