import { backoffMs } from '../backoff.ts';
import type { JobOptions, JobPayload, Jobs, JobTable } from '../jobs-port.ts';

const BACKOFF = { firstMs: 1000, longestMs: 3_600_000 };

interface Job {
  readonly name: string;
  readonly payload: JobPayload;
  readonly key: string | undefined;
  readonly tries: number;
}

/** Jobs of the only process: they begin at once, and are forgotten when it ends. */
export class OwnJobs implements Jobs {
  readonly worker = undefined;
  readonly isLeader = true;
  readonly #served = new Set<Served>();
  /** Jobs that wait, those without a key under themselves. */
  readonly #waiting = new Map<string | Job, NodeJS.Timeout>();

  async isAlive(): Promise<boolean> {
    return false;
  }

  async open(): Promise<number> {
    const underWay = [...this.#served].reduce((sum, served) => sum + served.underWay.size, 0);
    return this.#waiting.size + underWay;
  }

  async add(name: string, payload: JobPayload, { key, afterMs = 0 }: JobOptions = {}): Promise<void> {
    this.#plan({ name, payload, key, tries: 0 }, afterMs);
  }

  serve(work: JobTable, onFailure: (cause: unknown) => void): () => Promise<void> {
    const served: Served = { work, onFailure, underWay: new Set() };
    this.#served.add(served);
    return async () => {
      this.#served.delete(served);
      await Promise.all(served.underWay);
    };
  }

  close(): void {
    this.#served.clear();
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }

  #plan(job: Job, waitMs: number): void {
    const place = job.key ?? job;
    clearTimeout(this.#waiting.get(place));
    this.#waiting.delete(place);
    if (waitMs <= 0) {
      this.#begin(job);
      return;
    }
    const timer = setTimeout(() => {
      this.#waiting.delete(place);
      this.#begin(job);
    }, waitMs);
    this.#waiting.set(place, timer.unref());
  }

  #begin(job: Job): void {
    for (const { work, onFailure, underWay } of this.#served) {
      const ended = work[job.name]?.(job.payload).catch((cause) => {
        onFailure(cause);
        this.#plan({ ...job, tries: job.tries + 1 }, backoffMs(job.tries, BACKOFF));
      });
      if (!ended) continue;
      underWay.add(ended);
      void ended.then(() => underWay.delete(ended));
      return;
    }
  }
}

interface Served {
  readonly work: JobTable;
  onFailure(cause: unknown): void;
  readonly underWay: Set<Promise<void>>;
}
