import type { LanguageModel, ModelCall } from './language-model.ts';

/** The form in which Anthropic is told where the beginning ends that is to be kept in its cache. At most four are allowed. */
const MARK = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const;

/**
 * A model of Anthropic, which caches only what is marked: the tools, the system prompt, the conversation before the last message to it, and
 * what it has done since then.
 */
export function withCacheMarks(model: LanguageModel): LanguageModel {
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (call) => model.doGenerate(marked(call)),
    doStream: (call) => model.doStream(marked(call)),
  };
}

function marked(call: ModelCall): ModelCall {
  const { prompt, tools } = call;
  const asked = prompt.findLastIndex(({ role }) => role === 'user');
  const ends = new Set([prompt.findLastIndex(({ role }) => role === 'system'), asked - 1]);
  if (asked < prompt.length - 1) ends.add(prompt.length - 1);
  return {
    ...call,
    prompt: prompt.map((message, at) => (ends.has(at) ? withMark(message) : message)),
    ...(tools && { tools: tools.map((tool, at) => (at === tools.length - 1 ? toolWithMark(tool) : tool)) }),
  };
}

function withMark<Item extends { providerOptions?: ModelCall['providerOptions'] }>(item: Item): Item {
  return { ...item, providerOptions: { ...item.providerOptions, ...MARK } };
}

function toolWithMark(tool: NonNullable<ModelCall['tools']>[number]): typeof tool {
  return tool.type === 'function' ? withMark(tool) : tool;
}
