import type { TokenUsage } from '../../resources/agent-run.ts';
import type { BudgetMeasure } from '../../resources/budget.ts';
import type { ModelPrice } from '../../resources/model-price.ts';
import type { Settings } from '../../resources/settings.ts';
import type { Readers } from '../../store/port.ts';
import { OFFLINE_MODEL } from '../core/models/offline-model.ts';
import { allOf } from '../core/registry/paging.ts';
import { readSettings } from '../settings/settings.ts';

/** For a million tokens, in the currency of the workspace. */
export type TokenPrice = Readonly<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning', number>>;

/** All that a cost is computed from. */
export interface Pricing extends Pick<Settings, 'currency' | 'exchangeRates'> {
  /** Of two with the same model and date, the first counts. */
  readonly prices: readonly ModelPrice[];
}

export async function readPricing(store: Pick<Readers, 'settings' | 'modelProviders'>): Promise<Pricing> {
  const { currency, exchangeRates, prices = [] } = await readSettings(store);
  const providers = await allOf(store.modelProviders, {});
  const theirs = providers.flatMap(({ name, prices: own = [] }) =>
    own.map((price) => ({ ...price, model: `${name}/${price.model}` })),
  );
  return { currency, exchangeRates, prices: [...prices, ...theirs] };
}

export function priceOn({ currency, exchangeRates, prices }: Pricing, model: string, date: string) {
  let price: ModelPrice | undefined;
  for (const each of prices) {
    if (each.model === model && each.from <= date && (!price || each.from > price.from)) price = each;
  }
  if (!price) return model === OFFLINE_MODEL.id ? FREE : undefined;
  const month = date.slice(0, 7);
  const foreign = exchangeRates.find((rate) => rate.currency === price.currency && rate.month === month);
  const rate = price.currency === currency ? 1 : foreign?.rate;
  return rate === undefined ? undefined : inFull(price, rate);
}

/** The built-in model asks nobody who wants to be paid. */
const FREE: TokenPrice = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

function inFull(price: ModelPrice, rate: number): TokenPrice {
  const { input, output, cacheRead = input, cacheWrite = input, reasoning = output } = price;
  return {
    input: input * rate,
    output: output * rate,
    cacheRead: cacheRead * rate,
    cacheWrite: cacheWrite * rate,
    reasoning: reasoning * rate,
  };
}

const MILLION = 1_000_000;

/** In millionths of the currency, not rounded: a price for a million tokens is one in millionths for each. */
export function costOf(price: TokenPrice, tokens: TokenUsage): number {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = tokens;
  return (
    (inputTokens - cachedInputTokens - cacheWriteTokens) * price.input +
    cachedInputTokens * price.cacheRead +
    cacheWriteTokens * price.cacheWrite +
    (outputTokens - reasoningTokens) * price.output +
    reasoningTokens * price.reasoning
  );
}

/** A price by which tokens cost at least what they will, whatever part of them is cached or reasoning. */
export function highestOf({ input, output, cacheRead, cacheWrite, reasoning }: TokenPrice): TokenPrice {
  const [read, written] = [Math.max(input, cacheRead, cacheWrite), Math.max(output, reasoning)];
  return { input: read, output: written, cacheRead: read, cacheWrite: read, reasoning: written };
}

/** What tokens are in the measure of a budget: tokens, or millionths of the currency. Undefined if a cost is not known. */
export function amountOf(
  measure: BudgetMeasure,
  price: TokenPrice | undefined,
  tokens: TokenUsage,
): number | undefined {
  if (measure !== 'cost') return tokens.inputTokens + tokens.outputTokens;
  return price && Math.round(costOf(price, tokens));
}

export function unitsOf(millionths: number): number {
  return Math.round(millionths) / MILLION;
}

export function millionthsOf(units: number): number {
  return Math.round(units * MILLION);
}
