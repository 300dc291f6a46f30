import type { Position } from '../port.ts';

export function comparePositions(a: Position, b: Position): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}

const CHUNK_LIMIT = 512;

/** Entries sorted by (createdAt, id), oldest first, in sorted chunks. Appending, counting and walking from any rank are cheap. */
export class OrderedSet<Entry extends Position = Position> {
  #chunks: Entry[][] = [];
  #size = 0;

  static of<Entry extends Position>(entries: Iterable<Entry>): OrderedSet<Entry> {
    const set = new OrderedSet<Entry>();
    for (const entry of [...entries].sort(comparePositions)) set.add(entry);
    return set;
  }

  get size(): number {
    return this.#size;
  }

  add(entry: Entry): void {
    const at = Math.min(this.#chunkOf(entry), this.#chunks.length - 1);
    const chunk = this.#chunks[at];
    this.#size += 1;
    if (!chunk) {
      // An array literal reserves no space for more entries: most values of an index have only one record.
      this.#chunks = [[entry]];
      return;
    }
    const place = placeIn(chunk, entry);
    if (chunk.length < CHUNK_LIMIT) {
      chunk.splice(place, 0, entry);
    } else if (place === chunk.length) {
      this.#chunks.splice(at + 1, 0, [entry]);
    } else {
      chunk.splice(place, 0, entry);
      this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK_LIMIT / 2));
    }
  }

  delete(position: Position): void {
    const at = this.#chunkOf(position);
    const chunk = this.#chunks[at];
    if (!chunk) return;
    const place = placeIn(chunk, position);
    const found = chunk[place];
    if (!found || comparePositions(found, position) !== 0) return;
    chunk.splice(place, 1);
    this.#size -= 1;
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  rank(position: Position): number {
    const at = this.#chunkOf(position);
    const chunk = this.#chunks[at];
    let rank = chunk ? placeIn(chunk, position) : 0;
    for (let before = 0; before < at; before += 1) rank += this.#chunks[before]?.length ?? 0;
    return rank;
  }

  rankAfter(position: Position): number {
    return this.rank({ createdAt: position.createdAt, id: `${position.id}\u0000` });
  }

  /** The entries with ranks in [low, high), from `low` upwards. */
  *ascending(low: number, high: number): Generator<Entry, void> {
    let first = 0;
    for (const chunk of this.#chunks) {
      if (first >= high) return;
      const end = Math.min(chunk.length, high - first);
      for (let at = Math.max(0, low - first); at < end; at += 1) {
        const entry = chunk[at];
        if (entry) yield entry;
      }
      first += chunk.length;
    }
  }

  *descending(low: number, high: number): Generator<Entry, void> {
    let first = this.#size;
    for (let of = this.#chunks.length - 1; of >= 0; of -= 1) {
      const chunk = this.#chunks[of] ?? [];
      if (first <= low) return;
      first -= chunk.length;
      const end = Math.max(0, low - first);
      for (let at = Math.min(chunk.length, high - first) - 1; at >= end; at -= 1) {
        const entry = chunk[at];
        if (entry) yield entry;
      }
    }
  }

  /** The first chunk whose last entry is at or after the position. Without one, the number of chunks. */
  #chunkOf(position: Position): number {
    return lowerBound(this.#chunks, position, (chunk) => chunk.at(-1));
  }
}

function placeIn(chunk: readonly Position[], position: Position): number {
  return lowerBound(chunk, position, (entry) => entry);
}

/** The first index in the sorted list whose position is at or after this one. */
function lowerBound<Item>(list: readonly Item[], position: Position, of: (item: Item) => Position | undefined): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = list[middle];
    const found = item === undefined ? undefined : of(item);
    if (found && comparePositions(found, position) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
