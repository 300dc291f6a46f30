import { derivedTables } from '../sql/derived-tables.ts';
import { createTable, exchangeRates, ratesInUse, rawTables } from '../sql/raw-tables.ts';
import type { Connection } from './connection.ts';

/** Creates the tables that are not there yet. */
export async function createTables(connection: Connection): Promise<void> {
  for (const [name, columns] of Object.entries(rawTables)) await connection.run(createTable(name, columns));
  await connection.run(createTable('exchange_rates', exchangeRates));
  await connection.run(createTable('rates_in_use', ratesInUse));
  for (const { ddl } of derivedTables) for (const sql of ddl) await connection.run(sql);
}
