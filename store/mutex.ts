/** Lets callers run one at a time, in the order they came. */
export class Mutex {
  #last: Promise<void> = Promise.resolve();

  async take(): Promise<() => void> {
    const before = this.#last;
    let end = () => {};
    this.#last = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    return end;
  }
}
