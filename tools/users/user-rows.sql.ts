import type { NamedQuery } from '../../store/rows-port.ts';
import { itemsOf } from '../../store/sql/lists.ts';

/**
 * Users by status ($1), part of uid, e-mail or name in the form of `searched` ($2), among these ($3); null: any. Also deleted ones where $4.
 */
const wanted = `
  (cast($1 as text) is null or status = cast($1 as text))
  and (cast($2 as text) is null or strpos(searched, cast($2 as text)) > 0)
  and (cast($3 as text) is null or uid in (select item from ${itemsOf('cast($3 as text)')} as items))
  and (cast($4 as boolean) or deleted_ms is null)`;

/** Such users, newest first, after the place ($5, $6), $7 of them. */
export const usersPage: NamedQuery = {
  name: 'page of users',
  sql: `select * from users where ${wanted}
    and (cast($5 as bigint) is null or created_ms < cast($5 as bigint)
      or (created_ms = cast($5 as bigint) and uid < cast($6 as text) collate "C"))
    order by created_ms desc, uid collate "C" desc limit cast($7 as bigint)`,
};

export const usersCount: NamedQuery = {
  name: 'number of users',
  sql: `select count(*) as count from users where ${wanted}`,
};

/** Of these users ($1), with the hashes of their uids ($2), the time of the last event. */
export const lastActive: NamedQuery = {
  name: 'last activity of users',
  sql: `select uid, max(at_ms) as at_ms from events
    where person in (select item from ${itemsOf('$2', 'bigint')} as hashes) and uid in (select item from ${itemsOf('$1')} as items)
    group by uid`,
};

export const oneUser: NamedQuery = { name: 'user', sql: 'select * from users where uid = $1' };

export const usersByEmail: NamedQuery = {
  name: 'users with an e-mail',
  sql: `select * from users where lower(email) = lower(cast($1 as text)) and deleted_ms is null
    order by created_ms desc, uid collate "C" desc limit 5`,
};

/** Whether anything was imported about the user ($1), with the hash of the uid ($2). */
export const anythingOf: NamedQuery = {
  name: 'anything of a user',
  sql: `select 1 as found where exists (select 1 from users where uid = $1)
    or exists (select 1 from invoices where uid = $1)
    or exists (select 1 from subscription_terms where uid = $1)
    or exists (select 1 from website_states where uid = $1)
    or exists (select 1 from events where person = cast($2 as bigint) and uid = $1)
    or exists (select 1 from visits where person = cast($2 as bigint) and uid = $1)`,
};

/** All that was said about the records that have ever been the user's ($1): a record is the one's whom the last statement names. */
export const statementsOf = (table: 'subscription_terms' | 'website_states'): NamedQuery => ({
  name: `statements of a user in ${table}`,
  sql: `select * from ${table} where id in (select id from ${table} where uid = $1) order by id collate "C", place`,
});

/** The steps of these websites ($1). */
export const stepsOfWebsites: NamedQuery = {
  name: 'steps of websites',
  sql: `select id, time_ms, state from website_steps where id in (select item from ${itemsOf('$1')} as items) order by id, time_ms`,
};

export const invoicesOf: NamedQuery = { name: 'invoices of a user', sql: 'select * from invoices where uid = $1' };

/** Events of the user ($1), with the hash of the uid ($2), from a time ($3) and before another ($4); null: any. */
const eventsOf = `person = cast($2 as bigint) and uid = $1
    and (cast($3 as bigint) is null or at_ms >= cast($3 as bigint))
    and (cast($4 as bigint) is null or at_ms < cast($4 as bigint))`;

/** Such events, latest first, $7 of them: those before the time ($5), and at that time those before the place in the order of arrival ($6). */
export const eventsPage: NamedQuery = {
  name: 'page of events of a user',
  sql: `select id, uid, name, at_ms, properties, seq from events where ${eventsOf}
    and (cast($5 as bigint) is null or at_ms < cast($5 as bigint)
      or (at_ms = cast($5 as bigint) and seq < cast($6 as bigint)))
    order by at_ms desc, seq desc limit cast($7 as bigint)`,
};

export const eventsCount: NamedQuery = {
  name: 'number of events of a user',
  sql: `select count(*) as count from events where ${eventsOf}`,
};
