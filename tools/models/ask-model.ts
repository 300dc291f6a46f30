import type { LanguageModel } from './language-model.ts';
import { ProviderFailure } from './provider-failure.ts';

interface AskModelInput {
  readonly system: string;
  readonly prompt: string;
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
}

/** Asks one question without tools. Returns the text of the answer. @throws ProviderFailure, or the reason of the signal */
export async function askModel(model: LanguageModel, { signal, ...asked }: AskModelInput): Promise<string> {
  const { streamText } = await import('ai');
  let text = '';
  try {
    const stream = streamText({ model, ...asked, abortSignal: signal, maxRetries: 0, onError: () => {} });
    for await (const part of stream.fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-delta') text += part.text;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw await ProviderFailure.of(model, error);
  }
  signal.throwIfAborted();
  return text;
}
