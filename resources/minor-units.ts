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

/** The amount in major units of its currency, with all its decimals. */
export function majorUnits(minor: number, currency: string): number {
  return minor / unitsIn(currency);
}
