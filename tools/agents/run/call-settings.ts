import { ProviderSilent } from '../../core/models/circuit.ts';
import type { LanguageModel } from '../../core/models/language-model.ts';
import { ProviderFailure } from '../../core/models/provider-failure.ts';

type Effort = 'low' | 'medium' | 'high';

export interface ModelCallSettings {
  readonly temperature?: number | undefined;
  readonly reasoningEffort?: Effort | undefined;
  /** Longest silence within a turn. */
  readonly timeoutSeconds?: number | undefined;
}

export function callSettings({ temperature, reasoningEffort }: ModelCallSettings = {}) {
  return {
    ...(temperature !== undefined && { temperature }),
    ...(reasoningEffort && { providerOptions: effortOptions(reasoningEffort) }),
  };
}

/** Each vendor's own form. Providers read theirs alone. */
function effortOptions(effort: Effort) {
  return {
    openaiCompatible: { reasoningEffort: effort },
    openai: { reasoningEffort: effort },
    azure: { reasoningEffort: effort },
    anthropic: { effort },
    google: { thinkingConfig: { thinkingLevel: effort } },
  };
}

/** Aborts when a model has said nothing for so long. */
export class Silence {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(seconds: number | undefined) {
    if (seconds !== undefined)
      this.#timer = setTimeout(() => this.#controller.abort(new ProviderSilent()), seconds * 1000);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something came. */
  broken(): void {
    this.#timer?.refresh();
  }

  over(): void {
    clearTimeout(this.#timer);
  }
}

interface SlowAnswer {
  readonly timeoutSeconds: number | undefined;
  readonly isCut: boolean;
}

export function tooSlow(
  { provider, modelId }: LanguageModel,
  { timeoutSeconds = 0, isCut }: SlowAnswer,
): ProviderFailure {
  const name = `${provider.split('.')[0]}/${modelId}`;
  const message = `The model ${name} was silent for ${timeoutSeconds} seconds, which is the timeoutSeconds of the agent; send the message again, or choose another by list_models.`;
  return new ProviderFailure(message, { isCut, reason: 'timeout' });
}
