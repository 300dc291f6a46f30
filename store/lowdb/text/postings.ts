/** The records that contain a term, as slots in ascending order. Slots are only ever added at the end. */
export class Postings {
  /** The number of records that have the term now. */
  size = 0;
  /** Pairs of a slot and the term's weight in that record. A removed record has weight 0, so that nothing has to move. */
  readonly pairs: number[] = [];

  add(slot: number, weight: number): void {
    this.pairs.push(slot, weight);
    this.size += 1;
  }

  remove(slot: number): void {
    const place = this.#placeOf(slot);
    if (this.pairs[place] !== slot || this.pairs[place + 1] === 0) return;
    this.pairs[place + 1] = 0;
    this.size -= 1;
  }

  /** Removes the records that are gone and gives the others their new slots, in the same order. */
  renumber(slots: ArrayLike<number>): void {
    const { pairs } = this;
    let kept = 0;
    for (let at = 0; at < pairs.length; at += 2) {
      const weight = pairs[at + 1] ?? 0;
      if (weight === 0) continue;
      pairs[kept] = slots[pairs[at] ?? 0] ?? 0;
      pairs[kept + 1] = weight;
      kept += 2;
    }
    pairs.length = kept;
  }

  /** Index of the first slot that is not lower than the given one. */
  #placeOf(slot: number): number {
    let low = 0;
    let high = this.pairs.length / 2;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.pairs[middle * 2] ?? 0) < slot) low = middle + 1;
      else high = middle;
    }
    return low * 2;
  }
}
