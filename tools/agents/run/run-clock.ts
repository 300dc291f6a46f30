import { ToolError } from '../../core/errors.ts';

/** A run that did not finish. The message of the error says why and is safe to show. */
export class RunEnded extends Error {
  readonly status: 'failed' | 'cancelled';
  readonly error: ToolError;
  /** The unfinished text of the answer, where the caller or the time limit ended the run. */
  readonly unfinished: string;

  constructor(status: RunEnded['status'], error: ToolError, unfinished = '') {
    super(error.message);
    this.status = status;
    this.error = error;
    this.unfinished = unfinished;
  }
}

export function cancelled(): ToolError {
  return new ToolError('unavailable', 'The run was cancelled.');
}

/** Ends a run when its caller goes away or its time is over. */
export class RunClock {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #runMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #cancel = () => this.#controller.abort(this.#outer?.reason);

  constructor(outer: AbortSignal | undefined, runMs: number) {
    this.#outer = outer;
    this.#runMs = runMs;
    this.#timer = setTimeout(() => this.#controller.abort('time'), runMs);
    if (outer?.aborted) this.#cancel();
    else outer?.addEventListener('abort', this.#cancel, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the run because its caller may not continue, or because somebody wants it to end. */
  end(problem: ToolError): void {
    this.#controller.abort(problem);
  }

  ended(unfinished: string): RunEnded {
    const { reason } = this.signal;
    if (reason instanceof ToolError) return new RunEnded('cancelled', reason, unfinished);
    if (reason !== 'time') {
      return new RunEnded('cancelled', cancelled(), unfinished);
    }
    const seconds = Math.round(this.#runMs / 1000);
    const message = `The run took longer than ${seconds} seconds and was ended; ask for less at a time.`;
    return new RunEnded('failed', new ToolError('unavailable', message), unfinished);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#cancel);
  }
}
