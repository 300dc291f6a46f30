import { z } from 'zod';
import { plainLine, recordId } from '../../../resources/fields.ts';
import { webhookScheme } from '../../../resources/flow.ts';
import { flowDelivery } from '../../../resources/flow-delivery.ts';
import { orNameOf, refTo } from '../../../resources/markers.ts';
import { authorOf, WEBHOOK_TOOL } from '../../core/access/principal.ts';
import { CREATES, defineTool } from '../../core/registry/define-tool.ts';
import { findRunAs } from '../run-as.ts';
import { queueRun } from '../run-queue.ts';
import { isSmallInput, LARGEST_INPUT } from '../runs.ts';
import { expiryOf, findRepeated, showDelivery } from './deliveries.ts';

/** What the door calls when a delivery was signed well. Delivery, run and audit entry are stored together, or none of them. */
export const receiveWebhook = defineTool({
  name: WEBHOOK_TOOL,
  title: 'Receive webhook',
  description: 'Begin a run of a flow with what a sender delivered and signed. Returns the delivery.',
  access: { scope: 'flows:write', grant: 'flow:trigger:{id}' },
  annotations: { ...CREATES, openWorldHint: true },
  doorOnly: true,
  input: z.strictObject({
    id: orNameOf('flow', refTo('flow', recordId)).describe('Flow id (`flw_…`) or name, see list_flows.'),
    scheme: webhookScheme,
    key: plainLine(z.string().min(1).max(100)).describe('Equal for repeats of one delivery.'),
    event: plainLine(z.string().min(1).max(200)).optional(),
    body: z
      .unknown()
      .refine((body) => isSmallInput(body), `Is longer than ${LARGEST_INPUT} characters of JSON; send less.`)
      .describe('The input of the run.'),
  }),
  output: flowDelivery,
  errors: ['not_found', 'conflict'],

  async handler({ id: flowId, scheme, key, event, body }, { store, principal, server, fail }) {
    if (await findRepeated(store, key)) throw fail('conflict', 'This delivery came before.');
    const flow = await store.flows.read(flowId);
    const now = server.now();
    const runAs = await findRunAs(flow.runAs, store, { catalog: server.catalog, now });
    if (typeof runAs === 'string') throw fail('conflict', runAs);
    const trigger = { kind: 'webhook', by: authorOf(principal) } as const;
    const { id: runId } = await queueRun(store, flow, { trigger, input: body, causes: [] });
    const members = { flowId, key, scheme, ...(event !== undefined && { event }), runId };
    const kept = { ...members, outcome: 'run', count: 1, expiresAt: expiryOf(now) } as const;
    return showDelivery(await store.flowDeliveries.insert(kept), {});
  },
});
