import { z } from 'zod';
import {
  type AdminUser,
  adminUser,
  adminUserFields,
  OWNER,
  type PersonAccess,
  personAccess,
} from '../../resources/admin-user.ts';
import { expectedRevision, pageOf, paging, plainLine, recordId, sortBy } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import { firstOf } from '../../store/record-change.ts';
import { readRights } from '../core/access/assignable.ts';
import { requireCredential } from '../core/access/credential.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import { endPasskeysOf, endSessionsOf, endSignInsOf } from '../core/access/end-credentials.ts';
import { requireOwner } from '../core/access/ownership.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import type { CallerContext } from '../core/registry/context.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, type Fail, READS, UPDATES } from '../core/registry/define-tool.ts';
import { filteredReader, listPage } from '../core/registry/paging.ts';

const adminUserId = refTo('admin-user', recordId).describe('Admin user id (`usr_…`), see list_admin_users.');

/** Its sessions have full access, permanently. */
const SIGN_IN = { way: 'sign-in', rights: { fullAccess: true, lifetime: 'never' } } as const;

const listAdminUsers = defineTool({
  name: 'list_admin_users',
  title: 'List admin users',
  description: 'List the people who administer the workspace, deactivated ones too, newest first. Returns a page.',
  keywords:
    'team members, staff, colleagues, coworkers, operators, who has access to this workspace, seats, who is on our team, team members, who has access to this dashboard, all administrators',
  access: { scope: 'admin', grant: 'admin-user:read', narrows: true },
  annotations: READS,
  input: z.strictObject({
    email: adminUserFields.email.optional().describe('Exactly this one, ignoring case.'),
    isActive: z.boolean().optional(),
    ...sortBy('email', 'name'),
    ...paging,
  }),
  output: pageOf(adminUser),
  errors: [],

  handler({ email, isActive, ...page }, { store, principal }) {
    const any = whereAllowed<AdminUser>(principal.rights.limitedTo('admin-user', 'read'), 'id');
    const where = { email: email?.toLowerCase(), isActive };
    return listPage(store.adminUsers, page, { where, any }, (record) => record);
  },
});

const getAdminUser = defineTool({
  name: 'get_admin_user',
  title: 'Get admin user',
  description: 'Read one admin user: e-mail, role, whether active, last sign-in.',
  keywords: "teammate, colleague's permissions, role of a staff member",
  access: { scope: 'admin', grant: 'admin-user:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: adminUserId }),
  output: adminUser,
  errors: ['not_found'],

  handler: ({ id }, { store }) => store.adminUsers.read(id),
});

const createAdminUser = defineTool({
  name: 'create_admin_user',
  title: 'Create admin user',
  description:
    'Let a person sign in and administer the workspace, with full access whatever the role unless `access` limits it. Needs full access. Returns the admin user.',
  keywords:
    'invite a colleague, add a teammate, new team member, onboard staff, give somebody access to the dashboard, seat, invite somebody to the team, add a person to our team, new administrator, give a new employee an account',
  access: { scope: 'admin', grant: 'admin-user:write', fullAccess: true },
  annotations: CREATES,
  lasting: { what: 'person' },
  input: z.strictObject({
    email: adminUserFields.email.describe('What the person signs in with. Unique, ignoring case.'),
    name: plainLine(adminUserFields.name).optional(),
    role: plainLine(adminUserFields.role).default('member').describe('A label such as owner, admin or member.'),
    access: personAccess.optional(),
  }),
  output: adminUser,
  errors: ['conflict'],

  authorize: ({ role }, context) => requireCredential(context, { ...SIGN_IN, role }),

  async handler({ access, ...input }, { store, server }) {
    const limit = access && readAccess(access, server.catalog);
    // Stored in lower case, so that the user is found in whatever case they write it.
    const email = input.email.toLowerCase();
    return store.adminUsers.insert({ ...input, email, isActive: true, ...(limit && { access: limit }) });
  },
});

const updateAdminUser = defineTool({
  name: 'update_admin_user',
  title: 'Update admin user',
  description:
    'Change e-mail, name, role or limit of an admin user. Another e-mail or role ends their sessions, links and connected apps (another e-mail also their passkeys), and requires full access that does not expire; only an owner can change an owner. Nobody sets their own limit. Returns the admin user.',
  keywords:
    "change a colleague's role or permissions, promote, more rights, rename a teammate, limit access, give a colleague more rights, change what a colleague may do, make somebody an administrator, read-only access for a colleague",
  access: { scope: 'admin', grant: 'admin-user:write:{id}' },
  annotations: UPDATES,
  lasting: { what: 'person' },
  input: z.strictObject({
    id: adminUserId,
    email: adminUserFields.email.optional().describe('What the person signs in with. Unique, ignoring case.'),
    name: plainLine(adminUserFields.name).nullable().optional(),
    role: plainLine(adminUserFields.role).optional(),
    access: personAccess.nullable().optional(),
    expectedRevision,
  }),
  output: adminUser,
  errors: ['not_found', 'conflict'],

  async authorize({ id, access, ...given }, { store, principal }) {
    // Everybody may change their own name.
    if (id !== principal.ownerId) requireWithinRights(principal, { fullAccess: true });
    const user = await store.adminUsers.get(id);
    if (!user) return;
    if (access !== undefined) await requireLimiting({ store, principal }, user);
    const { role = user.role } = given;
    if (signsInAnew(user, given)) await requireCredential({ store, principal }, { ...SIGN_IN, ownerId: id, role });
  },

  async handler({ id, expectedRevision, access, ...given }, { store, principal, server, fail }) {
    const user = await store.adminUsers.read(id);
    const { email = user.email, role = user.role } = given;
    const limit = access && readAccess(access, server.catalog);
    const change = { ...given, email: email.toLowerCase(), role, ...(limit !== undefined && { access: limit }) };
    if (limit !== undefined && id === principal.ownerId) {
      throw fail('conflict', 'Nobody sets their own limit; let another admin user with full access do it.');
    }
    if (limit) await requireOtherOwner(store, user, fail);
    if (signsInAnew(user, given)) {
      if (role !== OWNER) await requireOtherOwner(store, user, fail);
      await endSignInsOf(store, id);
      // The new address may be that of somebody else.
      if (change.email !== user.email) await endPasskeysOf(store, id);
    }
    return store.adminUsers.update(id, change, { expectedRevision });
  },
});

const deactivateAdminUser = defineTool({
  name: 'deactivate_admin_user',
  title: 'Deactivate admin user',
  description:
    'Lock an admin user out; their sessions and keys stop at once, their passkeys are removed. Not yourself, not the last active owner. Needs full access.',
  keywords:
    "block, ban, suspend, lock out, employee left the company, offboard, disable an account, remove a teammate, block an account, employee quit, somebody was fired, take away a person's access",
  access: { scope: 'admin', grant: 'admin-user:write:{id}', fullAccess: true },
  annotations: DELETES,
  lasting: { what: 'person' },
  input: z.strictObject({ id: adminUserId }),
  output: adminUser,
  errors: ['not_found', 'conflict'],

  authorize: (_, { principal }) => requireWithinRights(principal, { fullAccess: true }),

  async handler({ id }, { store, principal, fail }) {
    const user = await store.adminUsers.read(id);
    if (!user.isActive) return user;
    if (id === principal.ownerId) {
      throw fail('conflict', 'You act for this admin user, so you would lock yourself out; let another owner do it.');
    }
    await requireOtherOwner(store, user, fail);
    await endSessionsOf(store, id);
    await endPasskeysOf(store, id);
    return store.adminUsers.update(id, { isActive: false });
  },
});

const reactivateAdminUser = defineTool({
  name: 'reactivate_admin_user',
  title: 'Reactivate admin user',
  description: 'Let a deactivated admin user back in; their keys work again, sessions do not. Needs full access.',
  keywords:
    'unblock, let back in, re-enable a colleague, restore access, let a former colleague back in, unlock an account',
  access: { scope: 'admin', grant: 'admin-user:write:{id}', fullAccess: true },
  annotations: UPDATES,
  lasting: { what: 'person' },
  input: z.strictObject({ id: adminUserId }),
  output: adminUser,
  errors: ['not_found'],

  authorize: ({ id }, context) => requireCredential(context, { ...SIGN_IN, ownerId: id }),

  async handler({ id }, { store }) {
    return store.adminUsers.update(id, { isActive: true });
  },
});

export const adminUserTools = [
  listAdminUsers,
  getAdminUser,
  createAdminUser,
  updateAdminUser,
  deactivateAdminUser,
  reactivateAdminUser,
];

/** @throws ToolError if the admin user is the last active owner who may do everything */
async function requireOtherOwner(
  store: Pick<Readers, 'adminUsers'>,
  { id, role, isActive, access }: AdminUser,
  fail: Fail<'conflict'>,
): Promise<void> {
  if (role !== OWNER || !isActive || access) return;
  const owners = filteredReader(store.adminUsers, (other) => other.id !== id && !other.access);
  if (await firstOf(owners, { where: { role: OWNER, isActive: true } })) return;
  throw fail('conflict', 'This is the last active owner without a limit; create or reactivate another owner first.');
}

/** The limit as it is kept: an empty list of grants means none. @throws ToolError (invalid_input) */
function readAccess({ scopes, grants = [] }: PersonAccess, catalog: Catalog): PersonAccess {
  readRights({ scopes, grants }, catalog, 'access');
  return { scopes, ...(grants.length > 0 && { grants }) };
}

/** Who has full access sets the limits of others; of an owner, an owner does. @throws ToolError (forbidden) */
async function requireLimiting({ store, principal }: Pick<CallerContext, 'store' | 'principal'>, { role }: AdminUser) {
  requireWithinRights(principal, { fullAccess: true, lifetime: 'never' });
  if (role === OWNER) await requireOwner(store, principal);
}

/** Whether the person signs in in another way, or as somebody of another rank. */
function signsInAnew(
  user: AdminUser,
  { email = user.email, role = user.role }: { readonly email?: string | undefined; readonly role?: string | undefined },
): boolean {
  return email.toLowerCase() !== user.email || role !== user.role;
}

export const adminUserKind = defineKind({
  type: 'admin-user',
  collection: 'adminUsers',
  list: listAdminUsers,
  get: getAdminUser,
  update: updateAdminUser,
  address: 'none',
  event: 'none',
});
