import type { OpenProgress } from '../../store/open-progress.ts';

const QUIET_MS = 2000;
const EVERY_MS = 5000;
const LOOK_MS = 250;
/** How long a start may take to end after a signal. Nothing is lost where it is cut off. */
const END_MS = 10_000;

/** The start of the server: its operator reads what takes long, and can end it by SIGTERM or Ctrl-C at any time. */
export class Start implements OpenProgress {
  readonly #stopping = new AbortController();
  readonly #begunAt = performance.now();
  readonly #looking: NodeJS.Timeout;
  #step = 'opening the store';
  #printed = '';
  #printedAt: number | undefined;
  #stop: (() => Promise<void>) | undefined;

  constructor() {
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#asked());
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  step(text: string): void {
    this.#step = text;
    this.#look(); // work that lets no timer run calls this
  }

  notice(text: string): void {
    console.log(text);
  }

  /** The start is over: from now on, a signal stops the server in this way, and the process ends with 0. */
  done(stop: () => Promise<void>): void {
    clearInterval(this.#looking);
    this.signal.throwIfAborted();
    this.#stop = stop;
  }

  /** A second signal ends the process at once. */
  #asked(): void {
    if (this.signal.aborted) process.exit(1);
    this.#stopping.abort(new Error('The start was ended by a signal.'));
    if (!this.#stop) setTimeout(() => process.exit(0), END_MS).unref();
    this.#stop?.().then(
      () => process.exit(0),
      (error) => {
        console.log(`The server could not end as it should: ${error}`);
        process.exit(1);
      },
    );
  }

  #look(): void {
    const now = performance.now();
    const isDue = this.#printedAt === undefined ? now - this.#begunAt >= QUIET_MS : now - this.#printedAt >= EVERY_MS;
    if (!isDue) return;
    this.#printedAt = now;
    const seconds = Math.round((now - this.#begunAt) / 1000);
    const isSame = this.#printed === this.#step;
    this.#printed = this.#step;
    console.log(`Starting for ${seconds} s: ${isSame ? 'still ' : ''}${this.#step}.`);
  }
}
