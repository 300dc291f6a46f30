/** The records that have a term, by slots that are only ever added in ascending order. */
export class Postings {
  /** Records that have the term now. */
  size = 0;
  /** Each slot followed by the term's weight in the record: 0 where the record is gone, so that nothing has to move. */
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

  /** Drops records that are gone; the others move to the slots given, in the same order. */
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

  /** Index of the first slot that is not below the given one. */
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
