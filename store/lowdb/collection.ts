import type { CollectionDefinition } from '../collections.ts';
import { FieldIndex, UniqueIndex } from './indexes.ts';
import { type Entry, OrderedSet } from './ordered-set.ts';
import type { Row } from './row.ts';

/** The committed records of one collection with their indexes. */
export class Collection {
  readonly name: string;
  readonly definition: CollectionDefinition;
  readonly ordered = new OrderedSet();
  readonly indexes: readonly FieldIndex[];
  readonly uniques: readonly UniqueIndex[];
  readonly #entries = new Map<string, Entry>();

  constructor(name: string, definition: CollectionDefinition) {
    this.name = name;
    this.definition = definition;
    this.indexes = definition.indexes.map((fields) => new FieldIndex(fields));
    this.uniques = definition.unique.map((rule) => new UniqueIndex(rule));
  }

  get(id: string): Row | undefined {
    return this.#entries.get(id)?.row;
  }

  entry(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  /** What `set` needs to bring the record back is what `get` gave before. */
  set(id: string, row: Row | undefined): void {
    const entry = this.#entries.get(id);
    if (row && entry && entry.createdAt === row.createdAt) {
      const before = entry.row;
      entry.row = row;
      for (const unique of this.uniques) unique.replace(before, row);
      for (const index of this.indexes) index.replace(entry, before, row);
      return;
    }
    if (entry) this.#remove(entry);
    if (row) this.#add({ createdAt: row.createdAt, id, row });
  }

  /** A copy that later changes leave as it is. */
  rows(): Row[] {
    return Array.from(this.#entries.values(), (entry) => entry.row);
  }

  #add(entry: Entry): void {
    this.#entries.set(entry.id, entry);
    this.ordered.add(entry);
    for (const unique of this.uniques) unique.replace(undefined, entry.row);
    for (const index of this.indexes) index.replace(entry, undefined, entry.row);
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.id);
    this.ordered.delete(entry);
    for (const unique of this.uniques) unique.replace(entry.row, undefined);
    for (const index of this.indexes) index.replace(entry, entry.row, undefined);
  }
}
