import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { OperatorError } from '../errors.ts';
import type { OpenProgress } from '../open-progress.ts';

const MIB = 2 ** 20;
const LIMIT = heapLimit([...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' '));
/** What stays free for the calls under way: a tenth, and not less than they need in a small process. */
const FREE = Math.max(0.1 * LIMIT, 32 * MIB);
const COLLECT_EVERY_MS = 30_000;
const MORE = 'give the process more with NODE_OPTIONS=--max-old-space-size (in MB)';
const REMEDY = `${MORE}, purge what is not needed (purge_record), or move to PostgreSQL`;

/** How full the heap is, which holds all records of the embedded store. Only what is left by a garbage collection counts. */
export class Heap {
  readonly #observer: PerformanceObserver;
  #used = 0;
  #collectedAt = Number.NEGATIVE_INFINITY;

  constructor() {
    this.#observer = new PerformanceObserver((list) => {
      if (list.getEntries().some(isMajor)) this.#look();
    });
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /** Why nothing is to be added. Undefined while there is room. */
  refusal(): string | undefined {
    if (!this.#leavesLessThan(FREE)) return undefined;
    this.#collect();
    if (!this.#leavesLessThan(FREE)) return undefined;
    return `The memory of the process (${megabytes(LIMIT)} MB) is nearly full, so nothing is added. To go on, ${REMEDY}; then try again in a minute. Reading and purging go on.`;
  }

  /** What the operator should do before nothing is added any more. */
  warning(): string | undefined {
    if (!this.#leavesLessThan(2 * FREE)) return undefined;
    return `The process uses ${megabytes(this.#used)} of its ${megabytes(LIMIT)} MB of memory. With less than ${megabytes(FREE)} MB left nothing is added: ${REMEDY}.`;
  }

  /** Ends an opening for which there is too little memory, which Node.js would end without saying why. */
  watched(opening: OpenProgress, folder: string): OpenProgress {
    return {
      step: (text) => {
        if (this.#leavesLessThan(FREE / 2)) {
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

  #look(): void {
    this.#used = getHeapStatistics().used_heap_size;
  }

  /** Once in a while it makes sure, because V8 may not collect for long what was purged. */
  #collect(): void {
    if (performance.now() - this.#collectedAt < COLLECT_EVERY_MS) return;
    setFlagsFromString('--expose-gc');
    runInNewContext('gc')();
    this.#look();
    this.#collectedAt = performance.now();
  }

  /** Whether less is left by what the last collection found, and also by what is used now. */
  #leavesLessThan(bytes: number): boolean {
    return this.#used > LIMIT - bytes && getHeapStatistics().used_heap_size > LIMIT - bytes;
  }
}

/** Bytes that records can have. Without the option, V8 counts the space of young objects in, up to a tenth. */
function heapLimit(options: string): number {
  const given = /--max[-_]old[-_]space[-_]size[= ](\d+)/.exec(options)?.[1];
  return given === undefined ? 0.9 * getHeapStatistics().heap_size_limit : Number(given) * MIB;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / MIB);
}

function isMajor(entry: PerformanceEntry): boolean {
  const { detail } = entry as { readonly detail?: { readonly kind?: number } }; // as entries of `gc` have it
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
