import type { Clock } from '../../tools/flows/run/clock.ts';

/** A clock that stands until a test moves it on. */
export class FakeClock implements Clock {
  #now: number;
  readonly #timers = new Set<{ readonly at: number; readonly call: () => void }>();

  constructor(start: string) {
    this.#now = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#now);
  }

  after(ms: number, call: () => void): () => void {
    const timer = { at: this.#now + ms, call };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Waits, in real time, for what a timer began. */
  settle: () => Promise<void> = async () => {};

  /** Lets the time pass, timer by timer, each with what it begins. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.call();
      await this.settle();
    }
    this.#now = end;
  }

  /** Sets the clock as after a sleep of the machine: the time changes before any timer fires. */
  async jump(ms: number): Promise<void> {
    this.#now += ms;
    await this.pass(0);
  }
}
