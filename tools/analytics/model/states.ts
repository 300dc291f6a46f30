/** What imports said of one record over time: each statement holds from its own time until the next. */
export class States<Row extends { readonly effectiveAt?: string | undefined }> {
  /** By the time from which they hold; of equal times the later import counts. */
  readonly list: { readonly from: number; readonly row: Row; readonly text: string; readonly explicit: boolean }[] = [];
  /** The last statement that named no time of its own. */
  #implicit: string | undefined;

  /** Whether the row says what is known already. */
  holds(row: Row): boolean {
    const text = textOf(row);
    if (row.effectiveAt === undefined) return text === (this.#implicit ?? this.list.at(-1)?.text);
    const from = Date.parse(row.effectiveAt);
    return this.list.some((state) => state.explicit && state.from === from && state.text === text);
  }

  /** `from` is when it holds from, where the row does not say so. */
  put(row: Row, from: number): void {
    if (this.holds(row)) return;
    const explicit = row.effectiveAt !== undefined;
    const state = { from: explicit ? Date.parse(row.effectiveAt) : from, row, text: textOf(row), explicit };
    if (!explicit) this.#implicit = state.text;
    const same = this.list.findIndex((other) => explicit && other.explicit && other.from === state.from);
    if (same >= 0) this.list.splice(same, 1);
    let at = this.list.length;
    while (at > 0 && (this.list[at - 1]?.from ?? 0) > state.from) at -= 1;
    this.list.splice(at, 0, state);
  }

  /** The statement that holds last. */
  get latest(): Row | undefined {
    return this.list.at(-1)?.row;
  }
}

function textOf<Row extends { readonly effectiveAt?: string | undefined }>(row: Row): string {
  return JSON.stringify({ ...row, effectiveAt: undefined });
}
