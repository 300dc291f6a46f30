import { setImmediate } from 'node:timers/promises';

export interface OpenProgress {
  /** Called with what is done from now on, in a few words for the operator, also where it only went on. */
  step(text: string): void;
  /** Called with sentences that the operator has to read, however short it takes. */
  notice(text: string): void;
  readonly signal: AbortSignal;
}

export const noProgress: OpenProgress = { step() {}, notice() {}, signal: new AbortController().signal };

const LONGEST_MS = 50;

/** Reports the progress of a long read, and yields to other work of the process, such as signals. */
export class ReadProgress {
  readonly #opening: OpenProgress;
  readonly #what: string;
  readonly #bytes: number;
  #since = performance.now();

  /** `what`: as in "reading the journal". `bytes`: how many there are in all. */
  constructor(opening: OpenProgress, what: string, bytes: number) {
    this.#opening = opening;
    this.#what = what;
    this.#bytes = bytes;
  }

  get isLong(): boolean {
    return performance.now() - this.#since > LONGEST_MS;
  }

  async pause(read: number): Promise<void> {
    this.#opening.step(`${this.#what}, ${megabytes(read)} of ${megabytes(this.#bytes)} MB`);
    await setImmediate();
    this.#opening.signal.throwIfAborted();
    this.#since = performance.now();
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(0);
}
