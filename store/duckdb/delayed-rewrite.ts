/** Soon enough for people, late enough that several removals share one copy. */
const SOON_MS = 1000;
const RETRY_MS = 10 * 60 * 1000;

/** Rewrites the file some time after rows of users were removed. */
export class DelayedRewrite {
  readonly #rewrite: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  error: Error | undefined;

  constructor(rewrite: () => Promise<void>) {
    this.#rewrite = rewrite;
  }

  soon(delayMs = SOON_MS): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#run(), delayMs).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    try {
      await this.#rewrite();
      this.error = undefined;
    } catch (cause) {
      if (this.#stopped) return;
      const reason = cause instanceof Error ? cause.message : String(cause);
      this.error = new Error(`removed rows could not be taken out of the file: ${reason}`, { cause });
      this.soon(RETRY_MS);
    }
  }
}
