import type { Table } from '../records/tables.ts';
import { type CountTable, countTableOf } from './count-table.ts';

/**
 * Makes the count table of a collection, with the counts of the records that are there, and triggers that note in it what changes. They also
 * note what processes of the version before write.
 */
export function countStatementsOf(table: Table): string[] {
  const counts = countTableOf(table);
  if (!counts) return [];
  const { sql, columns } = counts;
  const statements = [
    `create table ${sql} (${[
      ...columns.map(({ name, type }) => `${name} ${type}${type === 'text' ? ' collate "C"' : ''}`),
      'records bigint not null',
      ...(counts.bytes ? ['bytes bigint not null'] : []),
      // The hash of the values, in the one row of all that was added up. The other rows are changes since then.
      'added_up bytea unique',
    ].join(', ')})`,
    ...(counts.quarters ? [`create index on ${sql} (created_at)`] : []),
    ...Object.entries(NOTED).flatMap(([event, noted]) => triggerOf(table, counts, event, noted)),
    addition(counts, [[1, table.sql]], table.expires),
  ];
  return [`do $make$ begin if to_regclass('${sql}') is null then ${statements.join(';\n')}; end if; end $make$`];
}

interface TransitionTable {
  readonly seeing: string;
  readonly parts: readonly Part[];
}

/** Each row of the table counts so many records. */
type Part = readonly [n: 1 | -1, table: string];

/** What a statement adds and takes away. */
const NOTED: Readonly<Record<string, TransitionTable>> = {
  insert: { seeing: 'new table as made', parts: [[1, 'made']] },
  update: {
    seeing: 'new table as made old table as gone',
    parts: [
      [1, 'made'],
      [-1, 'gone'],
    ],
  },
  delete: { seeing: 'old table as gone', parts: [[-1, 'gone']] },
};

function triggerOf(
  { sql, expires }: Table,
  counts: CountTable,
  event: string,
  { seeing, parts }: TransitionTable,
): string[] {
  const name = counts.sql.replace(/"$/, `_${event}"`);
  return [
    `create function ${name}() returns trigger language plpgsql as
      $note$ begin ${addition(counts, parts, expires)}; return null; end $note$`,
    `create trigger ${name} after ${event} on ${sql} referencing ${seeing} for each statement execute function ${name}()`,
  ];
}

/** The statement that adds up rows by their values, without those that expire, since nobody notes when they do. */
function addition({ sql, columns, bytes }: CountTable, parts: readonly Part[], expires: boolean): string {
  const names = columns.map(({ name }) => name);
  const values = columns.map(({ name, value }) =>
    name === 'created_at' ? `agent_admin_quarter(created_at) as created_at` : value ? `${value} as ${name}` : name,
  );
  const rows = parts.map(([n, table]) => {
    const size = bytes ? [`${n} * ${bytes} as size`] : [];
    return `select ${[...values, `${n} as n`, ...size].join(', ')} from ${table}${expires ? ' where expires_instant is null' : ''}`;
  });
  const [sums, isMore] = bytes ? [['sum(n)', 'sum(size)'], ' or sum(size) <> 0'] : [['sum(n)'], ''];
  return `insert into ${sql} (${[...names, 'records', ...(bytes ? ['bytes'] : [])].join(', ')})
    select ${[...names, ...sums].join(', ')} from (${rows.join(' union all ')}) as moved
    group by ${names.join(', ')} having sum(n) <> 0${isMore}`;
}
