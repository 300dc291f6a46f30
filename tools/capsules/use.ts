import type { Readers, Store } from '../../store/port.ts';
import { createRateLimit, type RateLimit } from '../core/access/rate-limit.ts';

export const WRITTEN_EVERY_MS = 1000;

interface Uses {
  readonly calls: number;
  readonly at: number;
}

/** Enforces `callsPerMinute` for capsules. Writes `callCount` and `lastUsedAt` in one write a second. */
export class CapsuleUse {
  readonly #store: Store;
  readonly #known: Pick<Readers, 'capsules'>;
  readonly #counting: Parameters<typeof createRateLimit>[2];
  readonly #onFailure: (cause: unknown) => void;
  #unwritten = new Map<string, Uses>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** One limit for each value of `callsPerMinute`. */
  readonly #limits = new Map<number, RateLimit>();

  constructor(store: Store, onFailure: (cause: unknown) => void) {
    this.#store = store;
    this.#known = store.credentials ?? store;
    this.#counting = { cluster: store.cluster, name: 'calls of a capsule' };
    this.#onFailure = onFailure;
  }

  /** Notes a request to the capsule's endpoint, and how many calls it makes. */
  note(id: string, calls: number): void {
    const before = this.#unwritten.get(id)?.calls ?? 0;
    this.#unwritten.set(id, { calls: before + calls, at: Date.now() });
    if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.#write(), WRITTEN_EVERY_MS).unref();
  }

  /** @throws ToolError (rate_limited) */
  async beforeCall(id: string): Promise<void> {
    const { callsPerMinute } = (await this.#known.capsules.get(id)) ?? {};
    if (callsPerMinute !== undefined) await this.#limit(callsPerMinute)(id);
    this.note(id, 1);
  }

  /** Writes what was noted. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#write();
  }

  #limit(callsPerMinute: number): RateLimit {
    const known = this.#limits.get(callsPerMinute) ?? createRateLimit(callsPerMinute, 'calls', this.#counting);
    this.#limits.set(callsPerMinute, known);
    return known;
  }

  async #write(): Promise<void> {
    this.#timer = undefined;
    const noted = this.#unwritten;
    this.#unwritten = new Map();
    if (noted.size === 0) return;
    try {
      await this.#store.transaction(async (tx) => {
        for (const [id, { calls, at }] of noted) {
          const capsule = await tx.capsules.get(id);
          const lastUsedAt = new Date(at).toISOString();
          if (capsule) await tx.capsules.touch(id, { callCount: capsule.callCount + calls, lastUsedAt });
        }
      });
    } catch (cause) {
      this.#onFailure(cause);
      for (const [id, { calls }] of noted) this.note(id, calls);
    }
  }
}
