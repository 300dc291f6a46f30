import { plainTypes, statedTables } from '../../rows/records.ts';
import type { SqlConnection } from '../connection.ts';
import { itemsOf, listOf } from '../lists.ts';
import type { TouchedTables } from './touched.ts';

/** Removes all rows of the users, and all statements about records that are theirs now. */
export async function eraseUsers(
  writer: SqlConnection,
  uids: readonly string[],
  touched: TouchedTables,
): Promise<void> {
  const users = [listOf(uids)];
  const theirs = `uid in (select item from ${itemsOf('$1')} as items)`;
  await touched.select('visitors', `select distinct visitor from visits where ${theirs}`, users);
  await touched.select('customers', `select item from ${itemsOf('$1')} as items`, users);
  for (const type of ['subscriptions', 'websites'] as const) {
    const table = statedTables[type];
    const last = `place = (select max(place) from ${table} as other where other.id = ${table}.id)`;
    await touched.select(type, `select id from ${table} where ${theirs} and ${last}`, users);
    if (type === 'subscriptions') {
      const former = `select distinct uid from ${table} where id in (select id from touched_subscriptions)`;
      await touched.select('customers', `${former} and not (${theirs})`, users);
    }
    await writer.run(`delete from ${table} where id in (select id from touched_${type})`);
  }
  for (const table of plainTypes) await writer.run(`delete from ${table} where ${theirs}`, users);
}
