import { endedResponses } from './batched-end.ts';

/** A turn of less than this is followed by the next at once. */
const SHORT_MS = 1;
/** After any other turn, others are served for up to so many times as long, if there are any. */
const SHARE_OF_OTHERS = 9;
const LONGEST_REST_MS = 1000;

interface Turn {
  begin(): void;
  readonly leastMs: number;
}

/**
 * Turns for work that holds up all others: reading and parsing large bodies, and the calls they make. There is one turn in a round of the
 * event loop, in which whatever else has come is served too. Callers take turns, however much work each of them has. Beside eight callers that
 * send bodies with the most members, another's 99th percentile is 5 to 8 ms; without turns it is 2 s.
 */
export class FairQueue {
  /** The caller whose turn is next comes first. */
  readonly #waiting = new Map<string, Turn[]>();
  #isRunning = false;

  /**
   * The work begins as soon as this resolves, and ends with the next `await` of something that is not there yet. `leastMs`: as how long it
   * counts where it is shorter.
   */
  next(caller: string, leastMs = 0): Promise<void> {
    return new Promise((begin) => {
      const before = this.#waiting.get(caller);
      if (before) before.push({ begin, leastMs });
      else this.#waiting.set(caller, [{ begin, leastMs }]);
      if (!this.#isRunning) this.#begin();
    });
  }

  #begin(): void {
    this.#isRunning = this.#waiting.size > 0;
    if (!this.#isRunning) return;
    let began = 0;
    let turn: Turn | undefined;
    setImmediate(() => {
      began = performance.now();
      turn = this.#take();
      turn?.begin();
    });
    // Runs in the same round, so that nothing but the work of the turn lies between the two.
    setImmediate(() => this.#rest(Math.max(performance.now() - began, turn?.leastMs ?? 0)));
  }

  #take(): Turn | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [caller, [turn, ...others]] = first;
    this.#waiting.delete(caller);
    if (others.length > 0) this.#waiting.set(caller, others);
    return turn;
  }

  #rest(tookMs: number): void {
    if (tookMs < SHORT_MS) {
      this.#begin();
      return;
    }
    const until = performance.now() + Math.min(SHARE_OF_OTHERS * tookMs, LONGEST_REST_MS);
    const look = (before: number) => {
      const ended = endedResponses();
      // One answer may be that of the turn itself.
      if (performance.now() >= until || ended - before < 2) this.#begin();
      else setTimeout(look, tookMs, ended);
    };
    setTimeout(look, tookMs, endedResponses());
  }
}
