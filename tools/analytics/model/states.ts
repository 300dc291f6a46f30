interface State<Row> {
  readonly from: number;
  readonly row: Row;
  readonly text: string;
  readonly explicit: boolean;
  /** Position of the row in the log. */
  readonly position: number;
}

/** What imports said about one record over time. Each statement counts from its own time until the next one. */
export class States<Row extends { readonly effectiveAt?: string | undefined }> {
  /** Sorted by the time from which they count. Of equal times, one that gives its time counts; otherwise the later import. */
  readonly list: State<Row>[] = [];
  /** The last statement that did not give its time. */
  #implicit: string | undefined;
  /** Positions of rows that must be kept, because later rows would mean something else without them. */
  readonly #needed: number[] = [];

  /** Whether the row says only what is already known. */
  holds(row: Row): boolean {
    const text = textOf(row);
    if (row.effectiveAt === undefined) return text === (this.#implicit ?? this.list.at(-1)?.text);
    const from = Date.parse(row.effectiveAt);
    return this.list.some((state) => state.explicit && state.from === from && state.text === text);
  }

  /** `from` is the time from which the row counts if it does not say so. Returns the position of the row that no longer counts. */
  put(row: Row, from: number, position: number): number | undefined {
    this.#need(row, position);
    if (this.holds(row)) return position;
    const explicit = row.effectiveAt !== undefined;
    const state = { from: explicit ? Date.parse(row.effectiveAt) : from, row, text: textOf(row), explicit, position };
    if (!explicit) this.#implicit = state.text;
    const same = this.list.findIndex((other) => explicit && other.explicit && other.from === state.from);
    const [replaced] = same < 0 ? [] : this.list.splice(same, 1);
    let at = this.list.length;
    while (isBefore(state, this.list[at - 1])) at -= 1;
    this.list.splice(at, 0, state);
    return replaced && !this.#needed.includes(replaced.position) ? replaced.position : undefined;
  }

  /** The positions of the statements in the log. */
  get positions(): readonly number[] {
    return [...new Set([...this.list.map(({ position }) => position), ...this.#needed])];
  }

  /** The statement that counts last. */
  get latest(): Row | undefined {
    return this.list.at(-1)?.row;
  }

  /**
   * Keeps the row if later ones depend on it: the first statement counts from the start, and a row without a time is compared with the last
   * statement without a time.
   */
  #need(row: Row, position: number): void {
    const last = this.list.at(-1);
    if (!last) this.#needed.push(position);
    else if (row.effectiveAt === undefined && this.#implicit === undefined) this.#needed.push(last.position);
  }
}

function isBefore<Row>(state: State<Row>, other: State<Row> | undefined): boolean {
  if (!other || other.from < state.from) return false;
  return other.from > state.from || (other.explicit && !state.explicit);
}

function textOf<Row extends { readonly effectiveAt?: string | undefined }>(row: Row): string {
  return JSON.stringify({ ...row, effectiveAt: undefined });
}
