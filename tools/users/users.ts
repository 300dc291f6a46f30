import { z } from 'zod';
import { pageOf, paging, sortByOnly } from '../../resources/fields.ts';
import { type UserRow, userStatus } from '../../resources/imported-rows.ts';
import { productUser, userBilling, userWebsite } from '../../resources/product-user.ts';
import { ratesOf } from '../analytics/exports.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { listPage, openCursor, pageBody, readerOf } from '../core/registry/paging.ts';
import { requireUnreferenced } from '../core/registry/references.ts';
import { readSettings } from '../settings/settings.ts';
import type { Purgeable } from '../versions/purge.ts';
import { billingOf } from './billing.ts';
import { getUserTimeline } from './timeline.ts';
import {
  countUsers,
  findUser,
  findUsers,
  isByEmail,
  knowsOf,
  lastActivity,
  userId,
  websiteSteps,
  websitesOf,
} from './user-rows.ts';

const listUsers = defineTool({
  name: 'list_users',
  title: 'List users',
  description:
    'List the users of the product, newest first, by status or by part of their uid, e-mail or name; those who are not deleted. Not the admins: see list_admin_users. Returns a page.',
  keywords:
    'customers, clients, end users, subscribers, accounts, sign-ups, find a person by e-mail, leads, CRM contacts, find a customer, who signed up last week, new sign-ups, list of customers, search customers',
  access: { scope: 'users:read', grant: 'user:read', narrows: true },
  annotations: READS,
  input: z.strictObject({
    status: userStatus.optional(),
    search: z.string().trim().min(1).max(200).optional().describe('Part of uid, e-mail or name, ignoring case.'),
    includeDeleted: z.boolean().default(false),
    ...sortByOnly('email', 'createdAt'),
    ...paging,
  }),
  output: pageOf(productUser),
  errors: [],

  async handler({ status, search, includeDeleted: deleted, sort, limit, cursor, includeTotal }, { server, principal }) {
    const query = { status, search, deleted, uids: principal.rights.limitedTo('user', 'read')?.names };
    const filters = { ...query, sort };
    const after = openCursor(cursor, filters, sort !== undefined && isByEmail(sort));
    const page = await findUsers(server.rows, query, { limit, after, sort });
    const active = await lastActivity(
      server.rows,
      page.records.map(({ uid }) => uid),
    );
    return {
      ...pageBody(page, filters, (row) => showUser(row, active.get(row.uid))),
      ...(includeTotal && { total: await countUsers(server.rows, query) }),
    };
  },
});

const getUser = defineTool({
  name: 'get_user',
  title: 'Get user',
  description: 'Read one user of the product: e-mail, status, name, country, when created and last active.',
  keywords:
    'customer profile, who is this customer, account details, contact, everything we know about a customer, look up a customer',
  access: { scope: 'users:read', grant: 'user:read:{userId}' },
  annotations: READS,
  input: z.strictObject({ userId }),
  output: productUser,
  errors: ['not_found'],

  async handler({ userId: uid }, { server, fail }) {
    const row = await findUser(server.rows, uid, fail);
    return showUser(row, (await lastActivity(server.rows, [row.uid])).get(row.uid));
  },
});

const getUserBilling = defineTool({
  name: 'get_user_billing',
  title: 'Get user billing',
  description: 'Read what a user pays: plan, state, MRR, trial and period ends, lifetime value, latest invoices.',
  keywords:
    'what a customer pays, invoices, payments, subscription, plan, card charges, refunds, receipts, what has a customer paid, has the customer paid, credit card, is the customer on a paid plan',
  access: { scope: 'users:read', grant: 'user:read:{userId}' },
  annotations: READS,
  input: z.strictObject({ userId }),
  output: userBilling,
  errors: ['not_found'],

  async handler({ userId: uid }, { store, server, signal, fail }) {
    const user = await findUser(server.rows, uid, fail);
    const settings = await readSettings(store);
    const now = server.now().getTime();
    return server.rows.read((rows) => billingOf(user, settings, rows, now), { signal, rates: ratesOf(settings) });
  },
});

const listUserWebsites = defineTool({
  name: 'list_user_websites',
  title: 'List user websites',
  description: 'List the websites of a user with their state, newest first. Returns a page.',
  keywords: 'sites of a customer, pages built, domains, projects of a user',
  access: { scope: 'users:read', grant: 'user:read:{userId}' },
  annotations: READS,
  input: z.strictObject({ userId, ...paging }),
  output: pageOf(userWebsite),
  errors: ['not_found'],

  async handler({ userId, ...page }, { server, fail }) {
    const { uid } = await findUser(server.rows, userId, fail);
    const now = server.now().getTime();
    const websites = await websitesOf(server.rows, uid);
    const steps = await websiteSteps(
      server.rows,
      websites.map(({ id }) => id),
    );
    const sites = websites.map(({ id, latest }) => {
      const state = steps.get(id)?.findLast(({ time_ms }) => time_ms <= now)?.state ?? latest.state;
      const { url, name, createdAt, publishedAt = null } = latest;
      return { id, url, name, state, createdAt, publishedAt };
    });
    return listPage(readerOf(sites), page, { filter: { uid } }, (site) => site);
  },
});

export const userTools = [listUsers, getUser, getUserBilling, getUserTimeline, listUserWebsites];

function showUser(row: UserRow, lastActive: number | undefined) {
  return lastActive === undefined ? row : { ...row, lastActiveAt: new Date(lastActive).toISOString() };
}

/** Users of the product are imported rows, not records of a kind. */
export const purgeableUser: Purgeable = {
  type: 'user',
  resource: 'user',

  async purge(id, context) {
    const { store, server } = context;
    if (!(await knowsOf(server.rows, id))) return false;
    await requireUnreferenced(context, 'user', id);
    store.rows.erase(id);
    return true;
  },
};
