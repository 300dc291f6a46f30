/** How long after a refusal a refresh counts as its consequence. */
const ANSWERED_WITHIN_MS = 5000;
const MOST_NOTED = 10_000;

/**
 * Apps whose call was just refused because it needs more than they were given. Some clients answer that with a refresh, which cannot give more, and
 * then give up; where the refresh is refused once, they ask the person again. The refused token stays good for clients that ask by themselves.
 */
export class StepUps {
  readonly #now: () => Date;
  readonly #noted = new Map<string, number>();

  constructor(now: () => Date) {
    this.#now = now;
  }

  note(appId: string): void {
    if (this.#noted.size >= MOST_NOTED) this.#noted.clear();
    this.#noted.set(appId, this.#now().getTime());
  }

  /** Whether the app's refresh is to be refused: once after each refusal of a call. */
  take(appId: string): boolean {
    const at = this.#noted.get(appId);
    this.#noted.delete(appId);
    return at !== undefined && this.#now().getTime() - at < ANSWERED_WITHIN_MS;
  }
}
