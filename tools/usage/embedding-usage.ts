import { DelayedTask } from '../../store/periodic-task.ts';
import type { Store } from '../../store/port.ts';
import { hourOf } from './sources.ts';
import { EMBEDDINGS, type EmbeddingUse, UsageBuckets } from './usage-buckets.ts';

interface UsageDeps {
  readonly store: Pick<Store, 'transaction'>;
  now(): Date;
  onFailure(cause: unknown): void;
}

const DELAY_MS = 1000;
const RETRY_MS = 5000;

/** Counts what embedding models used, by the hour. Nothing else remembers it, so these counts are the truth. */
export class EmbeddingUsage {
  readonly #deps: UsageDeps;
  readonly #task = new DelayedTask(() => this.#write(), { delayMs: DELAY_MS, retryMs: RETRY_MS });
  #waiting: { readonly hour: number; readonly use: EmbeddingUse }[] = [];

  constructor(deps: UsageDeps) {
    this.#deps = deps;
  }

  add(use: EmbeddingUse): void {
    this.#waiting.push({ hour: hourOf(this.#deps.now().getTime()), use });
    this.#task.soon();
  }

  async close(): Promise<void> {
    await this.#task.close();
    await this.#write().catch(this.#deps.onFailure);
  }

  async #write(): Promise<void> {
    const uses = this.#waiting;
    if (uses.length === 0) return;
    this.#waiting = [];
    try {
      await this.#deps.store.transaction(async ({ usageHours }) => {
        for (const hour of new Set(uses.map((each) => each.hour))) {
          const createdAt = new Date(hour).toISOString();
          const id = `${EMBEDDINGS}-${createdAt.slice(0, 13)}`;
          const known = await usageHours.get(id);
          const buckets = known ? UsageBuckets.unpack(known.cells) : new UsageBuckets();
          const added = uses.filter((each) => each.hour === hour);
          for (const { use } of added) buckets.addEmbedding(use);
          const counted = (known?.counted ?? 0) + added.length;
          const figures = { source: EMBEDDINGS, counted, cells: buckets.pack() };
          if (known) await usageHours.touch(id, figures);
          else await usageHours.insert({ id, createdAt, ...figures });
        }
      });
    } catch (cause) {
      this.#waiting = [...uses, ...this.#waiting];
      throw cause;
    }
  }
}
