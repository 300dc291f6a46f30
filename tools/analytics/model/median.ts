/** Up to this many numbers are searched one by one. */
const FEW = 256;

/** The part of a sorted list that can still contain the wanted number. */
interface Part {
  readonly values: Float64Array;
  low: number;
  high: number;
}

/** Null where there are no numbers. */
export function median(values: ArrayLike<number>): number | null {
  const own = Float64Array.from(values);
  return middle(own.length, (rank) => select(own, rank));
}

/** The median of the numbers in several sorted lists. It does not visit every number. */
export function medianOfSorted(lists: readonly Float64Array[]): number | null {
  const size = lists.reduce((sum, { length }) => sum + length, 0);
  return middle(size, (rank) => nth(lists, rank));
}

function middle(size: number, at: (rank: number) => number): number | null {
  if (size === 0) return null;
  const upper = at(size >>> 1);
  return size % 2 === 1 ? upper : (at((size >>> 1) - 1) + upper) / 2;
}

/** The number with this rank. Changes the order of the values. */
function select(values: Float64Array, rank: number): number {
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const pivot = values[(low + high) >>> 1] ?? 0;
    let [left, right] = [low, high];
    while (left <= right) {
      while ((values[left] ?? 0) < pivot) left += 1;
      while ((values[right] ?? 0) > pivot) right -= 1;
      if (left > right) break;
      const moved = values[left] ?? 0;
      values[left] = values[right] ?? 0;
      values[right] = moved;
      left += 1;
      right -= 1;
    }
    if (rank <= right) high = right;
    else if (rank >= left) low = left;
    else return values[rank] ?? 0;
  }
  return values[rank] ?? 0;
}

/** Narrows the lists around the middle of the longest part until few numbers are left. */
function nth(lists: readonly Float64Array[], count: number): number {
  let parts: Part[] = lists.map((values) => ({ values, low: 0, high: values.length }));
  let rank = count;
  for (;;) {
    parts = parts.filter(({ low, high }) => low < high);
    if (parts.reduce((sum, { low, high }) => sum + high - low, 0) <= FEW) return select(together(parts), rank);
    const { values, low, high } = parts.reduce((most, part) => (lengthOf(part) > lengthOf(most) ? part : most));
    const pivot = values[(low + high) >>> 1] ?? 0;
    const cuts = parts.map((part) => {
      const first = firstFrom(part, pivot, false);
      return { part, first, behind: firstFrom({ ...part, low: first }, pivot, true) };
    });
    const below = cuts.reduce((sum, { part, first }) => sum + first - part.low, 0);
    const upTo = cuts.reduce((sum, { part, behind }) => sum + behind - part.low, 0);
    if (rank >= below && rank < upTo) return pivot;
    for (const { part, first, behind } of cuts) {
      if (rank < below) part.high = first;
      else part.low = behind;
    }
    if (rank >= upTo) rank -= upTo;
  }
}

function lengthOf({ low, high }: Part): number {
  return high - low;
}

function together(parts: readonly Part[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, part) => sum + lengthOf(part), 0));
  let at = 0;
  for (const part of parts) {
    all.set(part.values.subarray(part.low, part.high), at);
    at += lengthOf(part);
  }
  return all;
}

/** The first place in the part whose number is at least the limit, or greater than the limit. */
function firstFrom({ values, low, high }: Part, limit: number, isAbove: boolean): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const value = values[middle] ?? 0;
    if (value < limit || (isAbove && value === limit)) from = middle + 1;
    else to = middle;
  }
  return from;
}
