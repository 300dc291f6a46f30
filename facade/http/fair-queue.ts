import { endedResponses } from './batched-end.ts';

const SHORT_MS = 1;
/** After any other turn, others are served for up to so many times as long, if there are any. */
const SHARE_OF_OTHERS = 9;
const LONGEST_REST_MS = 1000;

interface Turn {
  begin(): void;
  readonly leastMs: number;
}

/**
 * One turn in a round of the event loop, callers in turns, for work that blocks it. Beside eight callers with the heaviest bodies the p99
 * of another is 5 to 8 ms; without turns 2 s.
 */
export class FairQueue {
  /** The caller whose turn is next comes first. */
  readonly #waiting = new Map<string, Turn[]>();
  #isRunning = false;

  /** The work begins when this resolves and ends with its next `await`. `leastMs`: as how long it counts at least. */
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
