import { isDeepStrictEqual } from 'node:util';
import SearchableMap from 'minisearch/SearchableMap';
import type { SearchDefinition } from '../../collection-definition.ts';
import type { Row } from '../../row.ts';
import { fold, isSpaceless, LONGEST_INDEXED, textOf, wordsIn } from '../../search-text.ts';
import { Postings } from './postings.ts';
import { Groups } from './row-groups.ts';
import { ScoreAccumulator } from './score-accumulator.ts';

const TITLE_WEIGHT = 3;
/** Only this many distinct words of a query count. */
export const MOST_WORDS = 32;
/** Only so many words that begin with the one searched count, whichever come first. */
export const MOST_BEGINNINGS = 10_000;
/** Slots of removed records are kept until there are more than this many, and more than records. */
const FEWEST_GONE = 1000;
/** Constants of BM25: how quickly repetition of a word stops to count, and how much the length of a record counts. */
const K = 1.2;
const B = 0.75;

/** The words of a collection's records. It ranks records by BM25 for a query, and follows each change of a record. */
export class TextIndex {
  readonly #definition: SearchDefinition<Row>;
  readonly #terms = new SearchableMap<Postings>();
  readonly #slots = new Map<string, number>();
  /** Rows by slot. A changed record gets a new slot. */
  #rows: (Row | undefined)[] = [];
  #ids: string[] = [];
  #lengths: number[] = [];
  #totalLength = 0;
  /** Slots by title, in folded form. */
  readonly #titles = new Map<string, Set<number>>();
  readonly #tally = new ScoreAccumulator();
  readonly groups: Groups;

  constructor(definition: SearchDefinition<Row>) {
    this.#definition = definition;
    this.groups = new Groups(definition.alike ?? []);
  }

  replace(before: Row | undefined, after: Row | undefined): void {
    const slot = before && this.#slots.get(before.id);
    if (before && after && slot !== undefined && this.#readsAlike(before, after)) {
      this.#rows[slot] = after;
      this.groups.leave(slot, before);
      this.groups.enter(slot, after);
      return;
    }
    if (before && slot !== undefined) this.#remove(before, slot);
    if (after) this.#add(after);
  }

  /** Calls `visit` once for each matching slot, in no order. The score is less than 1, except where the id or title equals the text. */
  visit(text: string, visit: (slot: number, score: number) => void): void {
    const exact = this.#exactly(text);
    for (const slot of exact) visit(slot, 1);
    this.#tally.begin(this.#rows.length);
    const words = [...new Set(Array.from(wordsIn(text), ({ term }) => term))].slice(0, MOST_WORDS);
    for (const [at, word] of words.entries()) this.#addUp(word, at === words.length - 1);
    this.#tally.visit(exact.size === 0 ? visit : (slot, score) => exact.has(slot) || visit(slot, score));
  }

  /** The id of the record in a slot. For most records a search needs nothing else. */
  idIn(slot: number): string {
    return this.#ids[slot] ?? '';
  }

  /** The record in a slot that `visit` gave. Valid until the next change. */
  rowIn(slot: number): Row {
    const row = this.#rows[slot];
    if (!row) throw new Error(`no record is in the slot ${slot}`);
    return row;
  }

  #exactly(text: string): ReadonlySet<number> {
    const byId = this.#slots.get(text.trim());
    return new Set([...(byId === undefined ? [] : [byId]), ...(this.#titles.get(titleKey(text)) ?? [])]);
  }

  #addUp(word: string, isLast: boolean): void {
    const count = this.#slots.size;
    const spellings = this.#spellings(word, isLast);
    const having = Math.min(
      count,
      spellings.reduce((sum, { postings }) => sum + postings.size, 0),
    );
    const rarity = Math.log(1 + (count - having + 0.5) / (having + 0.5));
    const averageLength = this.#totalLength / Math.max(1, count);
    const tally = this.#tally;
    const isOnly = spellings.length === 1;
    for (const { postings, closeness } of spellings) {
      const { pairs } = postings;
      for (let at = 0; at < pairs.length; at += 2) {
        const slot = pairs[at] ?? 0;
        const weight = pairs[at + 1] ?? 0;
        if (weight === 0) continue;
        const length = (this.#lengths[slot] ?? 0) / averageLength;
        const value = (closeness * weight) / (weight + K * (1 - B + B * length));
        if (isOnly) tally.add(slot, value, rarity);
        else tally.offer(slot, value);
      }
    }
    tally.endWord(rarity, having > 0);
  }

  /** The term itself and the terms that begin with it. Where there are none, the terms with a similar spelling. */
  #spellings(word: string, isLast: boolean): { postings: Postings; closeness: number }[] {
    const own = this.#terms.get(word);
    const found = own ? [{ postings: own, closeness: 1 }] : [];
    if (word.length >= (isLast ? 2 : 3) || isSpaceless(word)) {
      for (const [term, postings] of this.#terms.atPrefix(word)) {
        if (found.length >= MOST_BEGINNINGS) break;
        if (term !== word) found.push({ postings, closeness: 0.3 + (0.6 * word.length) / term.length });
      }
    }
    if (found.length > 0 || word.length < 4) return found;
    const near = this.#terms.fuzzyGet(word, word.length < 8 ? 1 : 2);
    return Array.from(near.values(), ([postings, distance]) => ({ postings, closeness: 0.6 / distance }));
  }

  #readsAlike(before: Row, after: Row): boolean {
    const { title, text } = this.#definition;
    return [...title, ...text].every((field) => isDeepStrictEqual(before[field], after[field]));
  }

  #add(row: Row): void {
    const slot = this.#rows.length;
    const { weights, length } = this.#weigh(row);
    for (const [term, weight] of weights) this.#terms.fetch(term, () => new Postings()).add(slot, weight);
    for (const key of this.#titleKeys(row)) this.#titles.set(key, (this.#titles.get(key) ?? new Set()).add(slot));
    this.#slots.set(row.id, slot);
    this.#rows[slot] = row;
    this.#ids[slot] = row.id;
    this.#lengths[slot] = length;
    this.#totalLength += length;
    this.groups.enter(slot, row);
  }

  #remove(row: Row, slot: number): void {
    for (const term of this.#weigh(row).weights.keys()) {
      const postings = this.#terms.get(term);
      postings?.remove(slot);
      if (postings?.size === 0) this.#terms.delete(term);
    }
    for (const key of this.#titleKeys(row)) {
      const slots = this.#titles.get(key);
      slots?.delete(slot);
      if (slots?.size === 0) this.#titles.delete(key);
    }
    this.#slots.delete(row.id);
    this.groups.leave(slot, row);
    this.#rows[slot] = undefined;
    this.#totalLength -= this.#lengths[slot] ?? 0;
    if (this.#rows.length > 2 * this.#slots.size + FEWEST_GONE) this.#closeUp();
  }

  /**
   * Gives the records slots without gaps. This happens once in as many changes as there are records, and takes a fraction of the time that
   * building the index takes.
   */
  #closeUp(): void {
    const moved = new Uint32Array(this.#rows.length);
    const rows: Row[] = [];
    const lengths: number[] = [];
    const kept: number[] = [];
    for (const [slot, row] of this.#rows.entries()) {
      if (!row) continue;
      kept.push(slot);
      moved[slot] = rows.length;
      this.#slots.set(row.id, rows.length);
      rows.push(row);
      lengths.push(this.#lengths[slot] ?? 0);
    }
    this.#rows = rows;
    this.#ids = rows.map(({ id }) => id);
    this.#lengths = lengths;
    this.groups.renumber(kept);
    for (const postings of this.#terms.values()) postings.renumber(moved);
    for (const [key, slots] of this.#titles)
      this.#titles.set(key, new Set(Array.from(slots, (slot) => moved[slot] ?? 0)));
  }

  #weigh(row: Row): { weights: Map<string, number>; length: number } {
    const { title, text } = this.#definition;
    const weights = new Map<string, number>();
    let length = 0;
    for (const field of [...title, ...text]) {
      const weight = title.includes(field) ? TITLE_WEIGHT : 1;
      for (const { term } of wordsIn(textOf(row[field]).slice(0, LONGEST_INDEXED))) {
        weights.set(term, (weights.get(term) ?? 0) + weight);
        length += weight;
      }
    }
    return { weights, length };
  }

  #titleKeys(row: Row): string[] {
    return this.#definition.title.map((field) => titleKey(textOf(row[field]))).filter((key) => key !== '');
  }
}

function titleKey(text: string): string {
  return fold(text).trim();
}
