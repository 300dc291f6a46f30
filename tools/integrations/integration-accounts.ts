import { z } from 'zod';
import { pageOf, paging, recordId, timestamp } from '../../resources/fields.ts';
import type { IntegrationRecord } from '../../resources/integration.ts';
import { type IntegrationAccountRecord, integrationAccount } from '../../resources/integration-account.ts';
import { refTo } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { FORBIDDEN, ToolError } from '../core/errors.ts';
import type { ServerContext } from '../core/registry/context.ts';
import { CREATES, DELETES, defineTool, type Fail, OUTSIDE, READS } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { mayConnect } from './accounts/account-holder.ts';
import { accountKey } from './accounts/account-secrets.ts';
import type { IntegrationAccounts } from './accounts/accounts.ts';
import { isPerPerson, takesAccounts } from './auth-mode.ts';

const id = refTo('integration', recordId).describe('Integration id (`int_…`), see list_integrations.');

const connectIntegration = defineTool({
  name: 'connect_integration',
  title: 'Connect integration',
  description:
    'Get a link at which you connect your own account to an integration that has one for each person, or as an administrator the one that all share. It opens once, for you, signed in.',
  keywords:
    'log in at a remote service, link my account, authorise a connector, OAuth at Notion or GitHub, log me in at a service, link my account with a service',
  // Only its person, signed in, can open the link. The shared account needs more, which the handler checks.
  access: { scope: 'tools:read', grant: 'tool:call:{id}' },
  annotations: { ...CREATES, ...OUTSIDE },
  answersSecret: true,
  forPeople: true,
  input: z.strictObject({ id }),
  output: z.object({ url: z.string(), expiresAt: timestamp }),
  errors: ['not_found', 'conflict'],

  async handler({ id: integrationId }, { store, principal, server, fail }) {
    requirePerson(principal, fail);
    const integration = await findOAuth(store, integrationId, fail);
    if (!isPerPerson(integration)) requireOthers(principal, integrationId, 'write', fail);
    return accountsOf(server).link(store, integration, { userId: principal.ownerId });
  },
});

const disconnectIntegration = defineTool({
  name: 'disconnect_integration',
  title: 'Disconnect integration',
  description:
    'End your account at an integration, or as an administrator the shared one or that of `userId`: calls with it end, its tokens are deleted here and revoked at the provider.',
  keywords:
    'unlink my account, log out of a remote service, withdraw authorisation of a connector, unlink my account, remove my login at a service',
  // For one's own account. Those of others and the shared one need more, which the handler checks.
  access: { scope: 'tools:write', grant: 'tool:call:{id}' },
  annotations: { ...DELETES, ...OUTSIDE },
  inSteps: true,
  own: true,
  forPeople: true,
  input: z.strictObject({ id, userId: recordId.optional().describe('Whose account. Default: your own.') }),
  output: z.object({
    account: integrationAccount,
    ended: z.boolean(),
    revoked: z.boolean().describe('Whether its provider ended the tokens too.'),
  }),
  errors: ['not_found', 'conflict'],

  async handler({ id: integrationId, userId }, { store, principal, server, write, fail }) {
    requirePerson(principal, fail);
    const integration = await findOAuth(store, integrationId, fail);
    const whose = isPerPerson(integration) ? (userId ?? principal.ownerId) : userId;
    if (whose !== principal.ownerId) requireOthers(principal, integrationId, 'write', fail);
    const key = accountKey(integrationId, whose);
    const account = await write(async ({ integrationAccounts, integrationLinks }) => {
      const found = await integrationAccounts.first({ where: { key } });
      if (!found) throw fail('not_found', 'There is no such account; list_integration_accounts shows those there are.');
      const links = await integrationLinks.find({ where: { integrationId, userId: whose }, limit: 100 });
      for (const link of links.records) await integrationLinks.delete(link.id);
      return integrationAccounts.delete(found.id);
    });
    return { account: shown(account), ended: true, revoked: await accountsOf(server).revoke(account) };
  },
});

const listIntegrationAccounts = defineTool({
  name: 'list_integration_accounts',
  title: 'List integration accounts',
  description:
    'List the accounts connected to integrations, newest first: your own, as an administrator all. Tokens are never shown.',
  keywords: 'linked accounts, who connected a service, personal logins at connectors',
  access: { scope: 'tools:read', grant: 'tool:call' },
  annotations: READS,
  own: true,
  forPeople: true,
  input: z.strictObject({ integrationId: id.optional(), userId: refTo('admin-user', recordId).optional(), ...paging }),
  output: pageOf(integrationAccount),
  errors: [],

  handler({ integrationId, userId, ...page }, { store, principal, fail }) {
    const { rights, ownerId } = principal;
    const all = rights.mayTry({ scope: 'admin', needs: [{ resource: 'integration', op: 'read' }], narrows: true });
    if (!all && userId !== undefined && userId !== ownerId) throw notAllowed('integration:read', fail);
    const where = { integrationId, userId: all ? userId : ownerId };
    const limited = whereAllowed<IntegrationAccountRecord>(rights.limitedTo('integration', 'read'), 'integrationId');
    const any = all && limited ? [...limited, { userId: ownerId }] : undefined;
    return listPage(store.integrationAccounts, page, { where, any }, shown);
  },
});

export const integrationAccountTools = [connectIntegration, disconnectIntegration, listIntegrationAccounts];

function shown(record: IntegrationAccountRecord) {
  const { integrationId, userId, status, scopes, connectedAt, lastUsedAt } = record;
  return {
    integrationId,
    status,
    scopes,
    connectedAt,
    ...(userId !== undefined && { userId }),
    ...(lastUsedAt !== undefined && { lastUsedAt }),
  };
}

function accountsOf({ integrationAccounts }: ServerContext): IntegrationAccounts {
  if (!integrationAccounts) throw new ToolError('unavailable', 'This process runs no integrations; ask the server.');
  return integrationAccounts;
}

async function findOAuth(
  store: Pick<Readers, 'integrations'>,
  integrationId: string,
  fail: Fail<'not_found' | 'conflict'>,
): Promise<IntegrationRecord> {
  const record = await store.integrations.get(integrationId);
  if (!record) throw fail('not_found', `There is no integration ${integrationId}; list_integrations shows them all.`);
  if (takesAccounts(record)) return record;
  throw fail(
    'conflict',
    'This integration takes no accounts; its `auth` is neither oauth-shared nor oauth-per-person.',
  );
}

function requirePerson(principal: Principal, fail: Fail<never>): void {
  if (mayConnect(principal)) return;
  const message = `Accounts are connected and ended by the person they belong to, not by a principal of the type ${principal.type}.`;
  throw fail('forbidden', FORBIDDEN, { issues: [{ path: '', message }] });
}

function requireOthers({ rights }: Principal, integrationId: string, op: 'read' | 'write', fail: Fail<never>): void {
  const needs = [{ resource: 'integration', op, ids: [integrationId] }];
  if (!rights.allows({ scope: 'admin', needs })) throw notAllowed(`integration:${op}:${integrationId}`, fail);
}

function notAllowed(grant: string, fail: Fail<never>): ToolError {
  return fail('forbidden', FORBIDDEN, { required: { scope: 'admin', grant } });
}
