import { z } from 'zod';
import { expectedRevision, pageOf, paging, recordId, sortBy } from '../../resources/fields.ts';
import { SECRET_MASK } from '../../resources/integration.ts';
import { refTo, serverManaged, withFormHints } from '../../resources/markers.ts';
import { webhookFields as fields, type Webhook, type WebhookRecord, webhook } from '../../resources/webhook.ts';
import { newId } from '../../store/ids.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { ToolError } from '../core/errors.ts';
import type { ServerContext } from '../core/registry/context.ts';
import { CREATES, DELETES, defineTool, type Fail, OUTSIDE, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { eventTypesOf } from '../flows/event-types.ts';
import { runAsOf } from '../flows/run-as.ts';
import { MOST_WEBHOOKS } from './alerts.ts';
import type { Webhooks } from './engine.ts';
import { newSecret } from './secrets.ts';

export const webhookId = refTo('webhook', recordId).describe('Webhook id (`whk_…`), see list_webhooks.');
const withSecret = webhook.omit({ fields: true }).extend({
  secret: z.string().optional().describe(`Keep it: it cannot be shown again. Where it stays as it was: ${SECRET_MASK}`),
});
const managed = { members: { owner: 'is who made it, or last changed what it sends; the server keeps it' } };

const listWebhooks = defineTool({
  name: 'list_webhooks',
  title: 'List webhooks',
  description: 'List the webhooks that tell other systems or people what happens here, newest first, with their state.',
  keywords: 'outgoing notifications, callbacks, subscriptions to events, who is notified',
  access: { scope: 'admin', grant: 'webhook:read', narrows: true },
  annotations: READS,
  input: z.strictObject({ ...sortBy('name'), ...paging }),
  output: pageOf(webhook),
  errors: [],

  handler(input, { store, principal, server }) {
    const any = whereAllowed<WebhookRecord>(principal.rights.limitedTo('webhook', 'read'), 'id');
    return listPage(store.webhooks, input, { any }, (record) => showWebhook(record, server.now()));
  },
});

const getWebhook = defineTool({
  name: 'get_webhook',
  title: 'Get webhook',
  description: 'Read one webhook: target, events, alerts, on whose behalf it sends, and whether sending works.',
  keywords: 'notification settings, callback details, is sending broken',
  access: { scope: 'admin', grant: 'webhook:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: webhookId }),
  output: webhook,
  errors: ['not_found'],

  async handler({ id }, { store, server, fail }) {
    return showWebhook(await findWebhook(store, id, fail), server.now());
  },
});

const chosen = {
  events: withFormHints(fields.events, { title: 'Events' }),
  alerts: withFormHints(fields.alerts, { title: 'Alerts' }),
};

const createInput = z.strictObject({
  name: fields.name,
  target: fields.target,
  events: chosen.events.default([]),
  alerts: chosen.alerts.default([]),
  fields: fields.fields.optional(),
  enabled: fields.enabled.default(true),
});
serverManaged.add(createInput, managed);

const createWebhook = defineTool({
  name: 'create_webhook',
  title: 'Create webhook',
  description:
    'Tell a URL (signed POST, Standard Webhooks) or an email address what happens from now on: type, id and revision of what you may read, and `fields` that you name. Returns the webhook and, this once, its `secret`.',
  keywords:
    'notify, post to Slack, Teams or Discord, alert by e-mail, callback URL, send events to a CRM, call a URL when something changes, push, subscribe, mail me when, post to Slack when something happens, notify our system when something changes, call a URL on every new record, outgoing webhook, send a notification, warn before a key expires',
  access: { scope: 'admin', grant: 'webhook:write' },
  annotations: { ...CREATES, ...OUTSIDE },
  answersSecret: true,
  inSteps: true,
  input: createInput,
  output: withSecret,
  errors: ['conflict'],

  async handler(input, { principal, server, write, fail }) {
    requirePerson(principal, fail);
    const sending = sendingOf(server);
    requireTypes(input, server, fail);
    await requireAllowed(input.target, sending, fail);
    const id = newId('whk');
    const made = input.target.url === undefined ? undefined : newSecret(id, sending.box);
    const record = await write(async (store) => {
      if ((await store.webhooks.count({})) >= MOST_WEBHOOKS) {
        throw fail(
          'conflict',
          `There are ${MOST_WEBHOOKS} webhooks, which is the limit; delete one with delete_webhook.`,
        );
      }
      return store.webhooks.insert({ ...input, id, owner: runAsOf(principal), ...made?.members });
    });
    return { ...showWebhook(record, server.now()), ...(made && { secret: made.secret }) };
  },
});

const updateInput = z.strictObject({
  id: webhookId,
  name: fields.name.optional(),
  target: fields.target.optional(),
  events: chosen.events.optional(),
  alerts: chosen.alerts.optional(),
  fields: fields.fields.optional(),
  enabled: fields.enabled
    .optional()
    .describe('false: nothing is noted or sent. true: what waited for less than a week is sent first.'),
  expectedRevision,
});
serverManaged.add(updateInput, managed);

const updateWebhook = defineTool({
  name: 'update_webhook',
  title: 'Update webhook',
  description:
    'Change a webhook. Changing target, events or alerts makes it send what you may read. Returns it, with a new `secret` if the URL is at another origin.',
  keywords:
    'change the URL of a notification, switch off notifications, other events, mute alerts, mute a notification, notify another URL',
  access: { scope: 'admin', grant: 'webhook:write:{id}' },
  annotations: { ...UPDATES, ...OUTSIDE },
  answersSecret: true,
  inSteps: true,
  input: updateInput,
  output: withSecret,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision: expected, ...change }, { store, principal, server, write, fail }) {
    const sending = sendingOf(server);
    await findWebhook(store, id, fail);
    if (change.target) await requireAllowed(change.target, sending, fail);
    let secret: string | undefined;
    const record = await write(async (writers) => {
      const current = await findWebhook(writers, id, fail);
      const next = { ...current, ...defined(change) };
      requireTypes(next, server, fail);
      const redefined = sends(next) !== sends(current);
      if (redefined) requirePerson(principal, fail);
      const made = movesAway(current, next) && next.target.url !== undefined ? newSecret(id, sending.box) : undefined;
      secret = made?.secret;
      const kept = movesAway(current, next) ? { secret: made?.members.secret ?? null, former: null } : {};
      const owner = redefined ? { owner: runAsOf(principal) } : {};
      const begins = change.enabled || change.target ? FRESH : {};
      return writers.webhooks.update(id, { ...change, ...kept, ...owner, ...begins }, { expectedRevision: expected });
    });
    return { ...showWebhook(record, server.now()), ...(secret !== undefined && { secret }) };
  },
});

const rotateSecret = defineTool({
  name: 'rotate_webhook_secret',
  title: 'Rotate webhook secret',
  description:
    'Give a webhook a new secret, returned this once. The old one signs too for graceSeconds, so that receivers can change over.',
  keywords: 'new signing secret, renew the signature key of a callback',
  access: { scope: 'admin', grant: 'webhook:write:{id}' },
  annotations: { ...DELETES, idempotentHint: false },
  answersSecret: true,
  input: z.strictObject({
    id: webhookId,
    graceSeconds: z.int().min(0).max(604_800).default(86_400).describe('How long the old secret signs too.'),
  }),
  output: withSecret,
  errors: ['not_found', 'conflict'],

  async handler({ id, graceSeconds }, { store, server, fail }) {
    const current = await findWebhook(store, id, fail);
    if (current.secret === undefined) {
      throw fail('conflict', 'This webhook sends mails, which have no secret; only one with a url has.');
    }
    const now = server.now();
    const { secret, members } = newSecret(id, sendingOf(server).box);
    const until = new Date(now.getTime() + graceSeconds * 1000).toISOString();
    const former = graceSeconds === 0 ? null : { secret: current.secret, until };
    const record = await store.webhooks.update(id, { ...members, former });
    return { ...showWebhook(record, now), secret };
  },
});

export const webhookTools = [listWebhooks, getWebhook, createWebhook, updateWebhook, rotateSecret];

export function showWebhook(record: WebhookRecord, now: Date): Webhook {
  const { secret, former, failures: _, restsSince: __, restsUntil: ___, ...shown } = record;
  const inGrace = former && Date.parse(former.until) > now.getTime();
  return {
    ...shown,
    state: stateOf(record),
    ...(secret !== undefined && { secret: SECRET_MASK }),
    ...(inGrace && { earlierSecretUntil: former.until }),
  };
}

function stateOf({ enabled, stopped, failingSince }: WebhookRecord): Webhook['state'] {
  if (!enabled) return stopped === undefined ? 'disabled' : 'stopped';
  return failingSince === undefined ? 'ok' : 'failing';
}

export function sendingOf({ webhooks }: ServerContext): Webhooks {
  if (!webhooks) throw new ToolError('unavailable', 'This process sends nothing for webhooks; ask the server.');
  return webhooks;
}

export async function findWebhook(
  { webhooks }: Pick<Readers, 'webhooks'>,
  id: string,
  fail: Fail<'not_found'>,
): Promise<WebhookRecord> {
  const record = await webhooks.get(id);
  if (!record) throw fail('not_found', `There is no webhook ${id}; list_webhooks shows them all.`);
  return record;
}

const FRESH = {
  failures: null,
  failingSince: null,
  restsSince: null,
  restsUntil: null,
  lastError: null,
  stopped: null,
} as const;
const OWNERS: readonly string[] = ['session', 'api-key'];

/** A webhook acts for its creator, so only people and their keys create it. @throws ToolError (forbidden) */
function requirePerson({ type }: Principal, fail: Fail<never>): void {
  if (OWNERS.includes(type)) return;
  throw fail('forbidden', 'Insufficient permissions', {
    issues: [{ path: '', message: `What a webhook sends is never decided by a principal of the type ${type}.` }],
  });
}

type Chosen = Pick<WebhookRecord, 'events' | 'alerts' | 'target'> & { readonly fields?: readonly string[] | undefined };

function requireTypes(
  { events, alerts, fields = [], target }: Chosen,
  { kinds }: Pick<ServerContext, 'kinds'>,
  fail: Fail<never>,
): void {
  const known = new Set(eventTypesOf(kinds).map(({ type }) => type));
  const issues = events.flatMap((type, at) =>
    known.has(type)
      ? []
      : [{ path: `events[${at}]`, message: `There are no events of the type ${type}; see list_event_types.` }],
  );
  if (events.length + alerts.length === 0) {
    issues.push({ path: 'events', message: 'Give at least one event or alert; list_event_types shows the events.' });
  }
  if (fields.length > 0 && target.url === undefined)
    issues.push({ path: 'fields', message: 'Mails hold no content; leave them out, or give a url.' });
  if (issues[0]) throw fail('invalid_input', `${issues[0].path}: ${issues[0].message}`, { issues });
}

async function requireAllowed(
  { url }: WebhookRecord['target'],
  sending: Pick<Webhooks, 'refusal'>,
  fail: Fail<never>,
): Promise<void> {
  const message = url === undefined ? undefined : await sending.refusal(url);
  if (message !== undefined)
    throw fail('invalid_input', `target.url: ${message}`, { issues: [{ path: 'target.url', message }] });
}

function movesAway({ target: before }: WebhookRecord, { target: after }: WebhookRecord): boolean {
  const origin = (url: string | undefined) => (url === undefined ? undefined : new URL(url).origin);
  return origin(before.url) !== origin(after.url);
}

function sends({ target, events, alerts, fields = [] }: WebhookRecord): string {
  return JSON.stringify([target.url, target.email, events, alerts, fields]);
}

function defined<Given extends object>(given: Given) {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof Given]?: Exclude<Given[Name], undefined> }; // the same members
}
