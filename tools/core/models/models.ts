import type { IntegrationHealth } from '../../../resources/health.ts';
import type { Model } from '../../../resources/model.ts';
import type { ModelInput } from '../../../resources/model-provider.ts';
import type { Dependency } from '../registry/context.ts';
import { Telemetry } from '../telemetry/telemetry.ts';
import type { Circuit, CircuitOptions } from './circuit.ts';
import { withCircuit, withEmbeddingCircuit } from './circuit-model.ts';
import { Circuits } from './circuits.ts';
import { type EmbeddingModel, embeddingModel } from './embedding-model.ts';
import type { LanguageModel } from './language-model.ts';
import { inputsOf } from './model-inputs.ts';
import { type Listed, MOST_MODELS, ModelListing } from './model-listing.ts';
import { observedModel } from './observed-model.ts';
import { OFFLINE_MODEL, offlineModel } from './offline-model.ts';
import { createModelProvider, type ModelLimits, type ModelProvider, type ProviderSettings } from './providers.ts';

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

/** A provider that is in use, with the last answer of its list. */
export interface KnownProvider {
  readonly provider: ModelProvider;
  readonly last: Listed | undefined;
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
  /** What the model reads: text, and what is said or known of it besides. */
  inputsOf(id: string): readonly ModelInput[];
  /** Limits that are known of the model. */
  limitsOf(id: string): ModelLimits | undefined;
  /** Providers of the environment. */
  environment(): readonly KnownProvider[];
  /** The provider of this record, where it is in use. */
  provider(recordId: string): KnownProvider | undefined;
  /** Notes what a test of the provider in use found, of a record or of the environment. */
  noteTest(provider: Readonly<{ recordId: string } | { name: string }>, found: Omit<Listed, 'names'>): void;
  /** Puts a provider into use in place of that of the same record. Models that were found keep the one they were found with. */
  put(recordId: string, settings: ProviderSettings): void;
  drop(recordId: string): void;
  /** Id of the model that embeds texts. */
  readonly embedding: string | undefined;
  /** Undefined if no provider of embeddings has the name that the id begins with. */
  findEmbedding(id: string): EmbeddingModel | undefined;
}

declare module '../registry/context.ts' {
  interface ServerContext {
    readonly models: Models;
  }
}

export function createModels(
  { providers = [], initial = OFFLINE_MODEL.id, embedding, runMs = RUN_MS }: ModelSettings = {},
  telemetry: Telemetry = new Telemetry(),
  sharing: CircuitOptions = {},
): Models {
  const circuits = new Circuits(sharing, telemetry.measures.meter);
  const sources = new Sources(providers, circuits);

  return {
    initial,
    runMs,
    async list() {
      await circuits.refresh();
      const all = await Promise.all(sources.all.map(async (source) => show(source, await source.listing.read())));
      return [OFFLINE_MODEL, ...all.flat()];
    },
    known() {
      const all = sources.all.flatMap((source) => show(source, source.listing.last));
      return [OFFLINE_MODEL, ...all].map(({ id }) => id);
    },
    has(id) {
      const { source, name } = sources.of(id);
      if (id === OFFLINE_MODEL.id || !source) return id === OFFLINE_MODEL.id;
      const { names = [] } = source.listing.last ?? {};
      const { configured } = source.provider;
      return names.length === 0 || names.length === MOST_MODELS || [...names, ...namesOf(configured)].includes(name);
    },
    find(id) {
      const { source, name } = sources.of(id);
      if (id === OFFLINE_MODEL.id) return observedModel(offlineModel, telemetry);
      const model = name === '' ? undefined : source?.provider.model(name);
      return model && source && observedModel(withCircuit(model, source.circuit), telemetry);
    },
    ...recordsOf(sources),
    embedding,
    findEmbedding(id) {
      const { source, name } = sources.of(id);
      const model = name === '' ? undefined : source?.provider.embeddingModel?.(name);
      return model && source && embeddingModel(id, withEmbeddingCircuit(model, source.embeddingCircuit), telemetry);
    },
    health: async () => {
      void circuits.refresh();
      return sources.all.map(healthOf);
    },
  };
}

/** What is known of providers, and their changes. */
function recordsOf(
  sources: Sources,
): Pick<Models, 'inputsOf' | 'limitsOf' | 'environment' | 'provider' | 'noteTest' | 'put' | 'drop'> {
  return {
    inputsOf(id) {
      const { source, name } = sources.of(id);
      return source ? inputsOf(source.provider, name) : ['text'];
    },
    limitsOf(id) {
      const { source, name } = sources.of(id);
      return source?.provider.configured.find((model) => model.name === name);
    },
    environment: () => sources.fixed.map(knownOf),
    provider(id) {
      const source = sources.ofRecord(id);
      return source && knownOf(source);
    },
    noteTest(of, found) {
      const source =
        'name' in of ? sources.fixed.find(({ provider }) => provider.name === of.name) : sources.ofRecord(of.recordId);
      source?.listing.noteTest(found);
    },
    put: (id, settings) => sources.put(id, settings),
    drop: (id) => sources.drop(id),
  };
}

interface Source {
  readonly provider: ModelProvider;
  readonly listing: ModelListing;
  readonly circuit: Circuit;
  readonly embeddingCircuit: Circuit;
}

function knownOf({ provider, listing }: Source): KnownProvider {
  return { provider, last: listing.last };
}

class Sources {
  readonly fixed: readonly Source[];
  readonly #ofRecords = new Map<string, Source>();
  #byName = new Map<string, Source>();

  readonly #circuits: Circuits;

  constructor(providers: readonly ProviderSettings[], circuits: Circuits) {
    this.#circuits = circuits;
    this.fixed = providers.map((settings) => this.#sourceFrom(settings));
    this.#changed();
  }

  /** Those in use. */
  get all(): Source[] {
    return [...this.#byName.values()];
  }

  of(modelId: string) {
    const slash = modelId.indexOf('/');
    return { source: this.#byName.get(modelId.slice(0, slash)), name: modelId.slice(slash + 1) };
  }

  ofRecord(id: string): Source | undefined {
    return this.#ofRecords.get(id);
  }

  put(id: string, settings: ProviderSettings): void {
    this.#ofRecords.set(id, this.#sourceFrom(settings));
    this.#changed();
  }

  drop(id: string): void {
    if (this.#ofRecords.delete(id)) this.#changed();
  }

  #sourceFrom(settings: ProviderSettings): Source {
    const provider = createModelProvider(settings);
    const circuit = this.#circuits.of(provider.name, settings);
    const embeddingCircuit = this.#circuits.ofEmbeddings(provider.name, settings);
    return { provider, listing: new ModelListing(provider), circuit, embeddingCircuit };
  }

  /** A provider of the environment counts instead of one of a record with its name. */
  #changed(): void {
    const all = [...this.fixed, ...this.#ofRecords.values(), ...this.fixed];
    this.#byName = new Map(all.map((source) => [source.provider.name, source]));
  }
}

const namesOf = (models: readonly ModelLimits[]) => models.map(({ name }) => name);

function show({ provider, circuit }: Source, last: Listed | undefined): Model[] {
  const { name: providerName, title, configured } = provider;
  const isAsked = circuit.opensAgainMs === undefined;
  const names = [...new Set([...namesOf(configured), ...(last?.names ?? [])])];
  return names.map((name) => {
    const { contextTokens, maxOutputTokens } = configured.find((model) => model.name === name) ?? {};
    return {
      id: `${providerName}/${name}`,
      provider: providerName,
      name,
      description: `A model of ${title}.`,
      ...(contextTokens !== undefined && { contextTokens }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      available: isAsked && (last?.up ?? false),
      inputs: [...inputsOf(provider, name)],
      capabilities: { tools: true, streaming: true, structuredOutput: true },
    };
  });
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
