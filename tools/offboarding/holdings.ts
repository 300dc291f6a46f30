import { z } from 'zod';
import type { ApiKeyRecord } from '../../resources/api-key.ts';
import type { CapsuleRecord } from '../../resources/capsule.ts';
import type { ConnectedAppRecord } from '../../resources/connected-app.ts';
import { pageOf, paging, recordId, timestamp } from '../../resources/fields.ts';
import type { Flow } from '../../resources/flow.ts';
import type { IntegrationRecord } from '../../resources/integration.ts';
import { refTo } from '../../resources/markers.ts';
import type { WebhookRecord } from '../../resources/webhook.ts';
import type { Readers } from '../../store/port.ts';
import { stateOf } from '../api-keys.ts';
import type { Principal } from '../core/access/principal.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { allOf, listPage, readerOf } from '../core/registry/paging.ts';
import { ownerOf } from '../flows/run-queue.ts';

const type = z.enum(['key', 'capsule', 'flow', 'app', 'integration', 'webhook']);

const holding = z.object({
  type,
  id: recordId,
  name: z.string(),
  reach: z.string().describe('What it does, or may do.'),
  lastUsedAt: timestamp.optional().describe('Absent: never.'),
});

type Holding = z.infer<typeof holding> & { readonly createdAt: string };

const MOST_CHARACTERS = 500;

export const listHoldings = defineTool({
  name: 'list_holdings',
  title: 'List holdings',
  description:
    'List what acts for an admin user or was set up by them, newest first: keys that work, capsules, flows, webhooks, connected apps, integrations; what each does and when it was last used. See take_over before they leave. What you may not read is left out.',
  keywords:
    'what belongs to a person who leaves, things owned by somebody, ownership, before offboarding, what does a leaving person own, what would be orphaned',
  access: { scope: 'admin', grant: 'admin-user:read:{userId}' },
  annotations: READS,
  input: z.strictObject({
    userId: refTo('admin-user', recordId).describe('Admin user id (`usr_…`), see list_admin_users.'),
    ...paging,
  }),
  output: pageOf(holding),
  errors: ['not_found'],

  async handler({ userId, ...page }, { store, principal, server }) {
    await store.adminUsers.read(userId);
    const found = (await holdingsOf(userId, store, server.now())).filter((each) => mayRead(principal, each));
    return listPage(readerOf(found), page, { filter: { userId } }, ({ createdAt: _, ...shown }) => shown);
  },
});

function mayRead({ rights }: Principal, { type, id }: Holding): boolean {
  const scope = type === 'flow' ? 'flows:read' : 'admin';
  return rights.allows({ scope, needs: [{ resource: type, op: 'read', ids: [id] }] });
}

async function holdingsOf(userId: string, store: Readers, now: Date): Promise<Holding[]> {
  const keys = await allOf(store.apiKeys, { where: { ownerId: userId } });
  const capsules = await allOf(store.capsules, { where: { ownerId: userId } });
  const apps = await allOf(store.connectedApps, { where: { userId } });
  const flows: Holding[] = [];
  for (const flow of await allOf(store.flows, {})) {
    if ((await ownerOf(flow.runAs, store)) === userId) flows.push(await flowHolding(flow, store));
  }
  const webhooks: Holding[] = [];
  for (const webhook of await allOf(store.webhooks, {})) {
    if ((await ownerOf(webhook.owner, store)) === userId) webhooks.push(webhookHolding(webhook));
  }
  const makers = new Set([userId, ...keys.map(({ id }) => id)]);
  const integrations = await allOf(store.integrations, {});
  return [
    ...keys.filter((key) => stateOf(key, now) === 'active').map(keyHolding),
    ...capsules.map(capsuleHolding),
    ...flows,
    ...webhooks,
    ...apps.map(appHolding),
    ...integrations.filter(({ createdBy }) => makers.has(createdBy)).map(integrationHolding),
  ];
}

function keyHolding({ id, name, scopes, grants, createdAt, lastUsedAt }: ApiKeyRecord): Holding {
  const reach = grants ? `grants ${grants.join(', ')}` : `scopes ${scopes.join(', ')}`;
  return { type: 'key', id, name, reach: cut(reach), createdAt, ...used(lastUsedAt) };
}

function capsuleHolding({ id, name, status, allowedTools, createdAt, lastUsedAt }: CapsuleRecord): Holding {
  const reach = `${status}; tools ${allowedTools.join(', ') || 'none'}`;
  return { type: 'capsule', id, name, reach: cut(reach), createdAt, ...used(lastUsedAt) };
}

function appHolding({ id, client, scopes, capsuleId, createdAt, lastUsedAt }: ConnectedAppRecord): Holding {
  const reach = capsuleId === undefined ? `scopes ${scopes.join(', ')}` : `the tools of the capsule ${capsuleId}`;
  return { type: 'app', id, name: `${client.name} (${client.host})`, reach, createdAt, ...used(lastUsedAt) };
}

function webhookHolding({ id, name, enabled, target, events, alerts, createdAt, lastSentAt }: WebhookRecord): Holding {
  const where = target.url === undefined ? target.email : new URL(target.url).host;
  const reach = `${enabled ? 'enabled' : 'disabled'}; tells ${where} of ${[...events, ...alerts].join(', ')}`;
  return { type: 'webhook', id, name, reach: cut(reach), createdAt, ...used(lastSentAt) };
}

function integrationHolding({ id, name, enabled, toolPrefix, approved, createdAt }: IntegrationRecord): Holding {
  const tools = toolPrefix === '' ? 'without a prefix' : `called ${toolPrefix}__…`;
  const reach = `${enabled ? 'enabled' : 'disabled'}; ${approved.length} tools ${tools}, for everybody who may call them`;
  return { type: 'integration', id, name, reach, createdAt };
}

async function flowHolding(
  { id, name, enabled, trigger, steps, agentId, createdAt }: Flow,
  { flowRuns }: Pick<Readers, 'flowRuns'>,
): Promise<Holding> {
  const does =
    agentId === undefined ? `calls ${steps?.map(({ tool }) => tool).join(', ') || 'nothing'}` : `runs ${agentId}`;
  const when = trigger.kind === 'cron' ? `schedule ${trigger.expression}` : trigger.kind;
  const last = await flowRuns.first({ where: { flowId: id } });
  const reach = `${enabled ? 'enabled' : 'disabled'}, ${when}; ${does}`;
  return { type: 'flow', id, name, reach: cut(reach), createdAt, ...used(last?.createdAt) };
}

function used(lastUsedAt: string | undefined): { readonly lastUsedAt?: string } {
  return lastUsedAt === undefined ? {} : { lastUsedAt };
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS - 1)}…`;
}
