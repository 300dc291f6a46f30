/** Things that are lent to one caller at a time. Callers get them in the order in which they came. */
export class ResourcePool<Thing> {
  readonly #all: readonly Thing[];
  readonly #idle: Thing[];
  readonly #waiting: ((thing: Thing) => void)[] = [];
  #allBack: (() => void) | undefined;

  constructor(things: readonly Thing[]) {
    this.#all = things;
    this.#idle = [...things];
  }

  /** Callers come in turn. @throws the reason of the signal when it is aborted, also where the work then fails otherwise */
  async use<Result>(work: (thing: Thing) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    const thing = await this.#take(signal);
    try {
      return await work(thing);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      this.#giveBack(thing);
    }
  }

  #take(signal?: AbortSignal): Promise<Thing> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return Promise.resolve(idle);
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(given), 1);
        reject(signal?.reason);
      };
      const given = (thing: Thing) => {
        signal?.removeEventListener('abort', leave);
        resolve(thing);
      };
      this.#waiting.push(given);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #giveBack(thing: Thing): void {
    const next = this.#waiting.shift();
    if (next) next(thing);
    else this.#idle.push(thing);
    if (this.#idle.length === this.#all.length) this.#allBack?.();
  }

  async allBack(): Promise<readonly Thing[]> {
    if (this.#idle.length < this.#all.length) {
      await new Promise<void>((resolve) => {
        this.#allBack = resolve;
      });
    }
    return this.#all;
  }
}
