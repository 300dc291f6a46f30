import { z } from 'zod';
import type { IntegrationHealth } from '../../../resources/health.ts';
import type { Model } from '../../../resources/model.ts';
import type { Dependency } from '../registry/context.ts';
import { Telemetry } from '../telemetry/telemetry.ts';
import type { Circuit, CircuitOptions } from './circuit.ts';
import { Circuits } from './circuits.ts';
import { type EmbeddingModel, embeddingModel } from './embedding-model.ts';
import { guardedModel } from './guarded-model.ts';
import type { LanguageModel } from './language-model.ts';
import { observedModel } from './observed-model.ts';
import { OFFLINE_MODEL, offlineModel } from './offline-model.ts';
import { createModelProvider, type ModelProvider, type ProviderSettings } from './providers.ts';

// Without this, the library prints warnings on standard output, which the stdio door needs for its messages.
globalThis.AI_SDK_LOG_WARNINGS = false;

export const RUN_MS = 5 * 60_000;

export interface ModelSettings {
  readonly providers?: readonly ProviderSettings[];
  /** Id of the model that a new workspace starts with. Default: the built-in one. */
  readonly initial?: string | undefined;
  /** Id of the model that embeds texts. Default: none does. */
  readonly embedding?: string | undefined;
  readonly runMs?: number;
}

export interface Models extends Dependency {
  readonly initial: string;
  readonly runMs: number;
  list(): Promise<readonly Model[]>;
  /** The ids that are known without asking a provider. */
  known(): readonly string[];
  /** Whether the model may exist, as far as is known without asking: a provider may have models that it did not list (yet). */
  has(id: string): boolean;
  /** Undefined if no provider has the name that the id begins with. Whether the provider has the model shows when it is used. */
  find(id: string): LanguageModel | undefined;
  /** Id of the model that embeds texts. */
  readonly embedding: string | undefined;
  /** Undefined if no provider of embeddings has the name that the id begins with. */
  findEmbedding(id: string): EmbeddingModel | undefined;
}

declare module '../registry/context.ts' {
  interface ServerFacts {
    readonly models: Models;
  }
}

export function createModels(
  { providers = [], initial = OFFLINE_MODEL.id, embedding, runMs = RUN_MS }: ModelSettings = {},
  telemetry: Telemetry = new Telemetry(),
  sharing: CircuitOptions = {},
): Models {
  const circuits = new Circuits(sharing, telemetry.measures.meter);
  const sources = providers.map((settings) => {
    const provider = createModelProvider(settings);
    return { provider, listing: new ModelListing(provider), circuit: circuits.of(provider.name) };
  });

  const sourceOf = (id: string) => {
    const slash = id.indexOf('/');
    const source = sources.find(({ provider }) => provider.name === id.slice(0, slash));
    return { source, name: id.slice(slash + 1) };
  };

  return {
    initial,
    runMs,
    async list() {
      await circuits.refresh();
      const all = await Promise.all(sources.map(async (source) => show(source, await source.listing.read())));
      return [OFFLINE_MODEL, ...all.flat()];
    },
    known() {
      const all = sources.flatMap((source) => show(source, source.listing.last));
      return [OFFLINE_MODEL, ...all].map(({ id }) => id);
    },
    has(id) {
      const { source, name } = sourceOf(id);
      if (id === OFFLINE_MODEL.id || !source) return id === OFFLINE_MODEL.id;
      const { names = [] } = source.listing.last ?? {};
      return (
        names.length === 0 || names.length === MOST_MODELS || [...names, ...source.provider.configured].includes(name)
      );
    },
    find(id) {
      const { source, name } = sourceOf(id);
      if (id === OFFLINE_MODEL.id) return observedModel(offlineModel, telemetry);
      const model = name === '' ? undefined : source?.provider.model(name);
      return model && source && observedModel(guardedModel(model, source.circuit), telemetry);
    },
    embedding,
    findEmbedding(id) {
      const { source, name } = sourceOf(id);
      const model = name === '' ? undefined : source?.provider.embeddingModel?.(name);
      return model && embeddingModel(id, model, telemetry);
    },
    health: async () => {
      void circuits.refresh();
      return sources.map(healthOf);
    },
  };
}

interface Source {
  readonly provider: ModelProvider;
  readonly listing: ModelListing;
  readonly circuit: Circuit;
}

function show({ provider: source, circuit }: Source, listed: ModelListing['last']): Model[] {
  const { name: provider, title, configured } = source;
  const isAsked = circuit.opensAgainMs === undefined;
  const names = [...new Set([...configured, ...(listed?.names ?? [])])];
  return names.map((name) => ({
    id: `${provider}/${name}`,
    provider,
    name,
    description: `A model of ${title}.`,
    available: isAsked && (listed?.up ?? false),
    capabilities: { tools: true, streaming: true, structuredOutput: true },
  }));
}

/** The result of the last probe. An old result also begins a new probe in the background. */
function healthOf({ provider, listing, circuit: { opensAgainMs } }: Source): IntegrationHealth {
  const { last } = listing;
  void listing.read();
  if (opensAgainMs !== undefined) {
    const lastError = `it failed again and again, and is asked again at ${new Date(opensAgainMs).toISOString()}`;
    return { name: provider.name, kind: 'model-provider', status: 'down', latencyMs: last?.latencyMs ?? 0, lastError };
  }
  return {
    name: provider.name,
    kind: 'model-provider',
    status: last?.up === false ? 'down' : 'ok',
    latencyMs: last?.latencyMs ?? 0, // 0 where it was never asked
    ...(last?.problem !== undefined && { lastError: last.problem }),
  };
}

const ASK_MS = 3000;
/** How long a list is valid, and how long a failure is. */
const FRESH_MS = 5 * 60_000;
const FAILED_MS = 30_000;
/** A list of this length may be incomplete. */
export const MOST_MODELS = 100;
const LONGEST_NAME = 190;

const listed = z.object({ data: z.array(z.object({ id: z.string().min(1) })) });

interface Listed {
  readonly names: readonly string[];
  /** False if the provider could not be reached or refused the key. A provider that answers without a list is up. */
  readonly up: boolean;
  readonly latencyMs: number;
  /** What is wrong, in words that are safe to show. */
  readonly problem?: string;
}

export class ModelListing {
  readonly #provider: ModelProvider;
  #last: Listed | undefined;
  #asking: Promise<Listed> | undefined;
  #until = 0;

  constructor(provider: ModelProvider) {
    this.#provider = provider;
  }

  /** The last answer, without asking. */
  get last(): Listed | undefined {
    return this.#last;
  }

  async read(): Promise<Listed> {
    if (this.#last && performance.now() < this.#until) return this.#last;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<Listed> {
    const started = performance.now();
    const found = await this.#fetch();
    this.#last = { ...found, latencyMs: Math.round(performance.now() - started) };
    this.#until = performance.now() + (found.up ? FRESH_MS : FAILED_MS);
    return this.#last;
  }

  async #fetch(): Promise<Omit<Listed, 'latencyMs'>> {
    const { listing, talks } = this.#provider;
    try {
      const { url, headers } = listing;
      const answer = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(ASK_MS) });
      const { status } = answer;
      if (status === 401 || status === 403) return down(`it refused the key (${status})`);
      if (status >= 500) return down(`it answered ${status}`);
      const parsed = listed.safeParse(await answer.json());
      const ids = parsed.success ? parsed.data.data.map(({ id }) => id) : [];
      const names = ids.filter((id) => id.length <= LONGEST_NAME && talks(id)).slice(0, MOST_MODELS);
      return { names, up: true };
    } catch (error) {
      // A server without a list of models may answer with something other than JSON.
      return error instanceof SyntaxError ? { names: [], up: true } : down('it could not be reached');
    }
  }
}

function down(problem: string): Omit<Listed, 'latencyMs'> {
  return { names: [], up: false, problem };
}
