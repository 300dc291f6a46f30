import type { ChunkPart } from './summed-rows.ts';

/**
 * Each row has as its value the time at which the same user or visitor was there before, minus infinity for never. The distinct ones in a
 * period are its rows with a value before the period. So counting takes one look at each chunk.
 */
export interface ByPrevious {
  /** The values of all rows of the chunk, smallest first. */
  readonly sorted: Float64Array;
}

export const NEVER = Number.NEGATIVE_INFINITY;

/** How many rows of the stretch have values before the time. */
export function countBefore({ summary, chunk, low, high }: ChunkPart<ByPrevious>, time: number): number {
  const { values, size } = chunk;
  if (high - low === size) return countInOrder(summary.sorted, time);
  let count = 0;
  for (let place = low; place < high; place += 1) if ((values[place] ?? 0) < time) count += 1;
  return count;
}

function countInOrder(sorted: Float64Array, limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
