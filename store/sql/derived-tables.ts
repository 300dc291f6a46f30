import type { Rebuilt, SqlConnection } from '../rows-port.ts';
import { sessions } from './derived/sessions.ts';
import { subscriptionSteps } from './derived/subscription-steps.ts';
import { type DerivedTable, rebuildTable } from './derived-table.ts';
import { createTable, rawTables } from './raw-tables.ts';

/**
 * A website's way from state to state: a draft from its creation, then what each statement says, from its own time on but never before the
 * creation. The first statement also says when the site was published, if it has a time of publication: what is suspended now was published
 * before. Of several states at one time the last counts, and a step to the same state is none.
 */
const steps = (websites: string) => `
  insert into website_steps
  with said as (
    select w.*, first_value(w.created_ms) over (partition by id order by place) as born_ms
    from ${websites} as w
  ),
  stated as (
    select id, 0 as place, 0 as turn, born_ms as time_ms, 'draft' as state from said where place = 0
    union all
    select id, place, 1, greatest(born_ms, least(from_ms, published_ms)), 'published'
    from said where place = 0 and published_ms is not null
    union all
    select id, place, 2, greatest(born_ms, from_ms), state from said
  ),
  lasting as (
    select id, place, turn, time_ms, state, lead(time_ms) over (partition by id order by place, turn) as next_ms from stated
  ),
  compared as (
    select id, time_ms, state, lag(state) over (partition by id order by time_ms) as state_before
    from lasting
    where next_ms is null or next_ms <> time_ms
  )
  select id, time_ms, state, state_before from compared where state_before is null or state <> state_before`;

const websiteSteps: DerivedTable = {
  name: 'website_steps',
  ddl: [createTable('website_steps', { id: 'text', time_ms: 'bigint', state: 'text', state_before: 'text' })],
  follows: ['websites'],
  renew: [
    'delete from website_steps where id in (select id from touched_websites)',
    steps('(select * from website_states where id in (select id from touched_websites))'),
  ],
  rebuild: [steps('website_states')],
};

/**
 * When a customer's monthly revenue changes: from `time_ms` on until `next_ms` the customer pays `after`, until then `before`. What a
 * customer pays is the sum over the customer's subscriptions. The first change is always from nothing to more, and has no `previous_ms`.
 */
const changes = (steps: string) => `
  insert into customer_changes
  with changed as (
    select uid, time_ms, sum(mrr - mrr_before) as more
    from ${steps} as s
    group by uid, time_ms
    having sum(mrr - mrr_before) <> 0
  ),
  summed as (
    select uid, time_ms, more, sum(more) over (partition by uid order by time_ms) as after
    from changed
  )
  select uid, time_ms, lag(time_ms) over own as previous_ms, lead(time_ms) over own as next_ms,
    coalesce(lag(after) over own, 0) as before, after
  from summed
  window own as (partition by uid order by time_ms)`;

const customerChanges: DerivedTable = {
  name: 'customer_changes',
  ddl: [
    createTable('customer_changes', {
      uid: 'text',
      time_ms: 'bigint',
      previous_ms: 'bigint',
      next_ms: 'bigint',
      before: 'double precision',
      after: 'double precision',
    }),
  ],
  follows: ['customers', 'subscriptions'],
  isConverted: true,
  renew: [
    'delete from customer_changes where uid in (select uid from touched_customers)',
    changes('(select * from subscription_steps where uid in (select uid from touched_customers))'),
  ],
  rebuild: [changes('subscription_steps')],
};

/** In this order; a table may read those before it. */
export const derivedTables: readonly DerivedTable[] = [subscriptionSteps, customerChanges, websiteSteps, sessions];

export const allTables: readonly string[] = [...Object.keys(rawTables), ...derivedTables.map(({ name }) => name)];

/**
 * Makes the derived tables anew, or those that are named, within a transaction, and says whether they were right before. `hashes`: the sum
 * of the hashes of the rows of a table `t`, as the engine says it.
 */
export async function rebuildTables(
  writer: SqlConnection,
  hashes: string,
  names?: readonly string[],
): Promise<readonly Rebuilt[]> {
  const rebuilt: Rebuilt[] = [];
  for (const table of derivedTables) {
    if (names && !names.includes(table.name)) continue;
    const before = await digestOfTable(writer, hashes, table.name);
    await rebuildTable(writer, table);
    const { rows, digest } = await digestOfTable(writer, hashes, table.name);
    rebuilt.push({ table: table.name, rows, equal: digest === before.digest });
  }
  return rebuilt;
}

/** How many rows the table has, and a text that is the same for the same rows in any order. It reads all of them. */
export async function digestOfTable(connection: SqlConnection, hashes: string, table: string) {
  const [found] = await connection.query<{ rows: number; digest: string }>({
    name: `digest of ${table}`,
    sql: `select count(*) as rows, cast(${hashes} as text) as digest from ${table} as t`,
  });
  return { rows: found?.rows ?? 0, digest: found?.digest ?? '' };
}
