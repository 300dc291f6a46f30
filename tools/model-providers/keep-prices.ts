import { isDeepStrictEqual } from 'node:util';
import { DAY_MS } from '../../resources/durations.ts';
import type { ModelProviderRecord } from '../../resources/model-provider.ts';
import { MOST_PRICES, SETTINGS_ID } from '../../resources/settings.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import type { Fail } from '../core/registry/define-tool.ts';
import { readSettings } from '../settings/settings.ts';

type Priced = Pick<ModelProviderRecord, 'name' | 'prices'>;

interface Pricing {
  readonly store: HistoryWriters;
  readonly now: Date;
  readonly fail: Fail<'conflict'>;
}

/** Moves the prices of a provider that loses its name to the settings, so that what its models were used for keeps its cost. @throws conflict */
export async function keepPrices({ name, prices = [] }: Priced, { store, now, fail }: Pricing): Promise<void> {
  const { prices: before = [] } = await readSettings(store);
  const known = new Set(before.map(({ model, from }) => `${from} ${model}`));
  const today = dayOf(now);
  const kept = prices
    .filter(({ from }) => from <= today)
    .map((price) => ({ ...price, model: `${name}/${price.model}` }))
    .filter(({ model, from }) => !known.has(`${from} ${model}`));
  if (kept.length === 0) return;
  if (before.length + kept.length > MOST_PRICES) {
    const message = `The prices of ${name} are needed for the cost of earlier days, and the settings have no room for them; remove others there first (update_settings {prices}).`;
    throw fail('conflict', message);
  }
  await store.settings.update(SETTINGS_ID, { prices: [...before, ...kept] });
}

/** Prices in the settings come first, and some are kept there of a provider that had the name before. @throws conflict where a price that is new under this name would not count because of one */
export async function requireCounted(
  { name, prices = [] }: Priced,
  { before, store, now, fail }: Pricing & { readonly before?: Priced },
): Promise<void> {
  const known = before?.name === name ? (before.prices ?? []) : [];
  const { prices: first = [] } = await readSettings(store);
  const today = dayOf(now);
  for (const price of prices) {
    if (known.some((each) => isDeepStrictEqual(each, price))) continue;
    const [, start = today] = [price.from, today].sort();
    const isOver = prices.some(({ model, from }) => model === price.model && from > price.from && from <= start);
    const model = `${name}/${price.model}`;
    const [over] = first
      .filter((each) => each.model === model && each.from >= price.from && each.from <= start)
      .sort((one, other) => other.from.localeCompare(one.from));
    if (isOver || !over || isDeepStrictEqual({ ...over, from: price.from }, { ...price, model })) continue;
    const next = over.from < today ? today : dayOf(new Date(Date.parse(over.from) + DAY_MS));
    const message = `The settings have a price of ${model} from ${over.from} on, which comes first, so the one from ${price.from} on would not count. Give \`from\` as ${next} or later, or change that in the settings (update_settings {prices}).`;
    throw fail('conflict', message);
  }
}

const dayOf = (date: Date) => date.toISOString().slice(0, 10);
