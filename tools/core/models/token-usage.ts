import type { LanguageModelUsage } from 'ai';
import type { TokenUsage } from '../../../resources/agent-run.ts';

export const NO_TOKENS: TokenUsage = { inputTokens: 0, outputTokens: 0 };

/** The parts of usage that some providers tell. */
export const TOKEN_DETAILS = ['cachedInputTokens', 'cacheWriteTokens', 'reasoningTokens'] as const;
type TokenDetail = (typeof TOKEN_DETAILS)[number];

/** What a provider told, where no part is larger than its whole. */
export function tokensUsed({ inputTokens, outputTokens, ...details }: LanguageModelUsage): TokenUsage {
  const { cacheReadTokens, cacheWriteTokens } = details.inputTokenDetails;
  const told = {
    cachedInputTokens: counted(cacheReadTokens),
    cacheWriteTokens: counted(cacheWriteTokens),
    reasoningTokens: counted(details.outputTokenDetails.reasoningTokens),
  };
  const whole = {
    inputTokens: Math.max(counted(inputTokens), told.cachedInputTokens + told.cacheWriteTokens),
    outputTokens: Math.max(counted(outputTokens), told.reasoningTokens),
  };
  return withDetails(whole, (detail) => told[detail]);
}

/** Providers may tell anything. */
function counted(tokens: number | undefined): number {
  return tokens !== undefined && tokens > 0 && Number.isFinite(tokens) ? Math.round(tokens) : 0;
}

export function sumOfTokens(one: TokenUsage, other: TokenUsage): TokenUsage {
  const whole = {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
  return withDetails(whole, (detail) => (one[detail] ?? 0) + (other[detail] ?? 0));
}

/** Details that are 0 are left out. */
export function withDetails(whole: TokenUsage, tokensOf: (detail: TokenDetail, at: number) => number): TokenUsage {
  const { inputTokens, outputTokens } = whole;
  const all: TokenUsage = { inputTokens, outputTokens };
  for (const [at, detail] of TOKEN_DETAILS.entries()) {
    const tokens = tokensOf(detail, at);
    if (tokens > 0) all[detail] = tokens;
  }
  return all;
}
