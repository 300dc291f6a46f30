import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { OperatorError, StoreBusy } from '../errors.ts';
import type { OpenProgress } from '../open-progress.ts';

/** Shares of the heap's limit, at which Node.js ends the process. */
const NEARLY_FULL = 0.8;
const FULL = 0.9;
const TOO_FULL_TO_START = 0.97;
/** V8 counts the space of young objects into the limit, which cannot be had for old ones. */
const YOUNG_BYTES = 48 * 2 ** 20;
const MORE = 'give the process more with NODE_OPTIONS=--max-old-space-size (in MB)';
const REMEDY = `${MORE}, delete what is not needed, or move to PostgreSQL`;

/** How full the heap is, which holds all records of the embedded store. Only what is left by a garbage collection counts. */
export class Heap {
  readonly #observer: PerformanceObserver;
  #used = 0;

  constructor() {
    this.#observer = new PerformanceObserver((list) => {
      if (list.getEntries().some(isMajor)) this.#used = getHeapStatistics().used_heap_size;
    });
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  get isFull(): boolean {
    return this.#isAbove(FULL);
  }

  refusal(): StoreBusy {
    return new StoreBusy(
      `The memory of the process (${limitMb()} MB) is full, so nothing new was stored. To go on, ${REMEDY}; then try again. Reading and deleting go on.`,
    );
  }

  /** What the operator should do before it is full. */
  warning(): string | undefined {
    if (!this.#isAbove(NEARLY_FULL)) return undefined;
    const percent = Math.round((100 * this.#used) / limitBytes());
    return `The process uses ${percent} % of its memory (${limitMb()} MB). From ${100 * FULL} % on it stores nothing new: ${REMEDY}.`;
  }

  /** Ends an opening for which there is too little memory, which Node.js would end without saying why. */
  watched(opening: OpenProgress, folder: string): OpenProgress {
    return {
      step: (text) => {
        if (this.#isAbove(TOO_FULL_TO_START)) {
          throw new OperatorError(
            `The records in ${folder} do not fit into the memory of the process (${limitMb()} MB): ${MORE}, and start again.`,
          );
        }
        opening.step(text);
      },
      notice: (text) => opening.notice(text),
      signal: opening.signal,
    };
  }

  close(): void {
    this.#observer.disconnect();
  }

  /** Also without a later collection, it is not above what is used now. */
  #isAbove(share: number): boolean {
    if (this.#used === 0) return false;
    return Math.min(this.#used, getHeapStatistics().used_heap_size) > share * limitBytes();
  }
}

function limitBytes(): number {
  return getHeapStatistics().heap_size_limit - YOUNG_BYTES;
}

function limitMb(): number {
  return Math.round(limitBytes() / 2 ** 20);
}

function isMajor(entry: PerformanceEntry): boolean {
  const { detail } = entry as { readonly detail?: { readonly kind?: number } }; // as entries of `gc` have it
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
