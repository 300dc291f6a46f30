import type { CollectionDefinition } from '../../collection-definition.ts';
import { NotFound } from '../../errors.ts';
import type { Row } from '../../row.ts';
import { SizeCache } from '../../sizes.ts';
import { OrderedSet } from '../ordered-set.ts';
import { IndexUpdater } from '../text/index-updater.ts';
import { TextIndex } from '../text/text-index.ts';
import { type Entry, FieldIndex, UniqueIndex } from './indexes.ts';
import { type Sorted, SortIndex } from './sort-index.ts';

export class Collection {
  readonly name: string;
  readonly definition: CollectionDefinition;
  readonly ordered = new OrderedSet<Entry>();
  readonly indexes: readonly FieldIndex[];
  readonly uniques: readonly UniqueIndex[];
  readonly #sorts: readonly SortIndex[];
  readonly #entries = new Map<string, Entry>();
  /** Records that expire, sorted by the time when they do, where those of the collection can. */
  readonly #due: OrderedSet | undefined;
  readonly sizes: SizeCache | undefined;
  #text: IndexUpdater | undefined;

  constructor(name: string, definition: CollectionDefinition) {
    this.name = name;
    this.definition = definition;
    this.indexes = definition.indexes.map((fields) => new FieldIndex(fields));
    this.#sorts = (definition.sorts ?? []).map((field) => new SortIndex(field));
    if (definition.expires !== undefined) this.#due = new OrderedSet();
    const { counts } = definition;
    this.sizes = counts?.bytes && new SizeCache(counts, counts.bytes);
    this.uniques = definition.unique.map((rule) => new UniqueIndex(rule));
  }

  get text(): TextIndex | undefined {
    return this.#text?.current();
  }

  async textCaughtUp(): Promise<void> {
    await this.#text?.caughtUp();
  }

  /** Called once all records are loaded. Large collections are indexed in parts while the server answers; the first search waits. */
  indexText(): void {
    if (!this.definition.search) return;
    this.#text = new IndexUpdater(new TextIndex(this.definition.search));
    for (const { row } of this.#entries.values()) this.#text.replace(undefined, row);
  }

  close(): void {
    this.#text?.close();
    for (const index of this.#sorts) index.close();
  }

  get(id: string): Row | undefined {
    return this.#entries.get(id)?.row;
  }

  read(id: string): Row {
    const row = this.get(id);
    if (!row) throw new NotFound(this.name, id);
    return row;
  }

  entry(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  /** All entries in the order of a member that the collection declares in `sorts`. */
  sortedBy(field: string): OrderedSet<Sorted> {
    return this.#sortIndex(field).over(this.#entries.values());
  }

  async sortCaughtUp(field: string): Promise<void> {
    await this.#sortIndex(field).caughtUp(this.#entries.values());
  }

  /** Sets or removes a record. To undo it, set what `get` returned before. */
  set(id: string, row: Row | undefined): void {
    const entry = this.#entries.get(id);
    if (row && entry && entry.createdAt === row.createdAt) {
      const before = entry.row;
      entry.row = row;
      this.#reindex(entry, before, row);
      return;
    }
    if (entry) this.#remove(entry);
    if (row) this.#add({ createdAt: row.createdAt, id, row });
  }

  /** Removes the expired records. Every read and every transaction begins with it. */
  expire(now: () => string): void {
    if (!this.#due?.size) return;
    const over = this.#due.rank({ createdAt: now(), id: '\uffff' });
    for (const { id } of [...this.#due.ascending(0, over)]) this.set(id, undefined);
  }

  rows(): Row[] {
    return Array.from(this.#entries.values(), (entry) => entry.row);
  }

  #sortIndex(field: string): SortIndex {
    const index = this.#sorts.find((sort) => sort.field === field);
    if (!index) throw new Error(`${this.name} does not sort by ${field}`);
    return index;
  }

  #add(entry: Entry): void {
    this.#entries.set(entry.id, entry);
    this.ordered.add(entry);
    this.#reindex(entry, undefined, entry.row);
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.id);
    this.ordered.delete(entry);
    this.#reindex(entry, entry.row, undefined);
  }

  #reindex(entry: Entry, before: Row | undefined, after: Row | undefined): void {
    for (const unique of this.uniques) unique.replace(before, after);
    for (const index of this.indexes) index.replace(entry, before, after);
    for (const index of this.#sorts) index.replace(entry, before, after);
    this.#text?.replace(before, after);
    this.sizes?.replace(before, after);
    const { expires } = this.definition;
    if (expires === undefined) return;
    const [was, is] = [dueAt(before?.[expires]), dueAt(after?.[expires])];
    if (was !== undefined) this.#due?.delete({ createdAt: was, id: entry.id });
    if (is !== undefined) this.#due?.add({ createdAt: is, id: entry.id });
  }
}

/** The time in the one form whose texts sort by time. */
function dueAt(value: unknown): string | undefined {
  return typeof value === 'string' ? new Date(value).toISOString() : undefined;
}
