/**
 * A table that follows from the imported rows, so that questions need not work it out each time.
 *
 * A write fills temporary tables with the keys that it touched, of old and of new owners alike: `touched_visitors (visitor)`,
 * `touched_events (person, at_ms)`, `touched_subscriptions (id)`, `touched_customers (uid)` and `touched_websites (id)`. Then `renew`
 * replaces the rows of these keys, in the transaction of the write. A rebuild gives the same rows.
 */
export interface DerivedTable {
  readonly name: string;
  /** Creates the table where it does not exist. */
  readonly ddl: readonly string[];
  /** Renewed when one of these was touched. */
  readonly follows: readonly Touched[];
  readonly renew: readonly string[];
  /** Makes all rows, into the empty table. `{slice}` and `{slices}` stand for numbers, to make them in several parts in little memory. */
  readonly rebuild: readonly string[];
  /** How often `rebuild` runs. Default: 1. */
  readonly slices?: number;
  /** Rebuilt when exchange rates change. */
  readonly isConverted?: boolean;
}

export const touchedKeys = {
  visitors: { visitor: 'bigint' },
  events: { person: 'bigint', at_ms: 'bigint' },
  subscriptions: { id: 'text' },
  customers: { uid: 'text' },
  websites: { id: 'text' },
} as const;
export type Touched = keyof typeof touchedKeys;
