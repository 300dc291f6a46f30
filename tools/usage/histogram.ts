/** Each bucket ends so many times later than the one before, so a value in its middle is less than 2 % from all values in it. */
export const GROWTH = 1.04;
/** In milliseconds. Times are kept to a thousandth. */
export const SMALLEST = 0.001;
/** A spread of more values than this keeps only how many are in each bucket. */
const MOST_EXACT = 20_000;

/** Numbers of buckets, each followed by how many values lie in it. */
type Buckets = readonly number[];

export class Histogram {
  #values: number[] | undefined = [];
  #counts: number[] = [];

  add(ms: number): void {
    if (this.#values && this.#values.length >= MOST_EXACT) this.#toBuckets();
    if (this.#values) this.#values.push(ms);
    else this.#count(bucketOf(ms), 1);
  }

  /** `from`: the place where they begin in the list. */
  addBuckets(buckets: Buckets, from = 0): void {
    this.#toBuckets();
    for (let at = from; at + 1 < buckets.length; at += 2) this.#count(buckets[at] ?? 0, buckets[at + 1] ?? 0);
  }

  merge(other: Histogram): void {
    if (other.#values) {
      for (const ms of other.#values) this.add(ms);
      return;
    }
    this.#toBuckets();
    for (let bucket = 0; bucket < other.#counts.length; bucket += 1) {
      const count = other.#counts[bucket];
      if (count) this.#count(bucket, count);
    }
  }

  get buckets(): Buckets {
    const copy = new Histogram();
    copy.merge(this);
    copy.#toBuckets();
    return copy.#counts.flatMap((count, bucket) => [bucket, count]);
  }

  /** The values that at least these parts of all values do not exceed, in milliseconds. Null if there are no values. */
  percentiles(parts: readonly number[]): (number | null)[] {
    const sorted = this.#values?.toSorted((one, other) => one - other);
    if (sorted) return parts.map((part) => sorted[rankOf(part, sorted.length)] ?? null);
    const all = this.#counts.reduce((sum, count) => sum + count, 0);
    return parts.map((part) => {
      let left = rankOf(part, all);
      const found = this.#counts.findIndex((count = 0) => {
        left -= count;
        return left < 0;
      });
      return found < 0 ? null : middleOf(found);
    });
  }

  #toBuckets(): void {
    const values = this.#values ?? [];
    this.#values = undefined;
    for (const ms of values) this.#count(bucketOf(ms), 1);
  }

  #count(bucket: number, count: number): void {
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count;
  }
}

/** Bucket 0 is for no time at all. */
function bucketOf(ms: number): number {
  return ms < SMALLEST ? 0 : 1 + Math.ceil(Math.log(ms / SMALLEST) / Math.log(GROWTH) - 1e-9);
}

function middleOf(bucket: number): number {
  if (bucket === 0) return 0;
  const end = SMALLEST * GROWTH ** (bucket - 1);
  return Math.round(((2 * end) / (1 + GROWTH)) * 1000) / 1000;
}

function rankOf(part: number, count: number): number {
  return Math.max(0, Math.ceil(part * count - 1e-9) - 1);
}
