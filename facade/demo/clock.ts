/** The clock of a store that is filled with a past: set to where the story is, and at last to the real time. */
export class DemoClock {
  #behind = 0;

  readonly now = (): Date => new Date(Date.now() - this.#behind);

  /** Goes on from this time at the usual pace. */
  set(time: number): void {
    this.#behind = Date.now() - time;
  }

  release(): void {
    this.#behind = 0;
  }
}
