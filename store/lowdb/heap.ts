import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { OperatorError, StoreBusy } from '../errors.ts';
import type { OpenProgress } from '../open-progress.ts';

/** The space of young objects, which V8 counts into the limit though records cannot have it: by the version of Node.js. */
const YOUNG_MB: Readonly<Record<string, number>> = { 20: 48, 22: 48, 24: 192, 26: 96 };
const [major = ''] = process.versions.node.split('.');
const LIMIT = getHeapStatistics().heap_size_limit - (YOUNG_MB[major] ?? 192) * 2 ** 20;
const LEAST_FREE_BYTES = 32 * 2 ** 20;
/** What stays free for the calls under way: a tenth, and not less than they need in a small process. */
const FREE = Math.max(0.1 * LIMIT, LEAST_FREE_BYTES);
const MORE = 'give the process more with NODE_OPTIONS=--max-old-space-size (in MB)';
const REMEDY = `${MORE}, purge what is not needed (purge_record), or move to PostgreSQL`;

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
    return this.#leavesLessThan(1);
  }

  refusal(): StoreBusy {
    return new StoreBusy(
      `The memory of the process (${megabytes(LIMIT)} MB) is full, so nothing new was stored. To go on, ${REMEDY}; then try again. Reading and purging go on.`,
    );
  }

  /** What the operator should do before it is full. */
  warning(): string | undefined {
    if (!this.#leavesLessThan(2)) return undefined;
    return `The process uses ${megabytes(this.#used)} of its ${megabytes(LIMIT)} MB of memory. With less than ${megabytes(FREE)} MB left it stores nothing new: ${REMEDY}.`;
  }

  /** Ends an opening for which there is too little memory, which Node.js would end without saying why. */
  watched(opening: OpenProgress, folder: string): OpenProgress {
    return {
      step: (text) => {
        if (this.#leavesLessThan(0.5)) {
          throw new OperatorError(
            `The records in ${folder} do not fit into the memory of the process (${megabytes(LIMIT)} MB): ${MORE}, and start again.`,
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

  /** Whether it leaves less than so many times what stays free. Without a later collection, what is used now counts if it is less. */
  #leavesLessThan(times: number): boolean {
    const most = LIMIT - times * FREE;
    return this.#used > most && getHeapStatistics().used_heap_size > most;
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

function isMajor(entry: PerformanceEntry): boolean {
  const { detail } = entry as { readonly detail?: { readonly kind?: number } }; // as entries of `gc` have it
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
