import { type AuditEntry, recordsOf } from '../../../resources/audit-entry.ts';
import type { AuditFilter } from '../../port.ts';
import { type Indexed, LABELS, type Label, MARKS, type Mark, MORE, markOf, type Stretch } from './stretch.ts';

export interface EntryPosition {
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
}

type Column = Float64Array | Uint32Array;

const FIRST_CAPACITY = 1024;
const INTEGERS = ['length', 'segment', ...LABELS, ...MARKS] as const;

/** About 60 bytes of each entry in typed arrays, sorted by `at`, oldest first. */
export class AuditIndex {
  readonly #columns = columnsOf(FIRST_CAPACITY);
  /** Texts that repeat often are stored as numbers. */
  readonly #numbers = Object.fromEntries(LABELS.map((label) => [label, new Map()])) as Record<
    Label,
    Map<string, number>
  >;
  #size = 0;
  #sortedSize = 0;
  /** The earliest time of an entry that came out of order since the last sort. */
  #unsortedFrom = Number.POSITIVE_INFINITY;

  add({ entry, offset, length }: Omit<EntryPosition, 'segment'> & { readonly entry: Indexed }, segment: number): void {
    const at = this.#put(entry.time, { segment, offset, length });
    for (const label of LABELS) this.#columns[label][at] = this.#number(label, entry[label]);
    for (const mark of MARKS) this.#columns[mark][at] = entry[mark];
  }

  addStretch(stretch: Stretch, segment: number, start: number): void {
    let time = 0;
    let offset = start;
    const first = this.#size;
    for (const [at, length] of stretch.lengths.entries()) {
      time += stretch.gaps[at] ?? 0;
      this.#put(time, { segment, offset, length });
      offset += length;
    }
    for (const label of LABELS) {
      const known = stretch[label].names.map((name) => this.#number(label, name));
      for (const [at, number] of stretch[label].numbers.entries())
        this.#columns[label][first + at] = known[number] ?? 0;
    }
    for (const mark of MARKS) this.#columns[mark].set(stretch[mark], first);
  }

  /** The newest matches in [from, to]. It stops after `wanted` matches, never within a group of equal times; those at `tiesAt`, the time of the cursor, do not count. */
  newest(filter: AuditFilter, from: number, to: number, wanted: number, tiesAt?: number): EntryPosition[] {
    this.#sort();
    const matches = this.#matcher(filter);
    const found: EntryPosition[] = [];
    let more = 0;
    let last = Number.NaN;
    for (let at = this.#firstAfter(to) - 1; at >= 0; at -= 1) {
      const time = this.#columns.time[at] ?? 0;
      if (time < from || (more >= wanted && time !== last)) break;
      if (!matches(at)) continue;
      found.push(this.#position(at));
      if (time !== tiesAt) more += 1;
      last = time;
    }
    return found;
  }

  count(filter: AuditFilter, from: number, to: number): number {
    this.#sort();
    const [first, end] = [this.#firstAfter(from - 1), this.#firstAfter(to - 1)];
    const { from: _, to: __, ...conditions } = filter;
    if (Object.values(conditions).every((wanted) => wanted === undefined)) return Math.max(0, end - first);
    const matches = this.#matcher(filter);
    let count = 0;
    for (let at = first; at < end; at += 1) if (matches(at)) count += 1;
    return count;
  }

  /** Removes all entries before the time, which must be the boundary between two segments. Returns their number. */
  dropBefore(time: number): number {
    this.#sort();
    const dropped = this.#firstAfter(time - 1);
    for (const column of Object.values(this.#columns)) column.copyWithin(0, dropped, this.#size);
    this.#size -= dropped;
    return dropped;
  }

  #put(time: number, { segment, offset, length }: EntryPosition): number {
    const at = this.#size;
    const columns = this.#columns;
    if (at === columns.time.length) grow(columns);
    if (at > 0 && time < (columns.time[at - 1] ?? 0)) {
      if (this.#unsortedFrom === Number.POSITIVE_INFINITY) this.#sortedSize = at;
      this.#unsortedFrom = Math.min(this.#unsortedFrom, time);
    }
    columns.time[at] = time;
    columns.offset[at] = offset;
    columns.length[at] = length;
    columns.segment[at] = segment;
    this.#size += 1;
    return at;
  }

  #number(label: Label, text: string): number {
    const numbers = this.#numbers[label];
    const known = numbers.get(text) ?? numbers.size;
    if (known === numbers.size) numbers.set(text, known);
    return known;
  }

  #position(at: number): EntryPosition {
    const { segment, offset, length } = this.#columns;
    return { segment: segment[at] ?? 0, offset: offset[at] ?? 0, length: length[at] ?? 0 };
  }

  #matcher({ id, requestId, recordId, withoutTools = [], without, ...filter }: AuditFilter): (at: number) => boolean {
    const { tool, door, record, other } = this.#columns;
    const equal: [Column, number | undefined][] = LABELS.flatMap((label) => {
      const wanted = filter[label];
      return wanted === undefined ? [] : [[this.#columns[label], this.#numbers[label].get(wanted)]];
    });
    if (id !== undefined) equal.push([this.#columns.id, markOf(id)]);
    if (requestId !== undefined) equal.push([this.#columns.request, markOf(requestId)]);
    const left = new Set(withoutTools.map((name) => this.#numbers.tool.get(name)));
    const gone = new Set(without?.tools.map((name) => this.#numbers.tool.get(name)));
    const atDoor = without && this.#numbers.door.get(without.door);
    const about = recordId === undefined ? undefined : markOf(recordId);
    const isAbout = (at: number) => record[at] === about || other[at] === about || other[at] === MORE;
    return (at) =>
      equal.every(([column, wanted]) => column[at] === wanted) &&
      (left.size === 0 || !left.has(tool[at])) &&
      (atDoor === undefined || door[at] !== atDoor || !gone.has(tool[at])) &&
      (about === undefined || isAbout(at));
  }

  #firstAfter(time: number, end = this.#size): number {
    let low = 0;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#columns.time[middle] ?? 0) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Sorts the entries. Most come in order, so only those later than the earliest one out of order are sorted again. */
  #sort(): void {
    if (this.#unsortedFrom === Number.POSITIVE_INFINITY) return;
    const { time } = this.#columns;
    const first = this.#firstAfter(this.#unsortedFrom, this.#sortedSize);
    const order = Uint32Array.from({ length: this.#size - first }, (_, at) => first + at);
    order.sort((a, b) => (time[a] ?? 0) - (time[b] ?? 0) || a - b);
    for (const column of Object.values(this.#columns)) {
      const sorted = column.slice(first, this.#size);
      for (const [at, from] of order.entries()) sorted[at] = column[from] ?? 0;
      column.set(sorted, first);
    }
    this.#unsortedFrom = Number.POSITIVE_INFINITY;
  }
}

type Columns = Record<'time' | 'offset', Float64Array> & Record<'length' | 'segment' | Label | Mark, Uint32Array>;

function columnsOf(capacity: number): Columns {
  const integers = INTEGERS.map((name) => [name, new Uint32Array(capacity)] as const);
  const floats = { time: new Float64Array(capacity), offset: new Float64Array(capacity) };
  return { ...floats, ...(Object.fromEntries(integers) as Record<(typeof INTEGERS)[number], Uint32Array>) };
}

function grow(columns: Columns): void {
  const larger = columnsOf(Math.ceil(columns.time.length * 1.5));
  larger.time.set(columns.time);
  larger.offset.set(columns.offset);
  for (const name of INTEGERS) larger[name].set(columns[name]);
  Object.assign(columns, larger);
}

/** Marks are hashes, which different texts may share, so an entry found by one must be read and compared. */
export function isByMark({ id, requestId, recordId }: AuditFilter): boolean {
  return id !== undefined || requestId !== undefined || recordId !== undefined;
}

export function matchesMarked(entry: AuditEntry, { id, requestId, recordId }: AuditFilter): boolean {
  if (id !== undefined && entry.id !== id) return false;
  if (requestId !== undefined && entry.requestId !== requestId) return false;
  return recordId === undefined || recordsOf(entry).includes(recordId);
}
