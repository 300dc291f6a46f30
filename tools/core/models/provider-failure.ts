import { loadPackage } from '../load-package.ts';
import { CircuitOpen } from './circuit.ts';
import type { LanguageModel } from './language-model.ts';

const LONGEST = 500;

interface FailureOptions {
  readonly cause?: unknown;
  readonly isCut?: boolean;
  readonly retryAfterSeconds?: number;
}

/** A model did not answer, or not to the end. The message is safe to show. The cause is for the log and contains nothing of the prompt. */
export class ProviderFailure extends Error {
  /** The answer had begun and broke off. */
  readonly isCut: boolean;
  /** Where it is known when the provider is asked again. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, { cause, isCut = false, retryAfterSeconds }: FailureOptions = {}) {
    super(message, { cause });
    this.isCut = isCut;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  static async of({ provider, modelId }: LanguageModel, error: unknown): Promise<ProviderFailure> {
    const name = `${provider.split('.')[0]}/${modelId}`;
    const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const cause = new Error(`the model ${name} failed: ${said.slice(0, LONGEST)}`);
    if (error instanceof CircuitOpen) {
      const { untilMs, retryAfterSeconds } = error;
      const until = new Date(untilMs).toISOString();
      const message = `The model ${name} is not asked before ${until}, as its provider failed again and again; send the message again then, or choose another by list_models.`;
      return new ProviderFailure(message, { cause, retryAfterSeconds });
    }
    const { APICallError } = await loadPackage('ai', () => import('ai'));
    // Requests that get no answer, or a refusal, have been repeated where that makes sense.
    const isCut =
      !APICallError.isInstance(error) ||
      (error.statusCode ?? 500) < 400 ||
      error.responseHeaders?.['content-type']?.startsWith('text/event-stream') === true; // an error as the first event
    return new ProviderFailure(`The model ${name} ${await problemOf(error)}`, { cause, isCut });
  }
}

async function problemOf(error: unknown): Promise<string> {
  const { APICallError } = await loadPackage('ai', () => import('ai'));
  if (!APICallError.isInstance(error)) return 'ended before its answer was complete; send the message again.';
  const { statusCode: status } = error;
  if (status === undefined) return 'could not be reached; send the message again, or choose another by list_models.';
  if (status === 401 || status === 403)
    return `refused the key it was given (${status}); the operator has to set another.`;
  if (status === 404) return 'is not known to its provider (404); choose another by list_models.';
  if (status === 429) return 'accepts no more requests for now (429); send the message again later.';
  if (status < 400) return 'sent an unreadable answer; send the message again, or choose another by list_models.';
  if (status >= 500) return `failed (${status}); send the message again later.`;
  return `refused the request (${status}); the conversation may be too long for it, or it takes no tools.`;
}
