import type { Settings } from '../../resources/settings.ts';
import { Histogram } from './histogram.ts';
import { costOf, priceOn, unitsOf } from './prices.ts';
import type { UsageBucket } from './usage-buckets.ts';

/** What is added up for one row, one period, or all. */
export class Sum {
  calls = 0;
  errors = 0;
  inputTokens = 0;
  outputTokens = 0;
  readonly #spread = new Histogram();
  /** By model and date, which decide the price. */
  readonly #tokens = new Map<
    string,
    { readonly model: string; readonly date: string; input: number; output: number }
  >();

  addCalls({ calls, errors, spread }: UsageBucket): void {
    this.calls += calls;
    this.errors += errors;
    this.#spread.merge(spread);
  }

  addTokens({ inputTokens, outputTokens, labels: { model } }: UsageBucket, date: string): void {
    if (model === undefined || inputTokens + outputTokens === 0) return;
    this.inputTokens += inputTokens;
    this.outputTokens += outputTokens;
    const key = `${date} ${model}`;
    const tokens = this.#tokens.get(key) ?? { model, date, input: 0, output: 0 };
    this.#tokens.set(key, tokens);
    tokens.input += inputTokens;
    tokens.output += outputTokens;
  }

  /** The models whose tokens have no price. */
  unpriced(settings: Settings): string[] {
    const without = [...this.#tokens.values()].filter(({ model, date }) => !priceOn(settings, model, date));
    return [...new Set(without.map(({ model }) => model))].sort();
  }

  shown(settings: Settings) {
    const [p50Ms = null, p95Ms = null] = this.#spread.percentiles([0.5, 0.95]);
    const { calls, errors, inputTokens, outputTokens } = this;
    return { calls, errors, p50Ms, p95Ms, inputTokens, outputTokens, cost: this.#cost(settings) };
  }

  /** In a fixed order, so that equal figures have equal sums. Null if any price is unknown. */
  #cost(settings: Settings): number | null {
    let millionths = 0;
    for (const [, { model, date, input, output }] of [...this.#tokens].sort(([one], [other]) =>
      one < other ? -1 : 1,
    )) {
      const price = priceOn(settings, model, date);
      if (!price) return null;
      millionths += costOf(price, { inputTokens: input, outputTokens: output });
    }
    return unitsOf(millionths);
  }
}
