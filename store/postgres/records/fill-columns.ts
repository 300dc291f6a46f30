import { createHash } from 'node:crypto';
import { OperatorError } from '../../errors.ts';
import type { Row } from '../../row.ts';
import { isUniqueTaken } from '../failures.ts';
import type { Session } from '../session.ts';
import { wordsOf } from '../text/words.ts';
import { type Table, tables, uniqueHash } from './tables.ts';

const ROWS_AT_ONCE = 500;

/**
 * Fills the columns that this program writes beside a record, for the records of versions with other unique members or other words in
 * search. All other columns follow from the record by themselves. Where nothing changed, it is one question.
 * @throws OperatorError if records are equal in what must be unique now
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

/** Names what the columns depend on. Undefined if the table has none of them. */
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
