import type { CollectionDefinition } from '../collection-definition.ts';
import type { Jobs } from '../jobs-port.ts';
import { type PeriodicTask, startLeaderTask } from '../periodic-task.ts';
import type { Size } from '../sizes.ts';
import type { Database } from './database.ts';
import { type AnyCount, type AnyFilter, allOf, conditions, type Reading, Values } from './records/query.ts';
import { type Column, CREATED_AT, snake, type Table, tables } from './records/tables.ts';
import type { Session } from './session.ts';

const ADD_UP_EVERY_MS = 30_000;

const countTables: ReadonlyMap<Table, CountTable> = new Map(
  [...tables.values()].flatMap((table) => {
    const counts = countTableOf(table);
    return counts ? [[table, counts] as const] : [];
  }),
);

/** Undefined if the count table does not know. Transactions count the records themselves, so that PostgreSQL sees what they read. */
export async function materializedCount(
  table: Table,
  filter: AnyCount,
  { session, now }: Pick<Reading, 'session' | 'now'>,
): Promise<number | undefined> {
  const counts = countTables.get(table);
  if (!counts || filter.owner || !knows(counts, filter)) return undefined;
  const values = new Values();
  const where = allOf(conditions(table, filter, values));
  // Records that expire are found by the index of those alone.
  const live = table.expires
    ? ` + (select count(*) from ${table.sql} where ${where} and expires_instant > ${values.add(now())})`
    : '';
  const text = `select (coalesce(sum(records), 0)${live})::integer as count from ${counts.sql} where ${where}`;
  const [found] = await session.query<{ count: number }>({ text, values: values.all });
  return found?.count;
}

export async function materializedSizes(table: Table, session: Session): Promise<readonly Size[]> {
  const counts = countTables.get(table);
  if (!counts?.bytes) return [];
  const { by = [] } = table.definition.counts ?? {};
  const names = counts.columns.map(({ name }) => name);
  const values = names.map((name, at) => `'${by[at]}', ${name}`).join(', ');
  return session.query<Size>({
    text: `select json_strip_nulls(json_build_object(${values})) as values, sum(records)::integer as records,
      sum(bytes)::double precision as bytes
      from ${counts.sql} group by ${names.join(', ')} having sum(records) <> 0`,
  });
}

/** Adds up the changes in the count tables now and then, in one process, so that there stays one row for each combination of values. */
export function maintainCounts(
  database: Database,
  jobs: Pick<Jobs, 'isLeader'>,
  onFailure: (cause: unknown) => void,
): PeriodicTask {
  const work = async () => {
    for (const counts of countTables.values()) await addUp(counts, database);
  };
  return startLeaderTask(jobs, work, { onFailure, everyMs: ADD_UP_EVERY_MS });
}

export async function addUp({ sql, columns, bytes }: CountTable, session: Session): Promise<void> {
  const names = columns.map(({ name }) => name).join(', ');
  const sums = ['records', ...(bytes ? ['bytes'] : [])];
  const emptied = await session.query<{ added_up: Buffer }>({
    text: `with taken as (delete from ${sql} where added_up is null returning ${names}, ${sums.join(', ')}),
      added as (
        insert into ${sql} as kept (${names}, ${sums.join(', ')}, added_up)
        select ${names}, ${sums.map((sum) => `sum(${sum})`).join(', ')}, sha256(convert_to(row(${names})::text, 'UTF8'))
        from taken group by ${names}
        on conflict (added_up) do update set ${sums.map((sum) => `${sum} = kept.${sum} + excluded.${sum}`).join(', ')}
        returning records, added_up
      )
      select added_up from added where records = 0`,
  });
  if (emptied.length === 0) return;
  const values = [emptied.map(({ added_up }) => added_up)];
  await session.query({ text: `delete from ${sql} where records = 0 and added_up = any ($1::bytea[])`, values });
}

interface CountTable {
  readonly sql: string;
  /** The columns of the combination. `created_at` is the begin of a quarter of an hour. */
  readonly columns: readonly CountColumn[];
  readonly members: ReadonlySet<string>;
  readonly quarters: boolean;
  readonly bytes: string | undefined;
}

interface CountColumn extends Column {
  readonly value?: string;
}

const QUARTER_MS = 15 * 60_000;

export function countTableOf({ name, definition, columns }: Table): CountTable | undefined {
  const { counts }: Pick<CollectionDefinition, 'counts'> = definition;
  if (!counts) return undefined;
  const { by, quarters = false, bytes } = counts;
  const own = by.map((field) => columns.get(field) ?? unindexed(name, field, bytes !== undefined));
  return {
    // Another combination is another table, so processes of the version before continue.
    sql: `"${[snake(name), 'counts', ...by.map(snake), ...(quarters ? ['quarter'] : []), ...(bytes ? ['bytes'] : [])].join('_')}"`,
    columns: quarters ? [...own, CREATED_AT] : own,
    members: new Set(by.filter((field) => columns.has(field))),
    quarters,
    bytes: bytes && `coalesce((record ->> '${bytes.noted}')::bigint, octet_length(record ->> '${bytes.of}'))`,
  };
}

/** A member without a column of its own, which is read from the record: nothing but sizes may be asked by it. */
function unindexed(name: string, field: string, readsRecords: boolean): CountColumn {
  if (!readsRecords) throw new Error(`${name}: counts by ${field} need an index on it`);
  return { name: `"${snake(field)}"`, type: 'text', isLong: false, value: `(record ->> '${field}') collate "C"` };
}

function knows(counts: CountTable, { where, any = [], part, from, to }: AnyFilter): boolean {
  if (part) return false;
  const members = [where ?? {}, ...any].flatMap((one) =>
    Object.keys(one).filter((member) => one[member] !== undefined),
  );
  if (!members.every((member) => counts.members.has(member))) return false;
  const limits = [from, to].filter((limit) => limit !== undefined);
  return limits.every((limit) => counts.quarters && beginsQuarter(limit));
}

function beginsQuarter(time: string): boolean {
  const at = Date.parse(time);
  return at % QUARTER_MS === 0 && new Date(at).toISOString() === time;
}

/** Makes the count table of a collection and triggers that note changes in it, also those of processes of the version before. */
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

type Part = readonly [n: 1 | -1, table: string];

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
