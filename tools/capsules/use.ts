import type { Readers, Store } from '../../store/port.ts';
import { createRateLimit, type RateLimit } from '../core/access/rate-limit.ts';

export const WRITTEN_EVERY_MS = 1000;

/** What was noted since the last write. */
interface Uses {
  calls: number;
  at: number;
  /** Prefixes of the tokens that were shown, and when. */
  readonly tokens: Map<string, number>;
}

/** Enforces `callsPerMinute` for capsules. Writes how often and when they and their tokens were used in one write a second. */
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

  /** Notes a request to the capsule's endpoint, how many calls it makes, and the prefix of the token that it shows. */
  note(id: string, calls: number, prefix?: string): void {
    const uses = this.#unwritten.get(id) ?? { calls: 0, at: 0, tokens: new Map() };
    this.#unwritten.set(id, uses);
    uses.calls += calls;
    uses.at = Date.now();
    if (prefix !== undefined) uses.tokens.set(prefix, uses.at);
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
        for (const [id, { calls, at, tokens }] of noted) {
          const capsule = await tx.capsules.get(id);
          if (!capsule) continue;
          const shown = tokens.get(capsule.token.prefix);
          const callCount = capsule.callCount + calls;
          await tx.capsules.touch(id, {
            callCount,
            lastUsedAt: timeOf(at),
            ...(shown && { tokenUsedAt: timeOf(shown) }),
          });
        }
      });
    } catch (cause) {
      this.#onFailure(cause);
      for (const [id, { calls, tokens }] of noted) {
        this.note(id, calls);
        for (const prefix of tokens.keys()) this.note(id, 0, prefix);
      }
    }
  }
}

const timeOf = (ms: number) => new Date(ms).toISOString();
