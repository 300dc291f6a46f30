import { z } from 'zod';
import { DAY_MS, MINUTE_MS } from '../../../resources/durations.ts';
import { pageOf, paging, plainLine, recordId } from '../../../resources/fields.ts';
import { webhookScheme } from '../../../resources/flow.ts';
import {
  deliveryOutcome,
  type FlowDelivery,
  type FlowDeliveryRecord,
  flowDelivery,
} from '../../../resources/flow-delivery.ts';
import { orNameOf, refTo } from '../../../resources/markers.ts';
import { startPeriodicTask } from '../../../store/periodic-task.ts';
import type { Readers, Store } from '../../../store/port.ts';
import { authorOf, WEBHOOK_TOOL } from '../../core/access/principal.ts';
import type { Caller } from '../../core/history/withheld.ts';
import { CREATES, defineTool, READS } from '../../core/registry/define-tool.ts';
import { LARGEST_PAGE, listPage } from '../../core/registry/paging.ts';
import { findRunAs, isRunAs } from '../run-as.ts';
import { queueRun } from '../run-queue.ts';
import { isSmallInput, LARGEST_INPUT, seesContent } from '../runs.ts';

/** For so long a delivery is listed, and a repeat of it known. */
export const KEPT_MS = 30 * DAY_MS;

export function expiryOf(now: Date): string {
  return new Date(now.getTime() + KEPT_MS).toISOString();
}

export async function findRepeated(
  { flowDeliveries }: Pick<Readers, 'flowDeliveries'>,
  key: string,
): Promise<FlowDeliveryRecord | undefined> {
  return await flowDeliveries.first({ where: { key } });
}

interface Inside {
  readonly reason?: string | undefined;
  readonly body?: unknown;
}

export function showDelivery(
  { id, createdAt: at, scheme, event, outcome, runId, count, lastAt }: FlowDeliveryRecord,
  { reason, body }: Inside,
): FlowDelivery {
  return {
    id,
    at,
    scheme,
    ...(event !== undefined && { event }),
    outcome,
    ...(reason !== undefined && { reason }),
    ...(runId !== undefined && { runId }),
    count,
    ...(lastAt !== undefined && { lastAt }),
    ...(body !== undefined && { body }),
  };
}

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

export const listFlowDeliveries = defineTool({
  name: 'list_flow_deliveries',
  title: 'List flow deliveries',
  description: 'List what was sent to the webhook of a flow in the last 30 days, newest first, and what became of it.',
  keywords:
    'incoming webhook calls received, did GitHub or Stripe call us, inbound requests of a workflow, webhook payload log, was our incoming webhook called, received webhook calls',
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

const MOST_KINDS = 1000;
const LONGEST_REASON = 1000;

type UnstartedDelivery = Pick<FlowDeliveryRecord, 'flowId' | 'scheme' | 'outcome'> &
  Partial<Pick<FlowDeliveryRecord, 'event' | 'reason'>>;

/** A note that was written, and what came since. */
interface LoggedDelivery {
  readonly id: Promise<string | undefined>;
  more: number;
  lastAt: string;
}

/** Logs deliveries that began no run. The first of a kind is written at once, later ones are counted, so that floods cause few writes. */
export class DeliveryLog {
  readonly #store: Store;
  readonly #now: () => Date;
  readonly #onFailure: (cause: unknown) => void;
  readonly #written = new Map<string, LoggedDelivery>();
  readonly #flushing;

  constructor(store: Store, now: () => Date, onFailure: (cause: unknown) => void) {
    this.#store = store;
    this.#now = now;
    this.#onFailure = onFailure;
    this.#flushing = startPeriodicTask(() => this.#flush(), onFailure, MINUTE_MS);
  }

  /** Writes in the background, so that nobody can tell by the time of the answer whether something is written. */
  note(noted: UnstartedDelivery): void {
    const { flowId, outcome, event = '', reason = '' } = noted;
    const kind = JSON.stringify([flowId, outcome, outcome === 'bad_signature' ? '' : event, reason]);
    const before = this.#written.get(kind);
    const lastAt = this.#now().toISOString();
    if (before) Object.assign(before, { more: before.more + 1, lastAt });
    else if (this.#written.size < MOST_KINDS) {
      this.#written.set(kind, { id: this.#write(noted), more: 0, lastAt });
    }
  }

  async close(): Promise<void> {
    await this.#flushing.close();
    await this.#flush();
  }

  #write({ reason, ...noted }: UnstartedDelivery): Promise<string | undefined> {
    const shown = reason === undefined ? {} : { reason: reason.slice(0, LONGEST_REASON) };
    const kept = { ...noted, ...shown, count: 1, expiresAt: expiryOf(this.#now()) };
    return new Promise((resolve) => {
      setImmediate(() => {
        const written = this.#store.transaction((tx) => tx.flowDeliveries.insert(kept));
        written.then(
          ({ id }) => resolve(id),
          (cause) => {
            this.#onFailure(cause);
            resolve(undefined);
          },
        );
      });
    });
  }

  async #flush(): Promise<void> {
    const all = [...this.#written.values()];
    this.#written.clear();
    for (const { id: writing, more, lastAt } of all) {
      const id = await writing;
      if (id !== undefined && more > 0) await this.#store.transaction((tx) => countRepeats(tx, { id, more, lastAt }));
    }
  }
}

interface RepeatedDelivery {
  readonly id: string;
  readonly more: number;
  readonly lastAt: string;
}

export async function countRepeats(
  { flowDeliveries }: Pick<Parameters<Parameters<Store['transaction']>[0]>[0], 'flowDeliveries'>,
  { id, more, lastAt }: RepeatedDelivery,
): Promise<void> {
  const found = await flowDeliveries.get(id);
  if (found) await flowDeliveries.touch(id, { count: found.count + more, lastAt });
}
