import type { Chunk } from './chunk.ts';
import { OrderedRows } from './ordered-rows.ts';
import type { Settling } from './settling.ts';

type Summarise<Summary> = (rows: Uint32Array, values: Float64Array) => Summary;

/** Rows `low` to before `high` of a chunk, and the summary of the whole chunk. */
export interface ChunkPart<Summary> {
  readonly summary: Summary;
  readonly chunk: Chunk<unknown>;
  readonly low: number;
  readonly high: number;
}

/** Rows by time, each with a value. Each chunk has a summary, so that not every row must be visited. */
export class SummedRows<Summary> extends OrderedRows<Summary> implements Settling {
  readonly #summarise: Summarise<Summary>;
  readonly #stale = new Set<Chunk<Summary>>();
  #summaries = 0;

  constructor(time: (row: number) => number, summarise: Summarise<Summary>) {
    super(time, undefined, true);
    this.#summarise = summarise;
  }

  /** Something about the row changed that summaries are made from. */
  touch(row: number): void {
    const chunk = this.#summaries > 0 && this.chunkWith(row);
    if (chunk) this.changed(chunk);
  }

  /** The rows with times in [from, to), chunk by chunk. */
  each(from: number, to: number, visit: (stretch: ChunkPart<Summary>) => void): void {
    this.eachChunk(from, to, (chunk, low, high) => visit({ summary: this.#summaryOf(chunk), chunk, low, high }));
  }

  /** Summaries of the rows with times in [from, to), for sums that do not depend on how the rows are cut. */
  sums(from: number, to: number): Summary[] {
    const found: Summary[] = [];
    this.each(from, to, ({ summary, chunk: { rows, values, size }, low, high }) => {
      const isWhole = high - low === size;
      found.push(isWhole ? summary : this.#summarise(rows.subarray(low, high), values.subarray(low, high)));
    });
    return found;
  }

  settle(until: number): boolean {
    for (const chunk of this.#stale) {
      if (performance.now() >= until) return false;
      this.#summaryOf(chunk);
    }
    return true;
  }

  protected override changed(chunk: Chunk<Summary>): void {
    if (chunk.summary !== undefined) {
      chunk.summary = undefined;
      this.#summaries -= 1;
    }
    if (chunk.size > 0) this.#stale.add(chunk);
    else this.#stale.delete(chunk);
  }

  #summaryOf(chunk: Chunk<Summary>): Summary {
    let { summary } = chunk;
    if (summary === undefined) {
      const { rows, values, size } = chunk;
      summary = this.#summarise(rows.subarray(0, size), values.subarray(0, size));
      chunk.summary = summary;
      this.#summaries += 1;
      this.#stale.delete(chunk);
    }
    return summary;
  }
}
