import { z } from 'zod';
import { pageOf, paging, recordId } from '../../resources/fields.ts';
import {
  deliveryOutcome,
  type FlowDelivery,
  type FlowDeliveryRecord,
  flowDelivery,
} from '../../resources/flow-delivery.ts';
import { orNameOf, refTo } from '../../resources/markers.ts';
import type { Caller } from '../core/history/withheld.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { LARGEST_PAGE, listPage } from '../core/registry/paging.ts';
import { showDelivery } from './inbound/deliveries.ts';
import { isRunAs } from './run-as.ts';
import { seesContent } from './runs.ts';

export const listFlowDeliveries = defineTool({
  name: 'list_flow_deliveries',
  title: 'List flow deliveries',
  description: 'List what was sent to the webhook of a flow in the last 30 days, newest first, and what became of it.',
  access: { scope: 'flows:read', grant: 'flow:read:{id}' },
  annotations: READS,
  input: z.strictObject({
    id: orNameOf('flow', refTo('flow', recordId)).describe('Flow id (`flw_…`) or name, see list_flows.'),
    outcome: deliveryOutcome.optional(),
    ...paging,
  }),
  output: pageOf(flowDelivery),
  errors: ['not_found'],

  async handler({ id, outcome, ...input }, context) {
    const { store, principal } = context;
    const { runAs } = await store.flows.read(id);
    const isOwn = principal.rights.isAdmin || isRunAs(principal, runAs);
    const page = await listPage(store.flowDeliveries, input, { where: { flowId: id, outcome } }, (record) => record);
    const data: FlowDelivery[] = [];
    let room = LARGEST_PAGE;
    for (const record of page.data) {
      const body = await bodyOf(record, context);
      room -= body === undefined ? 0 : JSON.stringify(body).length;
      data.push(showDelivery(record, { ...(isOwn && { reason: record.reason }), ...(room > 0 && { body }) }));
    }
    return { ...page, data };
  },
});

/** What was sent, as far as it is kept and the caller may see it: it is the input of the run. */
async function bodyOf({ runId }: FlowDeliveryRecord, caller: Caller): Promise<unknown> {
  const run = runId === undefined ? undefined : await caller.store.flowRuns.get(runId);
  return run && (await seesContent(run, caller)) ? run.input : undefined;
}
