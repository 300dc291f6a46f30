import type { InvoiceRow, RowType, SubscriptionRow, UserRow, WebsiteRow } from '../../resources/imported-rows.ts';
import type { Page, Position } from '../../store/port.ts';
import { hashOf, rowOf, type TableRow } from '../../store/rows/records.ts';
import type { RowStore } from '../../store/rows-port.ts';
import { partForm } from '../../store/search-text.ts';
import { listOf } from '../../store/sql/lists.ts';
import {
  anythingOf,
  invoicesOf,
  lastActive,
  oneUser,
  statementsOf,
  stepsOfWebsites,
  usersByEmail,
  usersCount,
  usersPage,
} from './user-rows.sql.ts';

type Rows = Pick<RowStore, 'query'>;

export interface UserQuery {
  readonly status?: UserRow['status'] | undefined;
  /** A part of the uid, e-mail or name, in any case. */
  readonly search?: string | undefined;
  /** Includes users with a `deletedAt`. */
  readonly deleted?: boolean | undefined;
  /** Only these users. */
  readonly uids?: readonly string[] | undefined;
}

/** More than there can be. */
const ALL = Number.MAX_SAFE_INTEGER;

function parametersOf({ status, search, uids, deleted = false }: UserQuery) {
  return [status ?? null, search === undefined ? null : partForm(search), uids ? listOf(uids) : null, deleted];
}

/** Newest first. */
export async function findUsers(
  rows: Rows,
  query: UserQuery,
  { limit, after }: { readonly limit: number; readonly after?: Position | undefined } = { limit: ALL },
): Promise<Page<UserRow>> {
  const place = [after ? Date.parse(after.createdAt) : null, after?.id ?? ''];
  const more = limit === ALL ? ALL : limit + 1;
  const found = await rows.query<TableRow>(usersPage, [...parametersOf(query), ...place, more]);
  const records = found.slice(0, limit).map((record) => rowOf<UserRow>('users', record));
  const last = records.at(-1);
  return { records, next: found.length > limit && last ? { createdAt: last.createdAt, id: last.uid } : null };
}

export async function countUsers(rows: Rows, query: UserQuery): Promise<number> {
  const [found] = await rows.query<{ count: number }>(usersCount, parametersOf(query));
  return found?.count ?? 0;
}

export async function readUser(rows: Rows, uid: string): Promise<UserRow | undefined> {
  const [found] = await rows.query<TableRow>(oneUser, [uid]);
  return found && rowOf<UserRow>('users', found);
}

/** A few users who are not deleted, with the e-mail in any case. */
export async function usersWithEmail(rows: Rows, email: string): Promise<UserRow[]> {
  return (await rows.query<TableRow>(usersByEmail, [email])).map((record) => rowOf<UserRow>('users', record));
}

/** Whether anything was imported about the user. */
export async function knowsOf(rows: Rows, uid: string): Promise<boolean> {
  return (await rows.query(anythingOf, [uid, hashOf(uid)])).length > 0;
}

/** When the users were last active, by uid. */
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

/** The states that the websites went through, by id. */
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
