/** Wakes a waiter, now or at its next wait. */
export class WakeSignal {
  #rang = false;
  #ring = () => {};

  /** Whether it rang since `reset`. */
  get rang(): boolean {
    return this.#rang;
  }

  ring(): void {
    this.#rang = true;
    this.#ring();
  }

  reset(): void {
    this.#rang = false;
  }

  /** Resolves when it rings, or at once if it rang since `reset`. */
  wait(): Promise<void> {
    if (this.#rang) return Promise.resolve();
    return new Promise((resolve) => {
      this.#ring = resolve;
    });
  }
}
