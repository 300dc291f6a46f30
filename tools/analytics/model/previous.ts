import type { Stretch } from './summed-rows.ts';

/**
 * The value of a row is when whoever is in it was there last before, minus infinity for never. Those distinct in a stretch of time are its
 * rows with a value before it, so that any stretch is counted by one look at each chunk.
 */
export interface ByPrevious {
  /** The places in the chunk from the least value on. */
  readonly order: Uint8Array;
}

export const NEVER = Number.NEGATIVE_INFINITY;

/** A chunk has at most 256 values. */
export function orderOf(values: Float64Array): Uint8Array {
  const order = Uint8Array.from(values, (_, place) => place);
  return order.sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0) || a - b);
}

/** How many rows of the stretch have values before the time. */
export function countBefore({ summary, chunk, low, high }: Stretch<ByPrevious>, time: number): number {
  const { values, size } = chunk;
  if (high - low === size) return countInOrder(values, summary.order, time);
  let count = 0;
  for (let place = low; place < high; place += 1) if ((values[place] ?? 0) < time) count += 1;
  return count;
}

function countInOrder(values: Float64Array, order: Uint8Array, limit: number): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[order[middle] ?? 0] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
