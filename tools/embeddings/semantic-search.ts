import type { EmbeddedTexts, IntegrationHealth } from '../../resources/health.ts';
import type { Store } from '../../store/port.ts';
import type { Budgets } from '../core/access/budgets.ts';
import type { Principal } from '../core/access/principal.ts';
import { ToolError } from '../core/errors.ts';
import { EmbeddingFailure, type EmbeddingModel } from '../core/models/embedding-model.ts';
import type { Models } from '../core/models/models.ts';
import { tokensOf } from '../core/models/tokens.ts';
import type { Dependency } from '../core/registry/context.ts';
import type { ReadableFilter } from '../search/types.ts';
import { EmbeddingUsage } from '../usage/embedding-usage.ts';
import { Embedder } from './embedder.ts';
import { EmbeddingIndex, type Near } from './embedding-index.ts';
import { SharedEmbeddingState } from './embedding-state.ts';
import { EMBEDDED, type EmbeddedCollection, TYPES } from './texts.ts';
import { type Vector, vectorOf } from './vectors.ts';

declare module '../core/registry/context.ts' {
  interface ServerContext {
    /** Absent in a registry of tests that search by words alone. */
    readonly semanticSearch?: SemanticSearch | undefined;
  }
}

export const QUERY_MS = 2000;
/** After a failure, searches go by words alone for so long. */
export const AWAY_MS = 5000;
const MOST_QUERIES = 500;
/** How often it is looked whether the provider is there now. */
const NO_PROVIDER_MS = 2000;

function withoutProvider(id: string): string {
  const [provider] = id.split('/');
  return `There is no provider ${provider} with embedding models, which EMBEDDING_MODEL (${id}) needs; create_model_provider adds one.`;
}

interface SemanticSearchDeps {
  readonly store: Store;
  readonly models: Pick<Models, 'embedding' | 'findEmbedding'>;
  readonly budgets?: Budgets | undefined;
  now(): Date;
  onFailure(cause: unknown): void;
}

/** Search by meaning: the embeddings of this server, and the questions to them. */
export class SemanticSearch implements Dependency {
  readonly #deps: SemanticSearchDeps;
  readonly #index: EmbeddingIndex;
  readonly #embedder: Embedder;
  readonly #state: SharedEmbeddingState;
  readonly #usage: EmbeddingUsage;
  readonly #model: EmbeddingModel | undefined;
  readonly #queries = new Map<string, Promise<Vector | undefined>>();
  #awayUntil = 0;
  #problem: string | undefined;

  constructor(deps: SemanticSearchDeps) {
    const { store, models, onFailure } = deps;
    this.#deps = deps;
    this.#usage = new EmbeddingUsage(deps);
    this.#model = models.embedding === undefined ? undefined : this.#counted(models.embedding);
    this.#index = new EmbeddingIndex(store, onFailure);
    this.#state = new SharedEmbeddingState({ ...deps, model: this.#model?.id });
    this.#embedder = new Embedder({ store, index: this.#index, model: this.#model, state: this.#state, onFailure });
  }

  /** Whether there is a model to search with. */
  get isOn(): boolean {
    return this.#model !== undefined;
  }

  get isDone(): boolean {
    return this.#embedder.isDone;
  }

  async start(): Promise<void> {
    await this.#index.start();
    this.#embedder.start();
  }

  async close(): Promise<void> {
    await this.#embedder.close();
    this.#index.close();
    await this.#usage.close();
  }

  /**
   * The readable records nearest to the query, for each model that has vectors: while texts are embedded anew, those of the former model
   * serve. Undefined if no model answers in time.
   */
  async nearest(
    q: string,
    collection: EmbeddedCollection,
    {
      principal,
      ...wanted
    }: { readonly principal: Principal; readonly readable: ReadableFilter; readonly most: number },
  ): Promise<readonly (readonly Near[])[] | undefined> {
    const models = [...this.#index.sets.values()].flatMap(({ model, complete }) =>
      Array.from(complete.values()).some((count) => count > 0) ? (this.#known(model, principal) ?? []) : [],
    );
    const answers = await Promise.all(
      models.map(async (model) => {
        const query = await this.#vectorOf(model, q, principal);
        return query && this.#index.nearest({ model: model.id, query }, collection, wanted);
      }),
    );
    const found = answers.flatMap((near) => (near ? [near] : []));
    return found.length > 0 ? found : undefined;
  }

  async health(): Promise<readonly IntegrationHealth[]> {
    if (!this.#model) return [];
    const state = await this.#state.read();
    const lastError = state?.failure?.text ?? this.#embedder.error?.message ?? this.#problem;
    return [
      {
        name: 'embeddings',
        kind: 'model-provider',
        status: lastError === undefined ? 'ok' : 'degraded',
        latencyMs: 0,
        texts: {
          ...(await this.#texts()),
          model: this.#model.id,
          ...(state && { since: state.since }),
          ...(state?.failure && { failedAt: state.failure.at, nextTryAt: state.failure.nextAt }),
        },
        ...(lastError !== undefined && { lastError }),
      },
    ];
  }

  /** Of a store that does not answer, it tells no records. */
  async #texts(): Promise<Pick<EmbeddedTexts, 'records' | 'embedded' | 'kinds'>> {
    const { store } = this.#deps;
    const counts = await Promise.all(EMBEDDED.map((collection) => store[collection].count({}))).catch(() => []);
    if (store.cluster) await this.#index.read().catch(() => {}); // what is known is shown
    const complete = this.#model && this.#index.setOf(this.#model.id).complete;
    const kinds = EMBEDDED.map((collection, at) => {
      const records = counts[at] ?? 0;
      return { type: TYPES[collection], records, embedded: Math.min(records, complete?.get(collection) ?? 0) };
    });
    const sum = (of: 'records' | 'embedded') => kinds.reduce((total, kind) => total + kind[of], 0);
    return { records: sum('records'), embedded: sum('embedded'), kinds };
  }

  #vectorOf(model: EmbeddingModel, q: string, principal: Principal): Promise<Vector | undefined> {
    const key = `${model.id}\n${q}`;
    const known = this.#queries.get(key);
    if (known) return known;
    if (performance.now() < this.#awayUntil) return Promise.resolve(undefined);
    const asked = this.#ask(model, q, principal).catch((cause) => {
      this.#queries.delete(key);
      if (cause instanceof ToolError) return undefined; // a budget of the caller is used up
      this.#awayUntil = performance.now() + AWAY_MS;
      this.#problem = cause instanceof Error ? cause.message : String(cause);
      return undefined;
    });
    this.#queries.set(key, asked);
    const [oldest] = this.#queries.keys();
    if (this.#queries.size > MOST_QUERIES && oldest !== undefined) this.#queries.delete(oldest);
    return asked;
  }

  async #ask(model: EmbeddingModel, q: string, principal: Principal): Promise<Vector | undefined> {
    const take = async () => {
      const { vectors, tokens } = await model.embed([q], AbortSignal.timeout(QUERY_MS));
      return { vectors, usage: { inputTokens: tokens, outputTokens: 0 } };
    };
    const estimate = () => ({ inputTokens: tokensOf(q), outputTokens: 0 });
    const use = { principal, agentId: undefined, model: model.id, estimate };
    const { budgets } = this.#deps;
    const { vectors } = await (budgets ? budgets.turn(use, take) : take());
    this.#problem = undefined;
    const vector = vectorOf(vectors[0] ?? []);
    return vector.codes.length === this.#index.setOf(model.id).width ? vector : undefined;
  }

  #known(id: string, principal: Principal): EmbeddingModel | undefined {
    return this.#deps.models.findEmbedding(id) && this.#counted(id, principal);
  }

  /** The model as its provider is when it is asked, with what it uses counted. */
  #counted(id: string, principal?: Principal): EmbeddingModel {
    return {
      id,
      embed: async (texts, signal) => {
        const model = this.#deps.models.findEmbedding(id);
        if (!model) throw new EmbeddingFailure(withoutProvider(id), { retryAfterMs: NO_PROVIDER_MS });
        const started = performance.now();
        const count = (tokens: number, failed: boolean) =>
          this.#usage.add({ model: id, tokens, failed, ms: performance.now() - started, principal });
        try {
          const embedded = await model.embed(texts, signal);
          count(embedded.tokens, false);
          return embedded;
        } catch (error) {
          count(0, true);
          throw error;
        }
      },
    };
  }
}
