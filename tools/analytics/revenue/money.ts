import type { SettingsRecord } from '../../../resources/settings.ts';
import type { ExchangeRate } from '../../../store/rows-port.ts';
import { addIntervals } from '../calendar.ts';

/** Amounts are whole millionths of a minor unit of the workspace currency, so sums are exact in any order. */
export const MICROS = 1_000_000;

/** The rates of the settings, with the workspace currency itself. */
export function ratesOf({
  currency: own,
  exchangeRates,
}: Pick<SettingsRecord, 'currency' | 'exchangeRates'>): ExchangeRate[] {
  const always = { fromMs: -Number.MAX_SAFE_INTEGER, toMs: Number.MAX_SAFE_INTEGER };
  const rates = exchangeRates
    .filter(({ currency }) => currency !== own)
    .map(({ currency, month, rate }) => ({
      currency,
      fromMs: Date.parse(`${month}-01`),
      toMs: Date.parse(addIntervals(`${month}-01`, 'month', 1)),
      factor: (1 / unitsIn(currency)) * rate * unitsIn(own),
    }));
  return [{ currency: own, ...always, factor: 1 }, ...rates];
}

interface Warning {
  readonly reason: string;
  readonly type: string;
  readonly currency: string;
  readonly rows: number;
}

/** Converts amounts to the workspace currency by the rate of a month. Counts the rows for which there is no rate. */
export class Money {
  readonly currency: string;
  readonly #rates: ReadonlyMap<string, number>;
  readonly #missing = new Map<string, Set<string>>();

  constructor({ currency, exchangeRates }: Pick<SettingsRecord, 'currency' | 'exchangeRates'>) {
    this.currency = currency;
    this.#rates = new Map(exchangeRates.map((rate) => [`${rate.currency} ${rate.month}`, rate.rate]));
  }

  /** Minor units of the workspace currency, not rounded. Undefined without a rate. Warnings name `row`. */
  convert(
    minor: number,
    from: string,
    time: number,
    row: { readonly type: string; readonly id: string },
  ): number | undefined {
    if (from === this.currency) return minor;
    const rate = this.#rates.get(`${from} ${new Date(time).toISOString().slice(0, 7)}`);
    if (rate !== undefined) return (minor / unitsIn(from)) * rate * unitsIn(this.currency);
    const key = `${row.type} ${from}`;
    this.#missing.set(key, (this.#missing.get(key) ?? new Set()).add(row.id));
    return undefined;
  }

  /** The row is converted again, or was removed. */
  forget(row: { readonly type: string; readonly id: string }): void {
    for (const [key, rows] of this.#missing) {
      if (key.startsWith(`${row.type} `) && rows.delete(row.id) && rows.size === 0) this.#missing.delete(key);
    }
  }

  warnings(): { readonly warnings?: Warning[] } {
    if (this.#missing.size === 0) return {};
    const reason = `No exchange rate to ${this.currency} for the month; update_settings takes them.`;
    const warnings = [...this.#missing]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, rows]) => {
        const [type = '', currency = ''] = key.split(' ');
        return { reason, type, currency, rows: rows.size };
      });
    return { warnings };
  }

  /** Major units, rounded to 2 decimals. */
  major(micros: number): number {
    return roundCents(this.exact(micros));
  }

  /** Major units, not rounded. */
  exact(micros: number): number {
    return micros / MICROS / unitsIn(this.currency);
  }
}

export function roundCents(amount: number): number {
  // Rounds halves away from zero. The small addition corrects halves that binary fractions represent slightly too low.
  const rounded = (Math.sign(amount) * Math.round(Math.abs(amount) * 100 + 1e-7)) / 100;
  return rounded === 0 ? 0 : rounded;
}

const units = new Map<string, number>();

/** The number of minor units in a major one: 100 cents, 1 yen. */
export function unitsIn(currency: string): number {
  let found = units.get(currency);
  if (found === undefined) {
    const { maximumFractionDigits = 2 } = new Intl.NumberFormat('en', {
      style: 'currency',
      currency,
    }).resolvedOptions();
    found = 10 ** maximumFractionDigits;
    units.set(currency, found);
  }
  return found;
}
