/** What questions were answered with, for as long as the answer is valid: its key says what it depends on. */
export class KeptAnswers<Answer> {
  readonly #kept = new Map<string, Answer>();
  readonly #runs = new Map<string, Run<Answer>>();

  /**
   * The kept answer, or one that `make` works out. Whoever asks the same meanwhile waits for the same answer. The signal given to `make` is
   * aborted when nobody waits any more.
   */
  async get(
    key: string,
    make: (signal: AbortSignal) => Promise<Answer>,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const kept = this.#kept.get(key);
    if (kept) return kept;
    signal?.throwIfAborted();
    const run = this.#runs.get(key) ?? this.#begin(key, make);
    run.waiting += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        reject(signal?.reason);
        run.waiting -= 1;
        if (run.waiting > 0) return;
        if (this.#runs.get(key) === run) this.#runs.delete(key);
        run.controller.abort(signal?.reason);
      };
      signal?.addEventListener('abort', leave, { once: true });
      run.answer.then(resolve, reject).finally(() => signal?.removeEventListener('abort', leave));
    });
  }

  #begin(key: string, make: (signal: AbortSignal) => Promise<Answer>): Run<Answer> {
    const controller = new AbortController();
    const run = { controller, waiting: 0, answer: make(controller.signal) };
    this.#runs.set(key, run);
    const end = () => {
      if (this.#runs.get(key) === run) this.#runs.delete(key);
    };
    run.answer.then((answer) => {
      end();
      if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
      this.#kept.set(key, answer);
    }, end);
    return run;
  }
}

const MOST_KEPT = 200;

interface Run<Answer> {
  readonly controller: AbortController;
  readonly answer: Promise<Answer>;
  /** How many wait for the answer. */
  waiting: number;
}
