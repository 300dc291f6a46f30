import { createHash } from 'node:crypto';
import type { ExchangeRate, NamedQuery, RowSnapshot } from '../rows-port.ts';
import type { SqlConnection } from './connection.ts';
import { derivedTables } from './derived-tables.ts';
import { rebuildTable } from './rebuild.ts';

const digests = new WeakMap<object, string>();

/** Names a set of rates. */
export function digestOf(rates: readonly ExchangeRate[]): string {
  const digest = digests.get(rates) ?? createHash('sha256').update(JSON.stringify(rates)).digest('hex');
  digests.set(rates, digest);
  return digest;
}

const inUse: NamedQuery = { name: 'the exchange rates in use', sql: 'select digest from rates_in_use' };

export async function usesRates(rows: RowSnapshot, digest: string): Promise<boolean> {
  const [used] = await rows.query<{ digest: string }>(inUse);
  return used?.digest === digest;
}

/** Replaces the rates and makes again what was converted by the old ones, within a transaction. */
export async function replaceRates(
  writer: SqlConnection,
  rates: readonly ExchangeRate[],
  digest: string,
): Promise<void> {
  await writer.run('delete from exchange_rates');
  for (let at = 0; at < rates.length; at += AT_ONCE) await insert(writer, rates.slice(at, at + AT_ONCE));
  await writer.run('delete from rates_in_use');
  await writer.run('insert into rates_in_use values ($1)', [digest]);
  for (const table of derivedTables) if (table.isConverted) await rebuildTable(writer, table);
}

const AT_ONCE = 200;

async function insert(writer: SqlConnection, rates: readonly ExchangeRate[]): Promise<void> {
  const values = rates.map(({ currency, fromMs, toMs, factor }) => [currency, fromMs, toMs, String(factor)]);
  const places = values.map((_, row) => {
    const [first, second, third, fourth] = [1, 2, 3, 4].map((member) => `$${4 * row + member}`);
    return `(${first}, ${second}, ${third}, cast(${fourth} as double precision))`;
  });
  await writer.run(`insert into exchange_rates values ${places.join(', ')}`, values.flat());
}
