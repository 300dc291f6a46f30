import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../../store/backoff.ts';
import { loadPackage } from '../load-package.ts';
import { outgoingTrace } from '../telemetry/span.ts';
import { withCacheMarks } from './cache-marks.ts';
import type { LibraryEmbeddingModel } from './embedding-model.ts';
import type { LanguageModel } from './language-model.ts';

/** A model provider that the operator has configured. */
export interface ProviderSettings {
  readonly kind: 'custom' | 'openai' | 'anthropic';
  readonly apiKey?: string | undefined;
  /** Default: the vendor's address. A custom provider needs one. */
  readonly baseUrl?: string | undefined;
  /** Models to offer whether or not the provider lists them. */
  readonly models?: readonly string[] | undefined;
}

export interface ModelProvider {
  /** The first part of its models' ids. */
  readonly name: string;
  readonly title: string;
  /** Models that are offered whether or not the provider lists them. */
  readonly configured: readonly string[];
  model(name: string): LanguageModel;
  /** Absent if the provider has none. */
  readonly embeddingModel?: (name: string) => LibraryEmbeddingModel;
  readonly listing: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** Whether a listed model is for conversations. */
  talks(name: string): boolean;
}

const BASE_URLS = { custom: '', openai: 'https://api.openai.com/v1', anthropic: 'https://api.anthropic.com/v1' };

export function createModelProvider(settings: ProviderSettings): ModelProvider {
  const baseUrl = (settings.baseUrl ?? BASE_URLS[settings.kind]).replace(/\/+$/, '');
  const parts = settings.kind === 'anthropic' ? anthropic(settings, baseUrl) : openAiLike(settings, baseUrl);
  return { name: settings.kind, configured: settings.models ?? [], ...parts };
}

type ProviderParts = Omit<ModelProvider, 'name' | 'configured'>;

/** A model whose library is loaded when the model is first used, because most processes use none. */
function lazy(provider: string, modelId: string, load: (name: string) => Promise<LanguageModel>): LanguageModel {
  let loaded: Promise<LanguageModel> | undefined;
  const model = () => {
    loaded ??= load(modelId);
    return loaded;
  };
  return {
    specificationVersion: 'v3',
    provider,
    modelId,
    supportedUrls: {}, // conversations are text only
    doGenerate: async (options) => (await model()).doGenerate(options),
    doStream: async (options) => (await model()).doStream(options),
  };
}

function openAiLike({ kind, apiKey }: ProviderSettings, baseURL: string): ProviderParts {
  const vendor = kind === 'openai';
  const settings = {
    name: kind,
    baseURL,
    ...(apiKey !== undefined && { apiKey }),
    includeUsage: true,
    fetch: providerFetch,
    ...(vendor && { transformRequestBody: forReasoningModels }),
  };
  const library = () => loadPackage('@ai-sdk/openai-compatible', () => import('@ai-sdk/openai-compatible'));
  const provider = async () => (await library()).createOpenAICompatible(settings);
  const load = async (name: string) => (await provider()).chatModel(name);
  return {
    title: vendor ? 'OpenAI' : 'the OpenAI-compatible server of MODEL_BASE_URL',
    model: (name) => lazy(kind, name, load),
    embeddingModel: (modelId) => ({
      specificationVersion: 'v3',
      provider: kind,
      modelId,
      maxEmbeddingsPerCall: undefined, // who embeds many decides how many at once
      supportsParallelCalls: false,
      doEmbed: async (options) => (await provider()).embeddingModel(modelId).doEmbed(options),
    }),
    listing: { url: `${baseURL}/models`, headers: apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` } },
    talks: (name) => !vendor || (/^(gpt-|chatgpt-|o\d)/.test(name) && !NOT_FOR_TALK.test(name)),
  };
}

/** OpenAI's newer models refuse the old name of this limit. */
function forReasoningModels({ max_tokens, ...body }: Record<string, unknown>): Record<string, unknown> {
  return max_tokens === undefined ? body : { ...body, max_completion_tokens: max_tokens };
}

const NOT_FOR_TALK = /audio|realtime|transcribe|tts|image|instruct|search/;

function anthropic({ apiKey = '' }: ProviderSettings, baseURL: string): ProviderParts {
  const library = () => loadPackage('@ai-sdk/anthropic', () => import('@ai-sdk/anthropic'));
  const load = async (name: string) =>
    withCacheMarks((await library()).createAnthropic({ baseURL, apiKey, fetch: providerFetch }).languageModel(name));
  return {
    title: 'Anthropic',
    model: (name) => lazy('anthropic', name, load),
    listing: {
      url: `${baseURL}/models?limit=100`,
      headers: { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' },
    },
    talks: () => true,
  };
}

export const ATTEMPTS = 3;
/** The longest wait that a provider may ask for with `Retry-After`. If it asks for more, there is no further attempt. */
export const LONGEST_WAIT_MS = 20_000;
const BACKOFF = { firstMs: 500, longestMs: LONGEST_WAIT_MS };

type Fetch = typeof globalThis.fetch;

/** A request to a model provider, repeated while it is busy or unreachable, but not once it answered. A redirect would get the key: refused. */
export const providerFetch: Fetch = async (resource, init = {}) => {
  for (let attempt = 1; ; attempt++) {
    const last = attempt === ATTEMPTS;
    const answer = await ask(resource, init, last);
    const wait = answer ? waitFor(answer, attempt) : backoffMs(attempt - 1, BACKOFF);
    if (answer && (last || wait === undefined)) return answer;
    await answer?.body?.cancel();
    await sleep(wait, undefined, init.signal ? { signal: init.signal } : undefined);
  }
};

async function ask(resource: Parameters<Fetch>[0], init: RequestInit, last: boolean): Promise<Response | undefined> {
  try {
    return await fetch(resource, { ...init, headers: traced(init.headers), redirect: 'error' });
  } catch (error) {
    if (last || init.signal?.aborted) throw error;
    return undefined;
  }
}

/** The headers, with those by which the provider continues the trace. */
function traced(headers: RequestInit['headers']): Headers {
  const all = new Headers(headers);
  for (const [name, value] of Object.entries(outgoingTrace() ?? {})) all.set(name, value);
  return all;
}

/** Milliseconds to wait before the next attempt. Undefined if the answer is final. Vendors say so with `x-should-retry`, and finer than in seconds. */
function waitFor({ status, headers }: Response, attempt: number): number | undefined {
  const said = headers.get('x-should-retry');
  const isBusy = status === 408 || status === 429 || status >= 500;
  if (said === 'false' || (!isBusy && !(said === 'true' && status >= 400))) return undefined;
  const wait = wishedMs(headers);
  if (wait === undefined) return backoffMs(attempt - 1, BACKOFF);
  return wait <= LONGEST_WAIT_MS ? Math.max(0, wait) : undefined;
}

/** Seconds, or a date; undefined where it is neither. */
function wishedMs(headers: Headers): number | undefined {
  const milliseconds = numberIn(headers.get('retry-after-ms'));
  if (milliseconds !== undefined) return milliseconds;
  const asked = headers.get('retry-after');
  const seconds = numberIn(asked);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(asked ?? '');
  return Number.isNaN(date) ? undefined : date - Date.now();
}

function numberIn(text: string | null): number | undefined {
  const value = text === null || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}
