/** Places for runs that do something. One that waits takes none. */
const MOST_AT_ONCE = 16;
/** Beyond those an owner who has none may have one, so that nobody waits for another's runs to end. */
const MOST_IN_ALL = 48;

/** Gives places to owners who want one: first to whom has the fewest, among equals in turn. */
export class FlowPlaces {
  readonly #held = new Map<string, number>();
  /** Who wants one, longest since they got one first. */
  readonly #wanting = new Map<string, Set<() => void>>();
  #total = 0;

  /** Resolves with a place, or without one once the signal aborts. */
  async take(owner: string, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    const wants = this.#wanting.get(owner) ?? new Set();
    this.#wanting.set(owner, wants);
    const given = new Promise<boolean>((resolve) => {
      const give = () => settle(true);
      const giveUp = () => settle(false);
      const settle = (has: boolean) => {
        signal.removeEventListener('abort', giveUp);
        wants.delete(give);
        if (wants.size === 0 && this.#wanting.get(owner) === wants) this.#wanting.delete(owner);
        resolve(has);
      };
      wants.add(give);
      signal.addEventListener('abort', giveUp, { once: true });
    });
    this.#give();
    return given;
  }

  leave(owner: string): void {
    const left = (this.#held.get(owner) ?? 0) - 1;
    if (left > 0) this.#held.set(owner, left);
    else this.#held.delete(owner);
    this.#total -= 1;
    this.#give();
  }

  #give(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      const [owner, wants] = next;
      this.#held.set(owner, (this.#held.get(owner) ?? 0) + 1);
      this.#total += 1;
      this.#wanting.delete(owner);
      this.#wanting.set(owner, wants); // the others come before
      const [give] = wants;
      give?.();
    }
  }

  #next(): [string, Set<() => void>] | undefined {
    if (this.#total >= MOST_IN_ALL) return undefined;
    const few = (owner: string) => this.#held.get(owner) ?? 0;
    let found: [string, Set<() => void>] | undefined;
    for (const wish of this.#wanting) if (!found || few(wish[0]) < few(found[0])) found = wish;
    return found && (this.#total < MOST_AT_ONCE || few(found[0]) === 0) ? found : undefined;
  }
}

/** The place of one run, which it leaves while it waits. */
export class FlowPlace {
  readonly owner: string;
  readonly #places: FlowPlaces;
  #has: boolean;
  #ended = false;

  /** `has`: it was taken for the run already. */
  constructor(places: FlowPlaces, owner: string, has: boolean) {
    this.#places = places;
    this.owner = owner;
    this.#has = has;
  }

  /** Resolves when it has one, or the signal aborts. */
  async take(signal: AbortSignal): Promise<void> {
    if (this.#has || this.#ended || !(await this.#places.take(this.owner, signal))) return;
    if (this.#has || this.#ended) this.#places.leave(this.owner);
    else this.#has = true;
  }

  leave(): void {
    if (!this.#has) return;
    this.#has = false;
    this.#places.leave(this.owner);
  }

  /** For good. */
  end(): void {
    this.#ended = true;
    this.leave();
  }
}
