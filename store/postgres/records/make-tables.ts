import { createHash } from 'node:crypto';
import { OperatorError } from '../../errors.ts';
import type { Row } from '../../row.ts';
import { countStatementsOf } from '../counts.ts';
import { isUniqueTaken } from '../failures.ts';
import type { Session } from '../session.ts';
import { wordsOf } from '../text/words.ts';
import { type Column, snake, type Table, tables, uniqueHash } from './tables.ts';

/** Creates missing tables, columns and indexes. It removes and changes nothing, so that the previous version keeps working. */
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
    ...sortColumns(table),
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

/** One statement adds all columns: PostgreSQL rewrites the table once for each statement. */
function sortColumns({ sql, sorts }: Table): string[] {
  const made = [...sorts].map(
    ([field, column]) =>
      `add column if not exists ${column} text collate "C" generated always as (agent_admin_sort_key(record ->> '${field}')) stored`,
  );
  return made.length > 0 ? [`alter table ${sql} ${made.join(', ')}`] : [];
}

function expiry(field: string): string {
  return `expires_instant timestamptz generated always as (agent_admin_instant(record ->> '${field}')) stored`;
}

function indexesOf({ sql, name, columns, uniques, sorts, definition }: Table): string[] {
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
  for (const column of sorts.values()) add(bare(column), `(${column}, id)`);
  for (const unique of uniques) add(bare(unique.name), `(${unique.name})`, 'unique ');
  if (definition.expires) add('expiry', '(expires_instant) where expires_instant is not null');
  if (definition.search) add('words', 'using gin (words)');
  return [...made.values()];
}

function bare(name: string): string {
  return name.replaceAll('"', '');
}

const ROWS_AT_ONCE = 500;

/**
 * Fills columns of unique members and words, which do not follow from the record, where definitions changed. @throws OperatorError if
 * records are equal in what must be unique now
 */
export async function fillColumns(session: Session): Promise<void> {
  const filled = await session.query<{ state: string }>({ text: 'select state from record_tables' });
  const reached = new Set(filled.map(({ state }) => state));
  for (const table of tables.values()) {
    const state = stateOf(table);
    if (state === undefined || reached.has(state)) continue;
    await fill(session, table);
    await session.query({ text: 'insert into record_tables (state) values ($1)', values: [state] });
  }
}

function stateOf({ name, definition: { unique, search } }: Table): string | undefined {
  if (unique.length === 0 && !search) return undefined;
  const depends = JSON.stringify([unique, search?.title, search?.text]);
  return `${name} ${createHash('sha256').update(depends).digest('hex')}`;
}

async function fill(session: Session, table: Table): Promise<void> {
  const { sql, expires } = table;
  if (expires) await session.query({ text: `delete from ${sql} where expires_instant <= now()` });
  for (let after = ''; ; ) {
    const rows = await session.query<{ record: Row }>({
      text: `select record from ${sql} where id > $1 order by id limit ${ROWS_AT_ONCE} for update`,
      values: [after],
    });
    const last = rows.at(-1);
    if (!last) return;
    await fillRows(
      session,
      table,
      rows.map(({ record }) => record),
    );
    after = last.record.id;
  }
}

async function fillRows(session: Session, table: Table, records: readonly Row[]): Promise<void> {
  const { name, sql, uniques, definition } = table;
  const { search } = definition;
  const words = search && records.map((record) => wordsOf(search, record));
  const columns = [
    ...uniques.map((unique) => ({
      column: unique.name,
      type: 'bytea',
      values: records.map((record) => uniqueHash(unique, record)),
    })),
    ...(words
      ? [
          { column: 'words', type: 'tsvector', values: words.map(({ vector }) => vector) },
          { column: 'words_length', type: 'integer', values: words.map(({ length }) => length) },
        ]
      : []),
  ];
  const sets = columns.map(({ column }, at) => `${column} = given.v${at}`);
  const lists = columns.map(({ type }, at) => `$${at + 2}::${type}[]`);
  const text = `update ${sql} set ${sets.join(', ')}
    from unnest($1::text[], ${lists.join(', ')}) as given(id, ${columns.map((_, at) => `v${at}`).join(', ')}) where ${sql}.id = given.id`;
  try {
    await session.query({ text, values: [records.map(({ id }) => id), ...columns.map(({ values }) => values)] });
  } catch (cause) {
    throw isUniqueTaken(cause) ? new OperatorError(equalText(table), { cause }) : cause;
  }
  const terms = [...new Set(words?.flatMap((each) => each.terms))];
  if (terms.length === 0) return;
  await session.query({
    text: 'insert into text_words (collection, word) select $1, * from unnest($2::text[])',
    values: [name, terms],
  });
}

function equalText({ name, uniques }: Table): string {
  const members = uniques.map(({ rule }) => rule.fields.join(' and ')).join(', or in ');
  return `Some ${name} are equal in ${members}, which must differ now. Start the version before, change them there, and start this one again.`;
}
