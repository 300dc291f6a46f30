import type { FallbackReason } from '../../../resources/agent-run.ts';
import { ToolError } from '../errors.ts';
import { loadPackage } from '../load-package.ts';
import { CircuitOpen } from './circuit.ts';
import type { LanguageModel } from './language-model.ts';

const LONGEST = 500;

interface FailureOptions {
  readonly cause?: unknown;
  readonly isCut?: boolean;
  readonly retryAfterSeconds?: number;
  readonly reason?: FallbackReason | undefined;
}

/** A model did not answer, or not to the end. The message is safe to show. The cause is for the log and contains nothing of the prompt. */
export class ProviderFailure extends Error {
  /** The answer had begun and broke off. */
  readonly isCut: boolean;
  /** Where it is known when the provider is asked again. */
  readonly retryAfterSeconds: number | undefined;

  /** Why another model may be asked instead. Absent where another one would not be asked. */
  readonly reason: FallbackReason | undefined;

  constructor(message: string, { cause, isCut = false, retryAfterSeconds, reason }: FailureOptions = {}) {
    super(message, { cause });
    this.isCut = isCut;
    this.retryAfterSeconds = retryAfterSeconds;
    this.reason = reason;
  }

  /** The same where nothing of the answer was passed on, so that another model can be asked. */
  unbegun(): ProviderFailure {
    return new ProviderFailure(this.message, { cause: this.cause, reason: this.reason });
  }

  /** The same where part of the answer was passed on before, so that no other model can be asked. */
  begun(): ProviderFailure {
    const { message, cause, retryAfterSeconds } = this;
    return new ProviderFailure(message, {
      cause,
      isCut: true,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    });
  }

  static async of({ provider, modelId }: LanguageModel, error: unknown): Promise<ProviderFailure> {
    const name = `${provider.split('.')[0]}/${modelId}`;
    const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const cause = new Error(`the model ${name} failed: ${said.slice(0, LONGEST)}`);
    if (error instanceof CircuitOpen) {
      const { untilMs, retryAfterSeconds } = error;
      const until = new Date(untilMs).toISOString();
      const message = `The model ${name} is not asked before ${until}, as its provider failed again and again; send the message again then, or choose another by list_models.`;
      return new ProviderFailure(message, { cause, retryAfterSeconds, reason: 'unreachable' });
    }
    if (error instanceof ToolError)
      return new ProviderFailure(`The model ${name} cannot be used: ${error.message}`, { cause });
    const { APICallError } = await loadPackage('ai', () => import('ai'));
    // Requests that get no answer, or a refusal, have been repeated where that makes sense.
    const isCut =
      !APICallError.isInstance(error) ||
      (error.statusCode ?? 500) < 400 ||
      error.responseHeaders?.['content-type']?.startsWith('text/event-stream') === true; // an error as the first event
    return new ProviderFailure(`The model ${name} ${await problemOf(error)}`, {
      cause,
      isCut,
      reason: await reasonOf(error),
    });
  }
}

async function reasonOf(error: unknown): Promise<FallbackReason | undefined> {
  const { APICallError } = await loadPackage('ai', () => import('ai'));
  if (!APICallError.isInstance(error)) return 'failed';
  const { statusCode: status } = error;
  if (status === undefined) return 'unreachable';
  if (status === 429 || status === 529) return 'overloaded';
  if (status === 408 || status === 504) return 'timeout';
  return status >= 500 ? 'failed' : undefined;
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
