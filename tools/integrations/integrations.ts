import { z } from 'zod';
import { expectedRevision, pageOf, paging, recordId, sortBy } from '../../resources/fields.ts';
import {
  integrationFields as fields,
  type Integration,
  type IntegrationRecord,
  integration,
  integrationSummary,
  SECRET_MASK,
} from '../../resources/integration.ts';
import { refTo } from '../../resources/markers.ts';
import { newId } from '../../store/ids.ts';
import type { Readers } from '../../store/port.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { ToolError } from '../core/errors.ts';
import type { ServerContext, SteppingContext } from '../core/registry/context.ts';
import { CREATES, DELETES, defineTool, type Fail, OUTSIDE, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { endAccountsOf } from './accounts/links.ts';
import { authOf } from './auth-mode.ts';
import { showIntegration, summarise } from './integration-view.ts';
import { loosens, loosensAll } from './loosening.ts';
import { requireAuth, sealedMembers, withChange } from './sealed-members.ts';
import {
  MOST_INTEGRATIONS,
  prefixFrom,
  requireAllowed,
  requireFreeNames,
  requireLasting,
  requireMembers,
  requireOperator,
  requireOwnSecrets,
  requireTarget,
  startsProgram,
  takenNames,
} from './target.ts';
import { shownName } from './upstream/tool-definitions.ts';
import type { Upstreams } from './upstream/upstreams.ts';

const integrationId = refTo('integration', recordId).describe('Integration id (`int_…`), see list_integrations.');

const listIntegrations = defineTool({
  name: 'list_integrations',
  title: 'List integrations',
  description:
    'List the MCP servers whose tools are offered here, newest first, with the state of each. Returns a page.',
  keywords:
    'plugged-in services, connected MCP servers, upstream servers, plugins, connectors, external tools, which services are plugged in, list MCP servers',
  access: { scope: 'admin', grant: 'integration:read', narrows: true },
  annotations: READS,
  input: z.strictObject({ enabled: z.boolean().optional(), ...sortBy('name'), ...paging }),
  output: pageOf(integrationSummary),
  errors: [],

  handler(input, { store, principal, server }) {
    const upstreams = upstreamsOf(server);
    const any = whereAllowed<IntegrationRecord>(principal.rights.limitedTo('integration', 'read'), 'id');
    return listPage(store.integrations, input, { where: { enabled: input.enabled }, any }, (record) =>
      summarise(record, upstreams),
    );
  },
});

const getIntegration = defineTool({
  name: 'get_integration',
  title: 'Get integration',
  description:
    'Read one integration: address, state of the connection, tools, and the definitions that wait for approval.',
  keywords: 'state of a connector, tools of an MCP server, connection error of an upstream, why is a connector failing',
  access: { scope: 'admin', grant: 'integration:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: integrationId }),
  output: integration,
  errors: ['not_found'],

  async handler({ id }, { store, server, fail }) {
    return showIntegration(await findIntegration(store, id, fail), upstreamsOf(server));
  },
});

const createIntegration = defineTool({
  name: 'create_integration',
  title: 'Create integration',
  description:
    'Offer the tools of another MCP server here, as `<toolPrefix>__<tool>`: a program (stdio) or a URL (http). They wait for refresh_integration {accept} unless `accept` is given. Needs full access. Returns the integration.',
  keywords:
    'plug in a service, add an MCP server, connector, use GitHub, Notion, Linear, Slack or Google tools, plugin, remote tools, use tools of another MCP server, add a connector, connect GitHub, connect Slack',
  access: { scope: 'admin', grant: 'integration:write', fullAccess: true },
  annotations: { ...CREATES, ...OUTSIDE },
  lasting: { what: 'program', of: ({ command }: { readonly command?: string }) => command !== undefined },
  inSteps: true,
  input: z.strictObject({
    name: fields.name,
    toolPrefix: fields.toolPrefix
      .optional()
      .describe(
        'Default: made from the name. Its tools are `<toolPrefix>__<tool>`; with "" as the server names them, where that is free.',
      ),
    transport: fields.transport,
    command: fields.command.optional(),
    args: fields.args.optional(),
    env: fields.env.optional(),
    url: fields.url.optional(),
    headers: fields.headers.optional(),
    auth: fields.auth.optional(),
    oauth: fields.oauth.optional(),
    enabled: fields.enabled.default(true),
    readOnlyTools: fields.readOnlyTools.default([]),
    askFirst: fields.askFirst.optional(),
    timeoutMs: fields.timeoutMs.default(30_000),
    accept: z.boolean().default(false).describe('Approve the tools it lists now, unseen.'),
  }),
  output: integration,
  errors: ['conflict'],

  async handler({ accept, toolPrefix, ...input }, { principal, server, write, fail }) {
    requireOperator(principal, fail);
    const upstreams = upstreamsOf(server);
    const prefix = toolPrefix ?? prefixFrom(input.name, fail);
    requireMembers(input, fail);
    requireLasting(principal, input);
    requireTarget(input, fail);
    requireAuth(input);
    await requireAllowed(input, upstreams, fail);
    const id = newId('int');
    const { env: _, headers: __, oauth: ___, ...open } = input;
    const sealed = { ...open, ...sealedMembers(id, input, { box: upstreams.secrets }) };
    const record = await write(async (store) => {
      if ((await store.integrations.count({})) >= MOST_INTEGRATIONS) {
        throw fail('conflict', `There are ${MOST_INTEGRATIONS} integrations, which is the limit; delete one first.`);
      }
      return store.integrations.insert({ ...sealed, id, toolPrefix: prefix, approved: [], createdBy: principal.id });
    });
    await upstreams.apply(record);
    if (!record.enabled) return showIntegration(record, upstreams);
    // A server that cannot be reached now is kept and tried again; its state says so.
    const reached = await upstreams.refresh(id, principal).then(
      () => true,
      () => false,
    );
    return reached && accept ? approve(record, upstreams, write) : showIntegration(record, upstreams);
  },
});

const updateIntegration = defineTool({
  name: 'update_integration',
  title: 'Update integration',
  description: `Change fields of an integration; null clears an optional one, ${SECRET_MASK} keeps a secret. Needs full access. Returns the integration.`,
  keywords: 'change the address or token of a connector, disable an MCP server, credentials of an upstream',
  access: { scope: 'admin', grant: 'integration:write:{id}', fullAccess: true },
  annotations: { ...UPDATES, ...OUTSIDE },
  lasting: { what: 'program', of: startsProgram },
  needsApproval: loosens,
  inSteps: true,
  input: z.strictObject({
    id: integrationId,
    name: fields.name.optional(),
    toolPrefix: fields.toolPrefix.optional(),
    command: fields.command.optional(),
    args: fields.args.nullable().optional(),
    env: fields.env.nullable().optional(),
    url: fields.url.optional(),
    headers: fields.headers.nullable().optional(),
    auth: fields.auth.nullable().optional(),
    oauth: fields.oauth.nullable().optional(),
    enabled: fields.enabled.optional(),
    readOnlyTools: fields.readOnlyTools.optional(),
    askFirst: fields.askFirst.optional(),
    timeoutMs: fields.timeoutMs.optional(),
    expectedRevision,
  }),
  output: integration,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision: expected, ...change }, { store, principal, server, write, fail }) {
    requireOperator(principal, fail);
    const upstreams = upstreamsOf(server);
    const { transport } = await findIntegration(store, id, fail);
    requireMembers({ transport, ...change }, fail);
    requireLasting(principal, { transport, ...change });
    await requireAllowed({ transport, url: change.url }, upstreams, fail);
    const { record, ended } = await write(async (writers) => {
      const current = await findIntegration(writers, id, fail);
      requireOwnSecrets(current, change);
      requireAuth(withChange(current, change));
      if (change.toolPrefix === '') await requireFreeNames(current, upstreams, writers);
      const sealed = sealedMembers(id, change, { box: upstreams.secrets, current });
      const updated = await writers.integrations.update(id, { ...change, ...sealed }, { expectedRevision: expected });
      const ends = updated.url !== current.url || authOf(updated) !== authOf(current);
      return { record: updated, ended: ends ? await endAccountsOf(writers, { integrationId: id }) : [] };
    });
    await upstreams.apply(record);
    upstreams.accounts.revokeAll(ended);
    return showIntegration(record, upstreams);
  },
});

const deleteIntegration = defineTool({
  name: 'delete_integration',
  title: 'Delete integration',
  description: 'Delete an integration for good. Its tools go, its program ends. Needs full access.',
  keywords: 'unplug a service, remove a connector, remove an MCP server',
  access: { scope: 'admin', grant: 'integration:write:{id}', fullAccess: true },
  annotations: { ...DELETES, ...OUTSIDE },
  needsApproval: loosensAll,
  inSteps: true,
  input: z.strictObject({ id: integrationId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision: expected }, { store, principal, server, write, fail }) {
    requireOperator(principal, fail);
    const upstreams = upstreamsOf(server);
    await findIntegration(store, id, fail);
    const ended = await write(async (writers) => {
      await writers.integrations.delete(id, { expectedRevision: expected });
      return endAccountsOf(writers, { integrationId: id });
    });
    await upstreams.remove(id);
    upstreams.accounts.revokeAll(ended);
    return {};
  },
});

const refreshIntegration = defineTool({
  name: 'refresh_integration',
  title: 'Refresh integration',
  description:
    'List the tools of an integration now. `accept` approves all it lists; new and changed ones are held back until then. Needs full access. Returns the integration.',
  keywords:
    "reload tools of a remote server, approve new tools, re-sync, update a connector's tool list, remote server has new tools, approve changed tools",
  access: { scope: 'admin', grant: 'integration:write:{id}', fullAccess: true },
  annotations: { ...UPDATES, ...OUTSIDE },
  inSteps: true,
  input: z.strictObject({
    id: integrationId,
    accept: z.boolean().default(false),
    listingHash: z
      .string()
      .max(100)
      .optional()
      .describe('From get_integration: accept only if it still lists what you looked at.'),
  }),
  output: integration,
  errors: ['not_found', 'conflict'],

  async handler({ id, accept, listingHash }, { store, principal, server, write, fail }) {
    requireOperator(principal, fail);
    const upstreams = upstreamsOf(server);
    const record = await findIntegration(store, id, fail);
    await upstreams.refresh(id, principal);
    if (!accept) return showIntegration(record, upstreams);
    if (listingHash !== undefined && listingHash !== upstreams.view(id).listingHash) {
      throw fail('conflict', 'The listing has changed since; read get_integration again and pass its new listingHash.');
    }
    return approve(record, upstreams, write);
  },
});

export const integrationTools = [
  listIntegrations,
  getIntegration,
  createIntegration,
  updateIntegration,
  deleteIntegration,
  refreshIntegration,
];

function upstreamsOf({ upstreams }: ServerContext): Upstreams {
  if (!upstreams) throw new ToolError('unavailable', 'This process runs no integrations; ask the server.');
  return upstreams;
}

async function findIntegration(
  store: Pick<Readers, 'integrations'>,
  id: string,
  fail: Fail<'not_found'>,
): Promise<IntegrationRecord> {
  const record = await store.integrations.get(id);
  if (!record) throw fail('not_found', `There is no integration ${id}; list_integrations shows them all.`);
  return record;
}

async function approve(
  { id }: IntegrationRecord,
  upstreams: Upstreams,
  write: SteppingContext<never, never>['write'],
): Promise<Integration> {
  const listed = upstreams.definitions(id);
  const { prompts, resources } = upstreams.extras(id);
  const record = await write(async (store) => {
    const current = await store.integrations.get(id);
    const taken = current?.toolPrefix === '' ? await takenNames(current, listed, { upstreams, store }) : [];
    const names = new Set(taken.map(({ tool }) => tool));
    const approved = listed.filter(({ name }) => !names.has(shownName('', name)));
    return store.integrations.update(id, {
      approved,
      ...(prompts.length > 0 || current?.approvedPrompts ? { approvedPrompts: [...prompts] } : {}),
      ...(resources.length > 0 || current?.approvedResources ? { approvedResources: [...resources] } : {}),
    });
  });
  await upstreams.apply(record);
  return showIntegration(record, upstreams);
}
