import type { Receiver } from '../support/webhook-world.ts';
import type { Violations, Work } from './work.ts';

/** A receiver that failed six times in a row is left alone for 15 minutes. */
const ARRIVES_MS = 20 * 60_000;

/** What the receiver of an outgoing webhook heard: each acknowledged change at least once, those of one record in order. */
export class Outgoing implements Work {
  readonly name = 'outgoing webhook';
  readonly everyMs = 300;
  readonly #receiver: Receiver;
  readonly #violations: Violations;
  readonly #expected = new Set<string>();
  /** The newest revision of each record that came. */
  readonly #newest = new Map<string, number>();
  readonly #came = new Set<string>();
  #seen = 0;

  constructor(receiver: Receiver, violations: Violations) {
    this.#receiver = receiver;
    this.#violations = violations;
  }

  readonly changed = (event: string, id: string, revision: number): void => {
    this.#expected.add(event.endsWith('.deleted') ? `${event} ${id}` : `${event} ${id} ${revision}`);
  };

  async step(): Promise<void> {
    const { received } = this.#receiver;
    for (; this.#seen < received.length; this.#seen += 1) {
      const { type, data } = received[this.#seen]?.event ?? {};
      const isDeleted = String(type).endsWith('.deleted');
      const event = isDeleted ? `${type} ${data.id}` : `${type} ${data.id} ${data.revision}`;
      if (this.#came.has(event)) continue; // a repeat
      this.#came.add(event);
      const newest = this.#newest.get(data.id) ?? 0;
      const revision = isDeleted ? Number.MAX_SAFE_INTEGER : data.revision;
      this.#violations.expect(revision > newest, () => `${event} came after revision ${newest}`);
      this.#newest.set(data.id, Math.max(newest, revision));
    }
  }

  async check(isLast: boolean): Promise<void> {
    await this.step();
    if (!isLast) return;
    const deadline = performance.now() + ARRIVES_MS;
    const missing = () => [...this.#expected].filter((event) => !this.#came.has(event));
    while (missing().length > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await this.step();
    }
    const left = missing();
    this.#violations.expect(
      left.length === 0,
      () => `${left.length} of ${this.#expected.size} events never came: ${left.slice(0, 5)}`,
    );
  }
}
