import type { Jobs } from '../../jobs-port.ts';
import { type PeriodicTask, startLeaderTask } from '../../periodic-task.ts';
import type { Size } from '../../sizes.ts';
import type { Database } from '../database.ts';
import { type AnyCount, allOf, conditions, Values } from '../records/filters.ts';
import type { Reading } from '../records/read-records.ts';
import { type Table, tables } from '../records/tables.ts';
import type { Session } from '../session.ts';
import { type CountTable, countTableOf, knows } from './count-table.ts';

const ADD_UP_EVERY_MS = 30_000;

const countTables: ReadonlyMap<Table, CountTable> = new Map(
  [...tables.values()].flatMap((table) => {
    const counts = countTableOf(table);
    return counts ? [[table, counts] as const] : [];
  }),
);

/**
 * How many records match, from their count table. Undefined if that does not know. A transaction counts the records themselves, so that
 * PostgreSQL sees what it has looked at.
 */
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

/** How much the records take, from their count table, for each combination of values. */
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
  jobs: Pick<Jobs, 'leads'>,
  onFailure: (cause: unknown) => void,
): PeriodicTask {
  const work = async () => {
    for (const counts of countTables.values()) await addUp(counts, database);
  };
  return startLeaderTask(jobs, work, { onFailure, everyMs: ADD_UP_EVERY_MS });
}

/** It may run in several processes at once: each change is taken by one of them. */
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
