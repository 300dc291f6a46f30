import type { ModelInput } from '../../../resources/model-provider.ts';
import type { ProviderKind } from './provider-adapter.ts';
import type { ModelLimits } from './providers.ts';

const TEXT: readonly ModelInput[] = ['text'];
const IMAGES: readonly ModelInput[] = ['text', 'image'];
const ALL: readonly ModelInput[] = ['text', 'image', 'pdf'];

/** What models read as their vendors publish it, by kind and name: the first pattern that fits, else the last entry. */
const KNOWN: Readonly<Record<ProviderKind, readonly (readonly [RegExp, readonly ModelInput[]])[]>> = {
  openai: [
    [/^(?:gpt-3\.5|gpt-4(?:-\d|-32k|$)|o1-mini|o1-preview|o3-mini)/, TEXT],
    [/./, ALL],
  ],
  anthropic: [
    [/^claude-(?:2|instant)/, TEXT],
    [/./, ALL],
  ],
  google: [
    [/^gemma-(?:[12]|3-1b)/, TEXT],
    [/^gemma/, IMAGES],
    [/./, ALL],
  ],
  // Deployments have names of their own.
  azure: [[/./, IMAGES]],
  bedrock: [[/anthropic\.claude-(?!2|instant)|amazon\.nova-(?!micro)/, ALL]],
  'openai-compatible': [],
  custom: [],
};

interface Provider {
  readonly kind: ProviderKind;
  readonly configured: readonly ModelLimits[];
}

/** What the model reads: what its record says, else what is known of its kind, else text alone. */
export function inputsOf({ kind, configured }: Provider, name: string): readonly ModelInput[] {
  const said = configured.find((model) => model.name === name)?.inputs;
  if (said) return [...new Set<ModelInput>(['text', ...said])];
  return KNOWN[kind].find(([pattern]) => pattern.test(name))?.[1] ?? TEXT;
}
