import type { Store } from '../../store/port.ts';

const KEY = 'embeddings';
/** Longer than the longest pause between two attempts. */
const KEPT_MS = 3 * 60 * 60_000;
const RENEW_MS = 30 * 60_000;

/** How embedding goes, as the process says that does it. */
interface EmbeddingState {
  readonly model: string;
  /** Since when it goes on without a failure, or fails. ISO 8601. */
  readonly since: string;
  readonly failure?: { readonly text: string; readonly at: string; readonly nextAt: string };
}

interface StateDeps {
  readonly store: Pick<Store, 'cluster'>;
  readonly model: string | undefined;
  now(): Date;
  onFailure(cause: unknown): void;
}

/** The state of embedding, which one process knows and all tell. */
export class SharedEmbeddingState {
  readonly #deps: StateDeps;
  #own: EmbeddingState | undefined;
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor(deps: StateDeps) {
    this.#deps = deps;
  }

  /** Called where this process embeds, with each success. */
  async works(): Promise<void> {
    const isRecent = performance.now() - this.#saidAt < RENEW_MS;
    if (this.#own && !this.#own.failure && isRecent) return;
    const before = this.#own ?? (await this.read());
    const goesOn = before !== undefined && before.failure === undefined;
    await this.#say({ since: goesOn ? before.since : this.#now() });
  }

  /** Called where this process embeds. It tries again after `pauseMs`. */
  async fails(cause: Error, pauseMs: number): Promise<void> {
    const before = this.#own ?? (await this.read());
    const at = this.#now();
    const nextAt = new Date(Date.parse(at) + pauseMs).toISOString();
    await this.#say({ since: before?.failure ? before.since : at, failure: { text: cause.message, at, nextAt } });
  }

  /** Another process embeds now. */
  yields(): void {
    this.#own = undefined;
  }

  /** Undefined where nothing is known, or another model embeds. */
  async read(): Promise<EmbeddingState | undefined> {
    const { store, model } = this.#deps;
    const state = this.#own ?? ((await store.cluster?.get(KEY).catch(() => undefined)) as EmbeddingState | undefined); // as it was put
    return state?.model === model ? state : undefined;
  }

  #now(): string {
    return this.#deps.now().toISOString();
  }

  /** Where others cannot be told, this process still knows. */
  async #say(said: Omit<EmbeddingState, 'model'>): Promise<void> {
    const { store, model, onFailure } = this.#deps;
    if (model === undefined) return;
    this.#own = { model, ...said };
    this.#saidAt = performance.now();
    await store.cluster?.put(KEY, this.#own, KEPT_MS).catch(onFailure);
  }
}
