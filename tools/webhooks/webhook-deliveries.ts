import { z } from 'zod';
import { expectedRevision, pageOf, paging, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import {
  deliveryStatus,
  type WebhookDelivery,
  type WebhookDeliveryRecord,
  webhook,
  webhookDelivery,
} from '../../resources/webhook.ts';
import { newId } from '../../store/ids.ts';
import { DELETES, defineTool, OUTSIDE, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { OWN_EVENTS } from './delivery-refusal.ts';
import { findWebhook, sendingOf, showWebhook, webhookId } from './webhooks.ts';

const BATCH = 200;

const deleteWebhook = defineTool({
  name: 'delete_webhook',
  title: 'Delete webhook',
  description: 'Delete a webhook for good, with its deliveries, also those that wait. Returns it as it was.',
  keywords: 'stop notifying, remove a callback, unsubscribe',
  access: { scope: 'admin', grant: 'webhook:write:{id}' },
  annotations: DELETES,
  inSteps: true,
  input: z.strictObject({ id: webhookId, expectedRevision }),
  output: webhook,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision: expected }, { store, server, write, fail }) {
    await findWebhook(store, id, fail);
    const off = await write((writers) =>
      writers.webhooks.update(id, { enabled: false }, { expectedRevision: expected }),
    );
    for (let left = true; left; ) {
      left = await write(async ({ webhookDeliveries }) => {
        const { records } = await webhookDeliveries.find({ where: { webhookId: id }, limit: BATCH });
        for (const delivery of records) await webhookDeliveries.delete(delivery.id);
        return records.length === BATCH;
      });
    }
    await write((writers) => writers.webhooks.delete(id));
    return showWebhook(off, server.now());
  },
});

const testWebhook = defineTool({
  name: 'test_webhook',
  title: 'Test webhook',
  description:
    'Send the event `webhook.test` to a webhook now, once, also to one that is switched off. Returns the delivery.',
  keywords:
    'send a sample notification, ping a callback, try whether the URL works, try a notification, does the callback work',
  access: { scope: 'admin', grant: 'webhook:write:{id}' },
  annotations: { ...UPDATES, idempotentHint: false, ...OUTSIDE },
  inSteps: true,
  input: z.strictObject({ id: webhookId }),
  output: webhookDelivery,
  errors: ['not_found'],

  async handler({ id }, { store, server, write, fail }) {
    const target = await findWebhook(store, id, fail);
    const at = server.now();
    const event = { type: OWN_EVENTS.test, id, revision: target.revision, at: at.toISOString() };
    const made = { id: newId('whd'), webhookId: id, event };
    const attempt = await sendingOf(server).attempt(target, made);
    const tried = {
      attempts: 1,
      firstAttemptAt: event.at,
      ...(attempt.status !== undefined && { lastStatus: attempt.status }),
    };
    const became = attempt.ok
      ? { status: 'delivered' as const, deliveredAt: server.now().toISOString() }
      : { status: 'failed' as const, lastError: attempt.error };
    return showDelivery(await write((writers) => writers.webhookDeliveries.insert({ ...made, ...tried, ...became })));
  },
});

const listDeliveries = defineTool({
  name: 'list_webhook_deliveries',
  title: 'List webhook deliveries',
  description:
    'List what a webhook sent in the last days, sends and could not send, newest first, with attempts and the last error.',
  keywords:
    'did the notifications arrive, sent callbacks, failed notifications, delivery log, did our notifications arrive, why was no notification sent, webhook log',
  access: { scope: 'admin', grant: 'webhook:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: webhookId, status: deliveryStatus.optional(), ...paging }),
  output: pageOf(webhookDelivery),
  errors: ['not_found'],

  async handler({ id, status, ...page }, { store, fail }) {
    await findWebhook(store, id, fail);
    return listPage(store.webhookDeliveries, page, { where: { webhookId: id, status } }, showDelivery);
  },
});

const retryDelivery = defineTool({
  name: 'retry_webhook_delivery',
  title: 'Retry webhook delivery',
  description:
    'Send an event of a webhook again, or sooner than it would be: delivered, failed or withheld ones too, with the same `webhook-id`. Returns the delivery, which then waits.',
  keywords: 'send a notification again, resend, redeliver a callback, send a notification that did not arrive again',
  access: { scope: 'admin', grant: 'webhook:write:{id}' },
  annotations: { ...UPDATES, idempotentHint: false },
  input: z.strictObject({
    id: refTo('webhook-delivery', recordId).describe('Delivery id (`whd_…`), see list_webhook_deliveries.'),
  }),
  output: webhookDelivery,
  errors: ['not_found', 'conflict'],

  async handler({ id }, { store, server, fail }) {
    const delivery = await store.webhookDeliveries.get(id);
    if (!delivery)
      throw fail('not_found', `There is no delivery ${id}; list_webhook_deliveries shows those of a webhook.`);
    const { enabled, restsUntil } = await findWebhook(store, delivery.webhookId, fail);
    if (!enabled) {
      const next = `update_webhook {"id": "${delivery.webhookId}", "enabled": true} switches it on`;
      throw fail('conflict', `The webhook is switched off; ${next}.`);
    }
    if (delivery.event.type === OWN_EVENTS.test) {
      throw fail('conflict', 'A test is not sent again; test_webhook sends another.');
    }
    if (restsUntil !== undefined)
      await store.webhooks.touch(delivery.webhookId, { restsSince: null, restsUntil: null });
    const nextAt = server.now().toISOString();
    const again = { status: 'waiting', attempts: 0, nextAt, deliveredAt: null, firstAttemptAt: null } as const;
    return showDelivery(await store.webhookDeliveries.update(id, again));
  },
});

export const webhookDeliveryTools = [deleteWebhook, testWebhook, listDeliveries, retryDelivery];

function showDelivery({ facts: _, revision: __, ...shown }: WebhookDeliveryRecord): WebhookDelivery {
  return shown;
}
