import { unitsIn } from '../../../resources/minor-units.ts';
import type { SettingsRecord } from '../../../resources/settings.ts';
import type { ExchangeRate } from '../../../store/rows-port.ts';
import { oncePer } from '../../core/once-per.ts';
import { addIntervals } from '../calendar.ts';

/** Amounts are whole millionths of a minor unit of the workspace currency, so sums are exact in any order. */
export const MICROS = 1_000_000;

type Rates = Pick<SettingsRecord, 'currency' | 'exchangeRates'>;

/** The rates of the settings, with the workspace currency itself. */
export const ratesOf = oncePer(({ currency: own, exchangeRates }: Rates): readonly ExchangeRate[] => {
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
});

export class Money {
  readonly currency: string;

  constructor({ currency }: Pick<SettingsRecord, 'currency'>) {
    this.currency = currency;
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
