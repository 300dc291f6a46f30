/** What questions were answered with, for as long as it is valid. */
export class AnswerCache<Answer> {
  readonly #kept = new Map<string, Answer>();
  readonly #runs = new Map<string, Run<Answer>>();
  #state: string | undefined;

  /** The cached answer, or that of `make`, computed once for concurrent callers and aborted when nobody waits. No answer outlives its state. */
  async get(
    { state, question }: { readonly state: string; readonly question: string },
    make: (signal: AbortSignal) => Promise<Answer>,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    if (state !== this.#state) this.#kept.clear();
    this.#state = state;
    const key = `${state} ${question}`;
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
      this.#keep(key, answer);
    }, end);
    return run;
  }

  #keep(key: string, answer: Answer): void {
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= MOST_KEPT) this.#kept.delete(oldest);
    this.#kept.set(key, answer);
  }
}

/** Few, since a long answer takes up to a megabyte with its JSON. */
const MOST_KEPT = 16;

interface Run<Answer> {
  readonly controller: AbortController;
  readonly answer: Promise<Answer>;
  waiting: number;
}
