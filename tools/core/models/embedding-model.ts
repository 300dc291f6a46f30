import type { EmbeddingModel as AnyEmbeddingModel } from 'ai';
import { loadPackage } from '../load-package.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { observed } from '../telemetry/telemetry.ts';
import { CircuitOpen } from './circuit.ts';
import { tokensOf } from './tokens.ts';

/** An embedding model of a library, as an object, see `LanguageModel`. */
export type LibraryEmbeddingModel = Extract<AnyEmbeddingModel, { specificationVersion: 'v3' }>;

export interface EmbeddingModel {
  /** `provider/name` */
  readonly id: string;
  /** The vectors of the texts, in their order and of one length. @throws EmbeddingFailure */
  embed(texts: readonly string[], signal: AbortSignal): Promise<EmbeddedTexts>;
}

export interface EmbeddedTexts {
  readonly vectors: readonly (readonly number[])[];
  readonly tokens: number;
}

/** The message is safe to show. */
export class EmbeddingFailure extends Error {
  /** The provider refused these texts, not the request as such: others, or fewer of them, may do. */
  readonly isAboutTexts: boolean;
  /** How long the provider wants to be left alone. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    {
      cause,
      isAboutTexts = false,
      retryAfterMs,
    }: { cause?: unknown; isAboutTexts?: boolean; retryAfterMs?: number } = {},
  ) {
    super(message, { cause });
    this.isAboutTexts = isAboutTexts;
    this.retryAfterMs = retryAfterMs;
  }
}

const OPERATION = 'embeddings';
export const MOST_NUMBERS = 8192;

export function embeddingModel(id: string, model: LibraryEmbeddingModel, telemetry: Telemetry): EmbeddingModel {
  const { modelSeconds, modelTokens } = telemetry.measures;
  const [provider = ''] = id.split('/');
  const span = () => ({
    name: `${OPERATION} ${model.modelId}`,
    kind: 'client' as const,
    attributes: {
      'gen_ai.operation.name': OPERATION,
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model.modelId,
    },
  });
  return {
    id,
    async embed(texts, signal) {
      const embedded = await observed(modelSeconds, [OPERATION, provider], span, () => ask(id, model, texts, signal));
      modelTokens.record(embedded.tokens, OPERATION, provider, 'input');
      return embedded;
    },
  };
}

async function ask(
  id: string,
  model: LibraryEmbeddingModel,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<EmbeddedTexts> {
  const { embedMany } = await loadPackage('ai', () => import('ai'));
  const values = [...texts];
  const answer = await embedMany({ model, values, maxRetries: 0, abortSignal: signal }).catch(async (error) => {
    throw await failureOf(id, error);
  });
  const { embeddings: vectors, usage } = answer;
  const [first = []] = vectors;
  const isWhole = vectors.length === texts.length && first.length > 0 && first.length <= MOST_NUMBERS;
  if (!isWhole || vectors.some((vector) => vector.length !== first.length || !vector.every(Number.isFinite))) {
    throw new EmbeddingFailure(`The embedding model ${id} did not answer one vector of equal length for each text.`);
  }
  // Not every server says how many tokens it read.
  const tokens = Number.isFinite(usage.tokens) ? usage.tokens : tokensOf(texts.join(' '));
  return { vectors, tokens };
}

const ABOUT_TEXTS: readonly (number | undefined)[] = [400, 413, 422];

async function failureOf(id: string, error: unknown): Promise<EmbeddingFailure> {
  if (error instanceof CircuitOpen) {
    const until = new Date(error.untilMs).toISOString();
    const message = `The embedding model ${id} is not asked before ${until}, as it failed again and again.`;
    return new EmbeddingFailure(message, { retryAfterMs: error.retryAfterSeconds * 1000 });
  }
  const { APICallError } = await loadPackage('ai', () => import('ai'));
  if (!APICallError.isInstance(error)) return new EmbeddingFailure(`The embedding model ${id} did not answer in time.`);
  const { statusCode: status, responseHeaders = {} } = error;
  const seconds = Number(responseHeaders['retry-after']);
  const retryAfterMs = seconds > 0 ? seconds * 1000 : undefined;
  const what = `The embedding model ${id} ${problemOf(status)}`;
  const isAboutTexts = ABOUT_TEXTS.includes(status);
  return new EmbeddingFailure(what, { isAboutTexts, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}

function problemOf(status: number | undefined): string {
  if (status === undefined) return 'could not be reached; check its server.';
  if (status === 401 || status === 403) return `refused the key it was given (${status}); set another one.`;
  if (status === 404) return 'is not known to its provider (404); check EMBEDDING_MODEL.';
  if (status === 429) return 'accepts no more requests for now (429).';
  if (status < 400) return 'sent an unreadable answer.';
  return status >= 500 ? `failed (${status}).` : `refused the texts (${status}).`;
}
