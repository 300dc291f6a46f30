import type { ModelInput, ModelProviderKind } from '../../../resources/model-provider.ts';
import { loadPackage } from '../load-package.ts';
import { withCacheMarks } from './cache-marks.ts';
import { azure, bedrock, google } from './optional-providers.ts';
import { lazy, type ProviderAdapter, type ProviderKind, type ProviderOptions } from './provider-adapter.ts';
import { type Fetch, withRetries } from './provider-fetch.ts';

/** A model provider of the environment or of a record. */
export interface ProviderSettings {
  readonly kind: ProviderKind;
  /** The first part of its models' ids. Default: the kind. */
  readonly name?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default: the vendor's address. A custom provider needs one. */
  readonly baseUrl?: string | undefined;
  /** Models to offer whether or not the provider lists them. */
  readonly models?: readonly (string | ModelLimits)[] | undefined;
  /** How requests are sent. Default: as those of the environment, with repeats. */
  readonly fetch?: Fetch | undefined;
}

export interface ModelLimits {
  readonly name: string;
  readonly contextTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** What it reads, where that is said of it. */
  readonly inputs?: readonly ModelInput[] | undefined;
}

export interface ModelProvider extends ProviderAdapter {
  readonly kind: ProviderKind;
  /** The first part of its models' ids. */
  readonly name: string;
  readonly baseUrl: string;
  /** Models that are offered whether or not the provider lists them. */
  readonly configured: readonly ModelLimits[];
  readonly fetch: Fetch;
}

const BASE_URLS: Readonly<Record<ProviderKind, string>> = {
  custom: '',
  'openai-compatible': '',
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  azure: '',
  bedrock: '',
};

/** Kinds whose address has no default. */
export const NEEDS_ADDRESS: readonly ModelProviderKind[] = ['openai-compatible', 'azure', 'bedrock'];

export function defaultBaseUrl(kind: ModelProviderKind): string {
  return BASE_URLS[kind];
}

const MAKERS: Readonly<Record<ProviderKind, (parts: ProviderOptions) => ProviderAdapter>> = {
  custom: openAiLike,
  openai: openAiLike,
  'openai-compatible': openAiLike,
  anthropic,
  google,
  azure,
  bedrock,
};

export function createModelProvider(settings: ProviderSettings): ModelProvider {
  const { kind, name = kind, apiKey, headers = {}, models = [], fetch: send } = settings;
  const baseURL = (settings.baseUrl ?? BASE_URLS[kind]).replace(/\/+$/, '');
  const fetch = send ?? withRetries();
  const configured = models.map((model) => (typeof model === 'string' ? { name: model } : model));
  return {
    kind,
    name,
    baseUrl: baseURL,
    configured,
    fetch,
    ...MAKERS[kind]({ name, kind, apiKey, headers, baseURL, fetch }),
  };
}

const TITLES: Readonly<Partial<Record<ProviderKind, string>>> = {
  custom: 'the OpenAI-compatible server of MODEL_BASE_URL',
  openai: 'OpenAI',
};

function openAiLike({ name: provider, kind, apiKey, headers, baseURL, fetch }: ProviderOptions): ProviderAdapter {
  const vendor = kind === 'openai';
  const settings = {
    name: provider,
    baseURL,
    ...(apiKey !== undefined && { apiKey }),
    headers: { ...headers },
    includeUsage: true,
    fetch,
    ...(vendor && { transformRequestBody: forReasoningModels }),
  };
  const library = () => loadPackage('@ai-sdk/openai-compatible', () => import('@ai-sdk/openai-compatible'));
  const made = async () => (await library()).createOpenAICompatible(settings);
  const load = async (name: string) => (await made()).chatModel(name);
  const authorization = apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` };
  return {
    title: TITLES[kind] ?? provider,
    model: (name) => lazy(provider, name, load),
    embeddingModel: (modelId) => ({
      specificationVersion: 'v3',
      provider,
      modelId,
      maxEmbeddingsPerCall: undefined, // who embeds many decides how many at once
      supportsParallelCalls: false,
      doEmbed: async (options) => (await made()).embeddingModel(modelId).doEmbed(options),
    }),
    listing: { url: `${baseURL}/models`, headers: { ...authorization, ...headers } },
    talks: (name) => !vendor || (/^(gpt-|chatgpt-|o\d)/.test(name) && !NOT_FOR_TALK.test(name)),
  };
}

/** OpenAI's newer models refuse the old name of this limit. */
function forReasoningModels({ max_tokens, ...body }: Record<string, unknown>): Record<string, unknown> {
  return max_tokens === undefined ? body : { ...body, max_completion_tokens: max_tokens };
}

const NOT_FOR_TALK = /audio|realtime|transcribe|tts|image|instruct|search/;

function anthropic({ name: provider, apiKey = '', headers, baseURL: given, fetch }: ProviderOptions): ProviderAdapter {
  const baseURL = /\/v\d+$/.test(given) ? given : `${given}/v1`; // the vendor's own libraries take it without
  const library = () => loadPackage('@ai-sdk/anthropic', () => import('@ai-sdk/anthropic'));
  const settings = { baseURL, apiKey, headers: { ...headers }, fetch };
  const load = async (name: string) => withCacheMarks((await library()).createAnthropic(settings).languageModel(name));
  return {
    title: 'Anthropic',
    model: (name) => lazy(provider, name, load),
    listing: {
      url: `${baseURL}/models?limit=100`,
      headers: { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01', ...headers },
    },
    talks: () => true,
  };
}
