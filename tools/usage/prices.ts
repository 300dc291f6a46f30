import type { TokenUsage } from '../../resources/agent-run.ts';
import type { BudgetMeasure } from '../../resources/budget.ts';
import type { Settings } from '../../resources/settings.ts';

export interface TokenPrice {
  readonly input: number;
  readonly output: number;
}

type Priced = Pick<Settings, 'currency' | 'exchangeRates' | 'prices'>;

export function priceOn({ currency, exchangeRates, prices = [] }: Priced, model: string, date: string) {
  let price: NonNullable<Settings['prices']>[number] | undefined;
  for (const each of prices) {
    if (each.model === model && each.from <= date && (!price || each.from > price.from)) price = each;
  }
  if (!price) return undefined;
  const month = date.slice(0, 7);
  const foreign = exchangeRates.find((rate) => rate.currency === price.currency && rate.month === month);
  const rate = price.currency === currency ? 1 : foreign?.rate;
  return rate === undefined ? undefined : ({ input: price.input * rate, output: price.output * rate } as TokenPrice);
}

const MILLION = 1_000_000;

/** In millionths of the currency, not rounded: a price for a million tokens is one in millionths for each. */
export function costOf({ input, output }: TokenPrice, tokens: { inputTokens: number; outputTokens: number }): number {
  return tokens.inputTokens * input + tokens.outputTokens * output;
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
