/** The number of runs that can be active at once. A run that waits is not active. */
export const MOST_AT_ONCE = 16;
/** Up to this number, an owner without a slot gets one beyond `MOST_AT_ONCE`, so that nobody waits for the runs of others. */
export const MOST_IN_ALL = 48;

/** Gives slots to owners who want one: first to the owner with the fewest, equal owners in turn. */
export class RunSlots {
  readonly #held = new Map<string, number>();
  /** Owners who want a slot. The one who got a slot longest ago comes first. */
  readonly #wanting = new Map<string, Set<() => void>>();
  #total = 0;

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

  hasRoom(owner: string): boolean {
    return this.#total < (this.#held.has(owner) ? MOST_AT_ONCE : MOST_IN_ALL);
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
      this.#wanting.set(owner, wants); // the others move before this one
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

/** The slot of one run. The run leaves it while it waits. */
export class RunSlot {
  readonly owner: string;
  readonly #slots: RunSlots;
  #has: boolean;
  #ended = false;

  /** `has`: a slot was already taken for the run. */
  constructor(slots: RunSlots, owner: string, has: boolean) {
    this.#slots = slots;
    this.owner = owner;
    this.#has = has;
  }

  /** Resolves when the run has a slot, or when the signal aborts. */
  async take(signal: AbortSignal): Promise<void> {
    if (this.#has || this.#ended || !(await this.#slots.take(this.owner, signal))) return;
    if (this.#has || this.#ended) this.#slots.leave(this.owner);
    else this.#has = true;
  }

  leave(): void {
    if (!this.#has) return;
    this.#has = false;
    this.#slots.leave(this.owner);
  }

  end(): void {
    this.#ended = true;
    this.leave();
  }
}
