import { hash } from 'node:crypto';
import { rebuildTable } from '../sql/derived-table.ts';
import { derivedTables } from '../sql/derived-tables.ts';
import { createTable, exchangeRates, ratesInUse, rawTables } from '../sql/raw-tables.ts';
import { createBatchTables } from '../sql/writing/plain-rows.ts';
import { createTouchedTables } from '../sql/writing/touched.ts';
import type { Connection } from './connection.ts';

const facts = { name: 'text', value: 'text' } as const;
/** Audit entries of writes that are in. The audit log may lack them after a crash. */
const unconfirmed = { id: 'text', at_ms: 'bigint', entry: 'text' } as const;

/** Creates the tables that are not there yet. Tables that an earlier version derived in another way are made again. */
export async function prepareTables(writer: Connection): Promise<void> {
  for (const [name, columns] of Object.entries({
    ...rawTables,
    exchange_rates: exchangeRates,
    rates_in_use: ratesInUse,
    facts,
    unconfirmed,
  })) {
    await writer.run(createTable(name, columns));
  }
  await createBatchTables(writer);
  await createTouchedTables(writer);
  const derivation = hash('sha256', JSON.stringify(derivedTables));
  if ((await readFact(writer, 'derivation')) === derivation) return;
  await writer.transaction(async () => {
    for (const { name, ddl } of derivedTables) {
      await writer.run(`drop table if exists ${name}`);
      for (const sql of ddl) await writer.run(sql);
    }
    for (const table of derivedTables) await rebuildTable(writer, table);
    await writeFact(writer, 'derivation', derivation);
  });
}

type Fact = 'derivation' | 'version' | 'rewrite';

export async function readFact(connection: Connection, name: Fact): Promise<string | undefined> {
  const [found] = await connection.query<{ value: string }>(
    { name: 'fact', sql: 'select value from facts where name = $1' },
    [name],
  );
  return found?.value;
}

export async function writeFact(writer: Connection, name: Fact, value: string): Promise<void> {
  await writer.run('delete from facts where name = $1', [name]);
  await writer.run('insert into facts values ($1, $2)', [name, value]);
}
