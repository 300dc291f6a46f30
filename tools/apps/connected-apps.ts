import { z } from 'zod';
import { askFirst, askFirstWarning } from '../../resources/approval.ts';
import { type ConnectedApp, type ConnectedAppRecord, connectedApp } from '../../resources/connected-app.ts';
import { expectedRevision, pageOf, paging, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { askFirstWarnings, requireStillAsks } from '../core/access/ask-first.ts';
import { hasRight, isOwn, listFilter } from '../core/access/ownership.ts';
import type { Principal } from '../core/access/principal.ts';
import { DELETES, defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';

const appId = refTo('app', recordId).describe('Connection id (`app_…`), see list_connected_apps.');

const listConnectedApps = defineTool({
  name: 'list_connected_apps',
  title: 'List connected apps',
  description:
    'List programs such as Claude or ChatGPT that people connected, newest first, with what each may do and last use. Without admin rights: your own.',
  keywords:
    'apps with access to my account, authorised applications, OAuth consents, Claude, ChatGPT, Cursor, third-party apps, which apps can use my account',
  access: { scope: 'admin', grant: 'app:read', narrows: true },
  annotations: READS,
  own: true,
  input: z.strictObject({
    userId: refTo('admin-user', recordId).optional().describe('Only those that act for this admin user.'),
    capsuleId: refTo('capsule', recordId).optional().describe('Only those with the tools of this capsule.'),
    ...paging,
  }),
  output: pageOf(connectedApp),
  errors: [],

  handler({ userId, capsuleId, ...page }, { store, principal }) {
    const query = {
      where: { userId, capsuleId },
      any: listFilter<ConnectedAppRecord>(principal, 'app', { userId: principal.ownerId }),
    };
    return listPage(store.connectedApps, page, query, showApp);
  },
});

const updateConnectedApp = defineTool({
  name: 'update_connected_app',
  title: 'Update connected app',
  description:
    'Set which calls of a connected app need approval. It holds from the next request on. Without admin rights: your own apps.',
  keywords:
    'have Claude ask before it deletes, approvals for ChatGPT, supervise a third-party program, require confirmation for an app, app must ask first',
  access: { scope: 'admin', grant: 'app:write:{id}' },
  annotations: UPDATES,
  own: true,
  input: z.strictObject({
    id: appId,
    askFirst: askFirst.describe(`${askFirst.description} Empty: none.`),
    expectedRevision,
  }),
  output: connectedApp.extend({ warnings: askFirstWarning }),
  errors: ['not_found', 'conflict'],

  async handler({ id, askFirst: entries, expectedRevision }, { store, principal, server, fail }) {
    const app = await store.connectedApps.get(id);
    if (!app || !mayChange(principal, app)) throw fail('not_found', goneMessage(id));
    requireStillAsks(principal, app.askFirst, entries);
    const change = { askFirst: [...new Set(entries)] };
    const updated = await store.connectedApps.update(id, change, { expectedRevision });
    const warnings = askFirstWarnings(updated.askFirst, server.catalog);
    return { ...showApp(updated), ...(warnings.length > 0 && { warnings }) };
  },
});

const disconnectApp = defineTool({
  name: 'disconnect_app',
  title: 'Disconnect app',
  description:
    'End what a connected app may do, from the next request on: its tokens, open streams and the flows it made stop. Without admin rights: your own.',
  keywords:
    "revoke an application's access, remove Claude or ChatGPT, unauthorise, withdraw consent, remove an app's access, revoke access of Claude",
  access: { scope: 'admin', grant: 'app:write:{id}' },
  annotations: DELETES,
  own: true,
  input: z.strictObject({ id: appId }),
  output: z.object({
    connection: connectedApp.describe('As it was.'),
    ended: z.boolean().describe('True: it opens nothing any more.'),
  }),
  errors: ['not_found'],

  async handler({ id }, { store, principal, fail }) {
    const app = await store.connectedApps.get(id);
    if (!app || !mayChange(principal, app)) throw fail('not_found', goneMessage(id));
    return { connection: showApp(await store.connectedApps.delete(id)), ended: true };
  },
});

export const connectedAppTools = [listConnectedApps, updateConnectedApp, disconnectApp];

function mayChange(principal: Principal, { id, userId }: ConnectedAppRecord): boolean {
  return isOwn(principal, userId) || hasRight(principal, 'app', 'write', id);
}

function goneMessage(id: string): string {
  return `There is no connected app ${id}; list_connected_apps shows the ones you can see.`;
}

function showApp(app: ConnectedAppRecord): ConnectedApp {
  const { id, client, resource, scopes, userId, capsuleId, askFirst, createdAt, revision, lastUsedAt } = app;
  return {
    id,
    client,
    resource,
    scopes,
    ...(userId !== undefined && { userId }),
    ...(capsuleId !== undefined && { capsuleId }),
    ...(askFirst?.length && { askFirst }),
    createdAt,
    revision,
    ...(lastUsedAt !== undefined && { lastUsedAt }),
  };
}
