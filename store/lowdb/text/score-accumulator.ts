/** A record is found when its words make up this share of the query's weight. Common words weigh little. */
const ENOUGH = 0.3;

/** Adds up the weights of a query's words by slot. One object serves all searches, so a search allocates nothing. */
export class ScoreAccumulator {
  #best = new Float64Array(0);
  #sums = new Float64Array(0);
  #rarities = new Float64Array(0);
  /** Slots that have the current word, and slots that have any word. */
  #ofWord = new Uint32Array(0);
  #found = new Uint32Array(0);
  #countOfWord = 0;
  #countFound = 0;
  /** Summed rarity of all words, and of the words that some record has. */
  #asked = 0;
  #known = 0;

  begin(slots: number): void {
    for (let at = 0; at < this.#countFound; at += 1) {
      const slot = this.#found[at] ?? 0;
      this.#sums[slot] = 0;
      this.#rarities[slot] = 0;
    }
    for (let at = 0; at < this.#countOfWord; at += 1) this.#best[this.#ofWord[at] ?? 0] = 0;
    [this.#countFound, this.#countOfWord, this.#asked, this.#known] = [0, 0, 0, 0];
    if (slots > this.#sums.length) this.#grow(Math.ceil(slots * 1.25));
  }

  offer(slot: number, value: number): void {
    const best = this.#best[slot] ?? 0;
    if (best === 0) this.#ofWord[this.#countOfWord++] = slot;
    if (value > best) this.#best[slot] = value;
  }

  add(slot: number, value: number, rarity: number): void {
    const before = this.#rarities[slot] ?? 0;
    if (before === 0) this.#found[this.#countFound++] = slot;
    this.#rarities[slot] = before + rarity;
    this.#sums[slot] = (this.#sums[slot] ?? 0) + rarity * value;
  }

  /** Ends the current word. `isKnown`: some record has the word. */
  endWord(rarity: number, isKnown: boolean): void {
    this.#asked += rarity;
    if (isKnown) this.#known += rarity;
    for (let at = 0; at < this.#countOfWord; at += 1) {
      const slot = this.#ofWord[at] ?? 0;
      this.add(slot, this.#best[slot] ?? 0, rarity);
      this.#best[slot] = 0;
    }
    this.#countOfWord = 0;
  }

  /** Visits slots with enough weight of the known words, the last first: they mostly hold newer records, which win equal scores. */
  visit(visit: (slot: number, score: number) => void): void {
    const needed = this.#known * ENOUGH;
    for (let at = this.#countFound - 1; at >= 0; at -= 1) {
      const slot = this.#found[at] ?? 0;
      if ((this.#rarities[slot] ?? 0) < needed) continue;
      const score = Math.round(((this.#sums[slot] ?? 0) / this.#asked) * 1e6) / 1e6;
      visit(slot, Math.min(Math.max(score, 1e-6), 1 - 1e-6));
    }
  }

  #grow(slots: number): void {
    this.#best = new Float64Array(slots);
    this.#sums = new Float64Array(slots);
    this.#rarities = new Float64Array(slots);
    this.#ofWord = new Uint32Array(slots);
    this.#found = new Uint32Array(slots);
  }
}
