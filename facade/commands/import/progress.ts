/** A line that is overwritten on a terminal. Elsewhere nothing is shown. */
export class ProgressLine {
  readonly #total: number;
  readonly #out: NodeJS.WriteStream;
  readonly #started = performance.now();
  #shownAt = 0;

  constructor(total: number, out: NodeJS.WriteStream) {
    this.#total = total;
    this.#out = out;
  }

  /** Shows the progress at most ten times a second. */
  show(bytes: number, rows: number): void {
    const now = performance.now();
    if (!this.#out.isTTY || now - this.#shownAt < 100) return;
    this.#shownAt = now;
    const share = this.#total === 0 ? 1 : Math.min(1, bytes / this.#total);
    const bar = '#'.repeat(Math.round(share * 30)).padEnd(30, '.');
    const rate = Math.round(rows / ((now - this.#started) / 1000));
    this.#out.write(`\r[${bar}] ${Math.round(share * 100)} %  ${rows} rows, ${rate} a second `);
  }

  /** Removes the line. */
  end(): void {
    if (this.#out.isTTY && this.#shownAt > 0) this.#out.write('\r\u001b[2K');
    this.#shownAt = 0;
  }
}
