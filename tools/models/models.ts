import type { IntegrationHealth } from '../../resources/health.ts';
import type { Model } from '../../resources/model.ts';
import type { Dependency } from '../core/registry/context.ts';
import { Telemetry } from '../core/telemetry/telemetry.ts';
import type { LanguageModel } from './language-model.ts';
import { MOST_MODELS, ModelListing } from './listing.ts';
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
  /** The longest time of one run. */
  readonly runMs?: number;
}

/** The language models of this server. */
export interface Models extends Dependency {
  readonly initial: string;
  readonly runMs: number;
  /** All models that the providers list. */
  list(): Promise<readonly Model[]>;
  /** The ids that are known without asking a provider. */
  known(): readonly string[];
  /** Whether the model may exist, as far as is known without asking: a provider may have models that it did not list (yet). */
  has(id: string): boolean;
  /** Undefined if no provider has the name that the id begins with. Whether the provider has the model shows when it is used. */
  find(id: string): LanguageModel | undefined;
}

declare module '../core/registry/context.ts' {
  interface ServerFacts {
    readonly models: Models;
  }
}

export function createModels(
  { providers = [], initial = OFFLINE_MODEL.id, runMs = RUN_MS }: ModelSettings = {},
  telemetry: Telemetry = new Telemetry(),
): Models {
  const sources = providers.map((settings) => {
    const provider = createModelProvider(settings);
    return { provider, listing: new ModelListing(provider) };
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
      const all = await Promise.all(sources.map(async ({ provider, listing }) => show(provider, await listing.read())));
      return [OFFLINE_MODEL, ...all.flat()];
    },
    known() {
      const all = sources.flatMap(({ provider, listing }) => show(provider, listing.last));
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
      const model = id === OFFLINE_MODEL.id ? offlineModel : name === '' ? undefined : source?.provider.model(name);
      return model && observedModel(model, telemetry);
    },
    health: async () => sources.map(healthOf),
  };
}

function show({ name: provider, title, configured }: ModelProvider, listed: ModelListing['last']): Model[] {
  const names = [...new Set([...configured, ...(listed?.names ?? [])])];
  return names.map((name) => ({
    id: `${provider}/${name}`,
    provider,
    name,
    description: `A model of ${title}.`,
    available: listed?.up ?? false,
    capabilities: { tools: true, streaming: true, structuredOutput: true },
  }));
}

/** The result of the last probe. An old result also begins a new probe in the background. */
function healthOf({ provider, listing }: { provider: ModelProvider; listing: ModelListing }): IntegrationHealth {
  const { last } = listing;
  void listing.read();
  return {
    name: provider.name,
    kind: 'model-provider',
    status: last?.up === false ? 'down' : 'ok',
    latencyMs: last?.latencyMs ?? 0, // 0 where it was never asked
    ...(last?.problem !== undefined && { lastError: last.problem }),
  };
}
