import type { CollectionDefinition } from '../../collections.ts';
import { OrderedSet } from '../../ordered-set.ts';
import type { Entry, Row } from '../rows/row.ts';
import { TextIndex } from '../text/text-index.ts';
import { TextUpkeep } from '../text/text-upkeep.ts';
import { FieldIndex, UniqueIndex } from './indexes.ts';

/** The committed records of one collection with their indexes. */
export class Collection {
  readonly name: string;
  readonly definition: CollectionDefinition;
  readonly ordered = new OrderedSet<Entry>();
  readonly indexes: readonly FieldIndex[];
  readonly uniques: readonly UniqueIndex[];
  readonly #entries = new Map<string, Entry>();
  /** Records that will be gone, by the time when. */
  readonly #due = new OrderedSet();
  #text: TextUpkeep | undefined;

  constructor(name: string, definition: CollectionDefinition) {
    this.name = name;
    this.definition = definition;
    this.indexes = definition.indexes.map((fields) => new FieldIndex(fields));
    this.uniques = definition.unique.map((rule) => new UniqueIndex(rule));
  }

  get text(): TextIndex | undefined {
    return this.#text?.current();
  }

  /** Resolves when `text` has little left to take in. */
  async textCaughtUp(): Promise<void> {
    await this.#text?.caughtUp();
  }

  /**
   * Begins to keep the index of words, once the records are loaded: states that a journal replaced are never read. Large collections are
   * taken in little by little, while the server answers already; the first search waits for the rest.
   */
  indexText(): void {
    if (!this.definition.search) return;
    this.#text = new TextUpkeep(new TextIndex(this.definition.search));
    for (const { row } of this.#entries.values()) this.#text.replace(undefined, row);
  }

  /** Takes in no more words, so that the process can end. */
  close(): void {
    this.#text?.close();
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
      this.#reindex(entry, before, row);
      return;
    }
    if (entry) this.#remove(entry);
    if (row) this.#add({ createdAt: row.createdAt, id, row });
  }

  /** Forgets the records whose time has come. Every read and every transaction begins with it. */
  expire(now: () => string): void {
    if (this.#due.size === 0) return;
    const over = this.#due.rank({ createdAt: now(), id: '\uffff' });
    for (const { id } of [...this.#due.ascending(0, over)]) this.set(id, undefined);
  }

  /** A copy that later changes leave as it is. */
  rows(): Row[] {
    return Array.from(this.#entries.values(), (entry) => entry.row);
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
    this.#text?.replace(before, after);
    const { expires } = this.definition;
    if (expires === undefined) return;
    const [was, is] = [dueAt(before?.[expires]), dueAt(after?.[expires])];
    if (was !== undefined) this.#due.delete({ createdAt: was, id: entry.id });
    if (is !== undefined) this.#due.add({ createdAt: is, id: entry.id });
  }
}

/** In the one form that sorts by time. */
function dueAt(value: unknown): string | undefined {
  return typeof value === 'string' ? new Date(value).toISOString() : undefined;
}
