import { createHash } from 'node:crypto';
import { countStatementsOf } from '../counts/make-counts.ts';
import type { Session } from '../session.ts';
import { type Column, snake, type Table, tables } from './tables.ts';

/**
 * Creates missing tables, columns and indexes. It removes and changes nothing, so that processes of the previous version keep working:
 * generated columns follow from the record, whichever version writes it.
 */
export async function makeTables(session: Session): Promise<void> {
  const statements = [...tables.values()].flatMap(statementsOf);
  const state = createHash('sha256').update(statements.join('\n')).digest('hex');
  const reached = await session.query({ text: 'select 1 from record_tables where state = $1', values: [state] });
  if (reached.length > 0) return;
  // Each transaction of records holds it to its end. So none that holds one table waits for another that was changed here.
  await session.query({ text: 'lock table write_gate in exclusive mode' });
  await session.query({ text: statements.join(';\n') });
  await session.query({ text: 'insert into record_tables (state) values ($1)', values: [state] });
}

function statementsOf(table: Table): string[] {
  const { sql, columns, uniques, definition } = table;
  const own = [...columns].filter(([field]) => field !== 'id' && field !== 'createdAt');
  const add = (column: string) => `alter table ${sql} add column if not exists ${column}`;
  return [
    // Room in each page, so that a change of members without a column touches no index.
    `create table if not exists ${sql} (
      id text collate "C" primary key,
      created_at text collate "C" not null,
      record json not null
    )${definition.appendOnly ? '' : ' with (fillfactor = 85)'}`,
    ...own.map(([field, column]) => add(generated(field, column))),
    ...(definition.expires ? [add(expiry(definition.expires))] : []),
    ...uniques.map(({ name }) => add(`${name} bytea`)),
    ...(definition.search ? [add('words tsvector'), add('words_length integer')] : []),
    ...indexesOf(table),
    ...countStatementsOf(table),
  ];
}

function generated(field: string, { name, type }: Column): string {
  const member = `record ->> '${field}'`;
  if (type === 'text[]') return `${name} text[] generated always as (agent_admin_texts(record -> '${field}')) stored`;
  const value = type === 'text' ? member : `(${member})::${type}`;
  return `${name} ${type}${type === 'text' ? ' collate "C"' : ''} generated always as (${value}) stored`;
}

/** Beside a column of the member itself, where it has one. */
function expiry(field: string): string {
  return `expires_instant timestamptz generated always as (agent_admin_instant(record ->> '${field}')) stored`;
}

function indexesOf({ sql, name, columns, uniques, definition }: Table): string[] {
  const made = new Map<string, string>();
  const add = (suffix: string, on: string, kind = '') => {
    made.set(suffix, `create ${kind}index if not exists "${snake(name)}_${suffix}" on ${sql} ${on}`);
  };
  add('newest', '(created_at, id)');
  for (const fields of definition.indexes) {
    const on = fields.map((field) => columns.get(field)).filter((column) => column !== undefined);
    const scalar = on.filter(({ type, isLong }) => type !== 'text[]' && !isLong);
    for (const column of on) {
      if (column.type === 'text[]') add(`${bare(column.name)}_items`, `using gin (${column.name})`);
      if (column.isLong) add(`${bare(column.name)}_hash`, `using hash (${column.name})`);
    }
    const names = scalar.map((column) => column.name);
    if (names.length > 0) add(`by_${names.map(bare).join('_')}`, `(${names.join(', ')}, created_at, id)`);
  }
  for (const unique of uniques) add(bare(unique.name), `(${unique.name})`, 'unique ');
  if (definition.expires) add('expiry', '(expires_instant) where expires_instant is not null');
  if (definition.search) add('words', 'using gin (words)');
  return [...made.values()];
}

function bare(name: string): string {
  return name.replaceAll('"', '');
}
