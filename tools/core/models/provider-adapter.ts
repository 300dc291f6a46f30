import type { ModelProviderKind } from '../../../resources/model-provider.ts';
import type { LibraryEmbeddingModel } from './embedding-model.ts';
import type { LanguageModel } from './language-model.ts';
import type { Fetch } from './provider-fetch.ts';

export type ProviderKind = 'custom' | ModelProviderKind;

/** What the makers of providers need, with all defaults. */
export interface ProviderOptions {
  readonly name: string;
  readonly kind: ProviderKind;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly baseURL: string;
  readonly fetch: Fetch;
}

export interface ProviderAdapter {
  readonly title: string;
  model(name: string): LanguageModel;
  /** Absent if the provider has none. */
  readonly embeddingModel?: (name: string) => LibraryEmbeddingModel;
  /** Absent if the provider has no list of models. */
  readonly listing?: Listing;
  /** Whether a listed model is for conversations. */
  talks(name: string): boolean;
}

export interface Listing {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A model whose library is loaded when the model is first used, because most processes use none. */
export function lazy(provider: string, modelId: string, load: (name: string) => Promise<LanguageModel>): LanguageModel {
  let loaded: Promise<LanguageModel> | undefined;
  const model = () => {
    loaded ??= load(modelId);
    return loaded;
  };
  return {
    specificationVersion: 'v3',
    provider,
    modelId,
    supportedUrls: {}, // files come as bytes, never as addresses
    doGenerate: async (options) => (await model()).doGenerate(options),
    doStream: async (options) => (await model()).doStream(options),
  };
}
