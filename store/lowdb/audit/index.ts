import { type Indexed, LABELS, type Label, MARKS, MORE, type Stretch } from './stretch.ts';

/** The place of an entry's line in the segments. */
export interface EntryPosition {
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
}

export interface IndexFilter extends Readonly<Partial<Record<Label, string | undefined>>> {
  readonly withoutTools?: readonly string[] | undefined;
  /** Marks are hashes that different texts may share, so an entry found by a mark must be read and compared. */
  readonly id?: number | undefined;
  readonly request?: number | undefined;
  readonly record?: number | undefined;
}

/** The index keeps about 60 bytes of each entry in typed arrays, sorted by `at`, oldest first. */
export class AuditIndex {
  #times = new Float64Array(1024);
  #offsets = new Float64Array(1024);
  #lengths = new Uint32Array(1024);
  #segments = new Uint32Array(1024);
  readonly #labels = {
    principal: new Labels(),
    tool: new Labels(),
    outcome: new Labels(),
    door: new Labels(),
    sessionId: new Labels(),
  };
  readonly #marks = {
    id: new Uint32Array(1024),
    request: new Uint32Array(1024),
    record: new Uint32Array(1024),
    other: new Uint32Array(1024),
  };
  #size = 0;
  /** The number of entries before the first one that came out of order since the last sort. */
  #sortedSize = 0;
  /** The earliest time of an entry that came out of order since the last sort. */
  #unsortedFrom = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.#size;
  }

  add({ entry, offset, length }: Omit<EntryPosition, 'segment'> & { readonly entry: Indexed }, segment: number): void {
    const at = this.#put(entry.time, segment, offset, length);
    for (const label of LABELS) this.#labels[label].column[at] = this.#labels[label].number(entry[label]);
    for (const mark of MARKS) this.#marks[mark][at] = entry[mark];
  }

  /** Adds the entries of a stretch that begins at the offset. */
  addStretch(stretch: Stretch, segment: number, start: number): void {
    let time = 0;
    let offset = start;
    const first = this.#size;
    for (const [at, length] of stretch.lengths.entries()) {
      time += stretch.gaps[at] ?? 0;
      this.#put(time, segment, offset, length);
      offset += length;
    }
    for (const label of LABELS) {
      const labels = this.#labels[label];
      const known = stretch[label].names.map((name) => labels.number(name));
      for (const [at, number] of stretch[label].numbers.entries()) labels.column[first + at] = known[number] ?? 0;
    }
    for (const mark of MARKS) this.#marks[mark].set(stretch[mark], first);
  }

  /**
   * Places of matching entries with times in [from, to], latest first. It returns at least `wanted` of them, not counting those at the time
   * `tiesAt`, and always all entries of the same time, so that the caller can sort them by id.
   */
  newest(filter: IndexFilter, from: number, to: number, wanted: number, tiesAt?: number): EntryPosition[] {
    this.#sort();
    const matches = this.#matcher(filter);
    const found: EntryPosition[] = [];
    let more = 0;
    let last = Number.NaN;
    for (let at = this.#firstAfter(to) - 1; at >= 0; at -= 1) {
      const time = this.#times[at] ?? 0;
      if (time < from || (more >= wanted && time !== last)) break;
      if (!matches(at)) continue;
      found.push(this.#place(at));
      if (time !== tiesAt) more += 1;
      last = time;
    }
    return found;
  }

  /** The number of matching entries with times in [from, to). */
  count(filter: IndexFilter, from: number, to: number): number {
    this.#sort();
    const [first, end] = [this.#firstAfter(from - 1), this.#firstAfter(to - 1)];
    if (Object.values(filter).every((wanted) => wanted === undefined)) return Math.max(0, end - first);
    const matches = this.#matcher(filter);
    let count = 0;
    for (let at = first; at < end; at += 1) if (matches(at)) count += 1;
    return count;
  }

  /** Removes all entries before the time, which must be the boundary between two segments. Returns their number. */
  dropBefore(time: number): number {
    this.#sort();
    const dropped = this.#firstAfter(time - 1);
    for (const column of this.#columns()) column.copyWithin(0, dropped, this.#size);
    this.#size -= dropped;
    return dropped;
  }

  /** Adds a row and returns its index. The caller then sets the labels. */
  #put(time: number, segment: number, offset: number, length: number): number {
    if (this.#size === this.#times.length) this.#grow();
    const at = this.#size;
    if (at > 0 && time < (this.#times[at - 1] ?? 0)) {
      if (this.#unsortedFrom === Number.POSITIVE_INFINITY) this.#sortedSize = at;
      this.#unsortedFrom = Math.min(this.#unsortedFrom, time);
    }
    this.#times[at] = time;
    this.#offsets[at] = offset;
    this.#lengths[at] = length;
    this.#segments[at] = segment;
    this.#size += 1;
    return at;
  }

  #place(at: number): EntryPosition {
    return { segment: this.#segments[at] ?? 0, offset: this.#offsets[at] ?? 0, length: this.#lengths[at] ?? 0 };
  }

  #matcher(filter: IndexFilter): (at: number) => boolean {
    const tests: [Labels, number | undefined][] = [];
    for (const label of LABELS) {
      const wanted = filter[label];
      if (wanted !== undefined) tests.push([this.#labels[label], this.#labels[label].known(wanted)]);
    }
    const { id, request, record, withoutTools = [] } = filter;
    const { tool } = this.#labels;
    const left = new Set(withoutTools.map((name) => tool.known(name)));
    const marks = this.#marks;
    const isAbout = (at: number) =>
      marks.record[at] === record || marks.other[at] === record || marks.other[at] === MORE;
    return (at) =>
      tests.every(([labels, number]) => labels.column[at] === number) &&
      (left.size === 0 || !left.has(tool.column[at])) &&
      (id === undefined || marks.id[at] === id) &&
      (request === undefined || marks.request[at] === request) &&
      (record === undefined || isAbout(at));
  }

  /** The first index whose time is later than the given one. The index must be sorted. */
  #firstAfter(time: number, end = this.#size): number {
    let low = 0;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#times[middle] ?? 0) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Sorts the entries. Most come in order, so only those later than the earliest one out of order are sorted again. */
  #sort(): void {
    if (this.#unsortedFrom === Number.POSITIVE_INFINITY) return;
    const times = this.#times;
    const first = this.#firstAfter(this.#unsortedFrom, this.#sortedSize);
    const order = Uint32Array.from({ length: this.#size - first }, (_, at) => first + at);
    order.sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0) || a - b);
    for (const column of this.#columns()) {
      const sorted = column.slice(first, this.#size);
      for (const [at, from] of order.entries()) sorted[at] = column[from] ?? 0;
      column.set(sorted, first);
    }
    this.#unsortedFrom = Number.POSITIVE_INFINITY;
  }

  #columns(): (Float64Array | Uint32Array)[] {
    const labels = Object.values(this.#labels).map((label) => label.column);
    return [this.#times, this.#offsets, this.#lengths, this.#segments, ...labels, ...Object.values(this.#marks)];
  }

  #grow(): void {
    const capacity = Math.ceil(this.#times.length * 1.5);
    this.#times = grown(this.#times, new Float64Array(capacity));
    this.#offsets = grown(this.#offsets, new Float64Array(capacity));
    this.#lengths = grown(this.#lengths, new Uint32Array(capacity));
    this.#segments = grown(this.#segments, new Uint32Array(capacity));
    for (const labels of Object.values(this.#labels)) labels.grow(capacity);
    for (const mark of MARKS) this.#marks[mark] = grown(this.#marks[mark], new Uint32Array(capacity));
  }
}

/** A column of texts that repeat often. Each text is stored as a number. */
class Labels {
  column = new Uint32Array(1024);
  readonly #numbers = new Map<string, number>();

  number(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(text, number);
    }
    return number;
  }

  known(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  grow(capacity: number): void {
    this.column = grown(this.column, new Uint32Array(capacity));
  }
}

function grown<Column extends Float64Array | Uint32Array>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}
