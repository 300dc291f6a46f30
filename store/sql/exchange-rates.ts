import { createHash } from 'node:crypto';
import type { ExchangeRate, RowSnapshot, SqlConnection } from '../rows-port.ts';
import { rebuildTable } from './derived-table.ts';
import { derivedTables } from './derived-tables.ts';

const digests = new WeakMap<object, string>();

export function digestOf(rates: readonly ExchangeRate[]): string {
  const digest = digests.get(rates) ?? createHash('sha256').update(JSON.stringify(rates)).digest('hex');
  digests.set(rates, digest);
  return digest;
}

/** Converts amounts by these rates, within a transaction. Returns false where they were in use already. */
export async function applyRates(writer: SqlConnection, rates: readonly ExchangeRate[]): Promise<boolean> {
  const digest = digestOf(rates);
  if (await usesRates(writer, digest)) return false;
  await writer.run('delete from exchange_rates');
  for (let at = 0; at < rates.length; at += AT_ONCE) await insert(writer, rates.slice(at, at + AT_ONCE));
  await writer.run('delete from rates_in_use');
  await writer.run('insert into rates_in_use values ($1)', [digest]);
  for (const table of derivedTables) if (table.isConverted) await rebuildTable(writer, table);
  return true;
}

interface Converting {
  read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>): Promise<Result>;
  useRates(rates: readonly ExchangeRate[]): Promise<void>;
}

/** Runs the work on a state of the rows whose amounts are converted by these rates. */
export async function readByRates<Result>(
  { read, useRates }: Converting,
  rates: readonly ExchangeRate[],
  work: (snapshot: RowSnapshot) => Promise<Result>,
): Promise<Result> {
  const digest = digestOf(rates);
  for (;;) {
    const found = await read(async (rows) =>
      (await usesRates(rows, digest)) ? { result: await work(rows) } : undefined,
    );
    if (found) return found.result;
    await useRates(rates);
  }
}

async function usesRates(rows: RowSnapshot, digest: string): Promise<boolean> {
  const query = { name: 'the exchange rates in use', sql: 'select digest from rates_in_use' };
  const [used] = await rows.query<{ digest: string }>(query);
  return used?.digest === digest;
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
