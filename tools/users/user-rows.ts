import { recordId } from '../../resources/fields.ts';
import type { InvoiceRow, RowType, SubscriptionRow, UserRow, WebsiteRow } from '../../resources/imported-rows.ts';
import { refTo } from '../../resources/markers.ts';
import type { Cursor, Page } from '../../store/port.ts';
import { hashOf, rowOf, type TableRow } from '../../store/rows/records.ts';
import type { NamedQuery, RowStore } from '../../store/rows-port.ts';
import { partForm } from '../../store/search-text.ts';
import { itemsOf, listOf } from '../../store/sql/lists.ts';
import type { Fail } from '../core/registry/define-tool.ts';

type Rows = Pick<RowStore, 'query'>;

interface UserQuery {
  readonly status?: UserRow['status'] | undefined;
  /** A part of the uid, e-mail or name, in any case. */
  readonly search?: string | undefined;
  /** Includes users with a `deletedAt`. */
  readonly deleted?: boolean | undefined;
  readonly uids?: readonly string[] | undefined;
}

/** More than there can be. */
const ALL = Number.MAX_SAFE_INTEGER;

function parametersOf({ status, search, uids, deleted = false }: UserQuery) {
  return [status ?? null, search === undefined ? null : partForm(search), uids ? listOf(uids) : null, deleted];
}

type UserSort = 'email' | '-email' | 'createdAt' | '-createdAt';

export function isByEmail(sort: UserSort): boolean {
  return sort === 'email' || sort === '-email';
}

interface UserPage {
  readonly limit: number;
  readonly after?: Cursor | undefined;
  /** Default: newest first. */
  readonly sort?: UserSort | undefined;
}

export async function findUsers(
  rows: Rows,
  query: UserQuery,
  { limit, after, sort = '-createdAt' }: UserPage = { limit: ALL },
): Promise<Page<UserRow>> {
  const key = after && (after.sortKey ?? Date.parse(after.createdAt));
  const more = limit === ALL ? ALL : limit + 1;
  const found = await rows.query<TableRow>(usersPages[sort], [
    ...parametersOf(query),
    ...[key ?? null, after?.id ?? ''],
    more,
  ]);
  const shown = found.slice(0, limit);
  const records = shown.map((record) => rowOf<UserRow>('users', record));
  const last = records.at(-1);
  if (found.length <= limit || !last) return { records, next: null };
  const place = { createdAt: last.createdAt, id: last.uid };
  return { records, next: isByEmail(sort) ? { ...place, sortKey: String(shown.at(-1)?.email_key) } : place };
}

export async function countUsers(rows: Rows, query: UserQuery): Promise<number> {
  const [found] = await rows.query<{ count: number }>(usersCount, parametersOf(query));
  return found?.count ?? 0;
}

async function readUser(rows: Rows, uid: string): Promise<UserRow | undefined> {
  const [found] = await rows.query<TableRow>(oneUser, [uid]);
  return found && rowOf<UserRow>('users', found);
}

/** A few users who are not deleted, with the e-mail in any case. */
async function usersWithEmail(rows: Rows, email: string): Promise<UserRow[]> {
  return (await rows.query<TableRow>(usersByEmail, [email])).map((record) => rowOf<UserRow>('users', record));
}

export async function knowsOf(rows: Rows, uid: string): Promise<boolean> {
  return (await rows.query(anythingOf, [uid, hashOf(uid)])).length > 0;
}

export async function lastActivity(rows: Rows, uids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (uids.length === 0) return new Map();
  const found = await rows.query<{ uid: string; at_ms: number }>(lastActive, [listOf(uids), listOf(uids.map(hashOf))]);
  return new Map(found.map(({ uid, at_ms }) => [uid, at_ms]));
}

/** What imports said about a record of the user, in the order in which it counts. */
export interface LatestStatement<Row> {
  readonly id: string;
  readonly list: readonly { readonly from: number; readonly row: Row }[];
  readonly latest: Row;
}

export const subscriptionsOf = (rows: Rows, uid: string) =>
  saidOf<SubscriptionRow>(rows, uid, { type: 'subscriptions', table: 'subscription_terms' });

export const websitesOf = (rows: Rows, uid: string) =>
  saidOf<WebsiteRow>(rows, uid, { type: 'websites', table: 'website_states' });

async function saidOf<Row extends { readonly uid: string }>(
  rows: Rows,
  uid: string,
  { type, table }: { readonly type: RowType; readonly table: 'subscription_terms' | 'website_states' },
): Promise<LatestStatement<Row>[]> {
  const lists = new Map<string, { from: number; row: Row }[]>();
  for (const record of await rows.query<TableRow>(statementsOf(table), [uid])) {
    const list = lists.get(String(record.id)) ?? [];
    lists.set(String(record.id), list);
    list.push({ from: Number(record.from_ms), row: rowOf<Row>(type, record) });
  }
  return [...lists].flatMap(([id, list]) => {
    const latest = list.at(-1)?.row;
    return latest?.uid === uid ? [{ id, list, latest }] : [];
  });
}

export async function websiteSteps(rows: Rows, ids: readonly string[]): Promise<ReadonlyMap<string, WebsiteStep[]>> {
  const steps = new Map<string, WebsiteStep[]>();
  for (const step of await rows.query<WebsiteStep>(stepsOfWebsites, [listOf(ids)])) {
    const list = steps.get(step.id) ?? [];
    steps.set(step.id, list);
    list.push(step);
  }
  return steps;
}

type WebsiteStep = { readonly id: string; readonly time_ms: number; readonly state: WebsiteRow['state'] };

export async function readInvoices(rows: Rows, uid: string): Promise<InvoiceRow[]> {
  const found = await rows.query<TableRow>(invoicesOf, [uid]);
  return found.map((record) => rowOf<InvoiceRow>('invoices', record));
}

/** The time until which a subscription is paid, infinity if it has no end. */
export function paidUntil({ status, endedAt, canceledAt }: SubscriptionRow): number {
  const end = endedAt ?? (status === 'canceled' ? canceledAt : undefined);
  return end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end);
}

export const userId = refTo('user', recordId).describe('Uid or e-mail of a product user, see list_users.');

/** By uid, or by the e-mail that one user has, ignoring case. @throws ToolError */
export async function findUser(rows: RowStore, given: string, fail: Fail<'not_found'>): Promise<UserRow> {
  const found = await readUser(rows, given);
  if (found) return found;
  const named = given.includes('@') ? await usersWithEmail(rows, given) : [];
  if (named.length > 1) {
    const uids = named.map(({ uid }) => uid).join(', ');
    throw fail('invalid_input', `Several users have the e-mail ${given}; give the uid of one of them: ${uids}.`);
  }
  if (named[0]) return named[0];
  throw fail('not_found', `There is no user ${given}; list_users shows the ones you can see.`);
}

/** Users by status ($1), part of uid, e-mail or name as in `searched` ($2), among these ($3); null: any. Deleted ones too where $4. */
const wanted = `
  (cast($1 as text) is null or status = cast($1 as text))
  and (cast($2 as text) is null or strpos(searched, cast($2 as text)) > 0)
  and (cast($3 as text) is null or uid in (select item from ${itemsOf('cast($3 as text)')} as items))
  and (cast($4 as boolean) or deleted_ms is null)`;

/** The beginning of the e-mail, in the form in which it is searched: cursors have room for no more. PostgreSQL has an index on it. */
const emailKey = 'left(split_part(searched, chr(10), 2), 100)';

/** Such users in an order, after the place ($5, $6), $7 of them. */
function usersPage(sort: UserSort): NamedQuery {
  const [key, type] = isByEmail(sort) ? [emailKey, 'text'] : ['created_ms', 'bigint'];
  const [beyond, direction] = sort.startsWith('-') ? ['<', 'desc'] : ['>', 'asc'];
  return {
    name: `page of users by ${sort}`,
    sql: `select *, ${emailKey} as email_key from users where ${wanted}
      and (cast($5 as ${type}) is null or ${key} ${beyond} cast($5 as ${type})
        or (${key} = cast($5 as ${type}) and uid ${beyond} cast($6 as text) collate "C"))
      order by ${key} ${direction}, uid collate "C" ${direction} limit cast($7 as bigint)`,
  };
}

const usersPages: Readonly<Record<UserSort, NamedQuery>> = {
  email: usersPage('email'),
  '-email': usersPage('-email'),
  createdAt: usersPage('createdAt'),
  '-createdAt': usersPage('-createdAt'),
};

const usersCount: NamedQuery = {
  name: 'number of users',
  sql: `select count(*) as count from users where ${wanted}`,
};

const lastActive: NamedQuery = {
  name: 'last activity of users',
  sql: `select uid, max(at_ms) as at_ms from events
    where person in (select item from ${itemsOf('$2', 'bigint')} as hashes) and uid in (select item from ${itemsOf('$1')} as items)
    group by uid`,
};

const oneUser: NamedQuery = { name: 'user', sql: 'select * from users where uid = $1' };

const usersByEmail: NamedQuery = {
  name: 'users with an e-mail',
  sql: `select * from users where lower(email) = lower(cast($1 as text)) and deleted_ms is null
    order by created_ms desc, uid collate "C" desc limit 5`,
};

/** Whether anything was imported about the user ($1), with the hash of the uid ($2). */
const anythingOf: NamedQuery = {
  name: 'anything of a user',
  sql: `select 1 as found where exists (select 1 from users where uid = $1)
    or exists (select 1 from invoices where uid = $1)
    or exists (select 1 from subscription_terms where uid = $1)
    or exists (select 1 from website_states where uid = $1)
    or exists (select 1 from events where person = cast($2 as bigint) and uid = $1)
    or exists (select 1 from visits where person = cast($2 as bigint) and uid = $1)`,
};

/** All that was said about the records that have ever been the user's ($1): a record is the one's whom the last statement names. */
const statementsOf = (table: 'subscription_terms' | 'website_states'): NamedQuery => ({
  name: `statements of a user in ${table}`,
  sql: `select * from ${table} where id in (select id from ${table} where uid = $1) order by id collate "C", place`,
});

const stepsOfWebsites: NamedQuery = {
  name: 'steps of websites',
  sql: `select id, time_ms, state from website_steps where id in (select item from ${itemsOf('$1')} as items) order by id, time_ms`,
};

const invoicesOf: NamedQuery = { name: 'invoices of a user', sql: 'select * from invoices where uid = $1' };

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
