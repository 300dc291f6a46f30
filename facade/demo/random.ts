/** Numbers that look like chance and are the same in every run (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Whether something happens that has this probability. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** A whole number that is the value on average. */
  round(value: number): number {
    return Math.floor(value) + (this.happens(value - Math.floor(value)) ? 1 : 0);
  }

  pick<Item>(items: readonly Item[]): Item {
    return itemAt(items, Math.floor(this.next() * items.length));
  }

  /** One of the items, each as often as its weight says. */
  weighted<Item>(items: readonly (readonly [Item, number])[]): Item {
    let rest = this.next() * items.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of items) {
      rest -= weight;
      if (rest < 0) return item;
    }
    return itemAt(items, items.length - 1)[0];
  }

  /** Takes so many out of the list, or what there is. */
  draw<Item>(items: Item[], count: number): Item[] {
    return Array.from({ length: Math.min(count, items.length) }, () =>
      itemAt(items.splice(Math.floor(this.next() * items.length), 1), 0),
    );
  }
}

function itemAt<Item>(items: readonly Item[], at: number): Item {
  if (at >= items.length) throw new Error('There is nothing to choose from.');
  // The place is within the list.
  return items[at] as Item;
}
