import { z } from 'zod';
import type { Issue } from '../../resources/error.ts';
import { expectedRevision, namePart, pageOf, paging, plainLine, recordId, sortBy } from '../../resources/fields.ts';
import {
  type Flow,
  type FlowTriggerInput,
  flow,
  flowFields,
  flowInputFields,
  flowOverlap,
} from '../../resources/flow.ts';
import { orNameOf, refTo, serverManaged } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { withoutBookkeeping } from '../core/history/history.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import type { Context } from '../core/registry/context.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage, textFilter } from '../core/registry/paging.ts';
import { looksLikeId } from '../core/registry/record-names.ts';
import { readSettings } from '../settings/settings.ts';
import { type AnalyzedTexts, analyzedTextsOf, type FlowDefinition } from './definition-texts.ts';
import {
  authorizeDefinition,
  changesAutomaticRuns,
  definitionIssues,
  definitionOf,
  requireRights,
  sameDefinition,
  startsAutomatically,
} from './flow-definition.ts';
import { authorizeRestore, prepareRestore } from './restore-flow.ts';
import { runAsOf } from './run-as.ts';
import { deleteOutputsAbout } from './run-queue.ts';
import { missingRecords } from './step-arguments.ts';
import { requireKnownSecret, type SecretInput, saveSecret, writtenWebhook } from './webhook-secret.ts';

const flowId = orNameOf('flow', refTo('flow', recordId)).describe('Flow id (`flw_…`) or name, see list_flows.');
const newName = plainLine(flowFields.name).refine((text) => !looksLikeId(text), 'A name may not look like an id.');
const runAsManaged = { members: { runAs: 'is the last principal to change what the flow does; the server keeps it' } };

const listFlows = defineTool({
  name: 'list_flows',
  title: 'List flows',
  description: 'List flows with trigger and steps, newest first. Returns a page with `nextCursor`.',
  keywords: 'automations, workflows, scheduled jobs, zaps, pipelines',
  access: {
    scope: 'flows:read',
    grant: 'flow:read',
    narrows: true,
    selects: { name: 'name', enabled: 'enabled', agentId: 'agentId' },
  },
  annotations: READS,
  input: z.strictObject({
    name: flowFields.name.optional().describe('Exactly this name, which several flows may have.'),
    q: namePart.describe('Part of the name, ignoring case.'),
    enabled: z.boolean().optional(),
    agentId: flowFields.agentId.optional(),
    ...sortBy('name'),
    ...paging,
  }),
  output: pageOf(flow),
  errors: [],

  handler({ name, q, enabled, agentId, ...page }, { store, principal }) {
    const any = whereAllowed<Flow>(principal.rights.limitedTo('flow', 'read'), 'id');
    return listPage(
      store.flows,
      page,
      { where: { name, enabled, agentId }, any, part: textFilter<Flow>(q, 'name') },
      (record) => record,
    );
  },
});

const getFlow = defineTool({
  name: 'get_flow',
  title: 'Get flow',
  description: 'Read one flow: trigger, steps or agent and prompt, and whose rights its runs have.',
  keywords: 'open an automation, how a workflow is built, steps of a workflow',
  access: { scope: 'flows:read', grant: 'flow:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: flowId }),
  output: flow,
  errors: ['not_found'],

  handler: ({ id }, { store }) => store.flows.read(id),
});

const createInput = z.strictObject({
  name: newName,
  description: flowFields.description.optional(),
  enabled: z.boolean().default(true).describe('Only enabled flows run.'),
  trigger: flowInputFields.trigger.default({ kind: 'manual' }).describe('Default: `manual`, by trigger_flow alone.'),
  steps: flowInputFields.steps.optional(),
  agentId: flowFields.agentId.optional(),
  prompt: flowFields.prompt.optional(),
  overlap: flowOverlap.optional(),
});
serverManaged.add(createInput, runAsManaged);

const createFlow = defineTool({
  name: 'create_flow',
  title: 'Create flow',
  description:
    'Create a flow: tools called one after the other (`steps`), or one agent with a prompt, run by hand, schedule, webhook or event, with your rights.',
  keywords:
    'automate, new workflow, schedule, cron, every day, every morning, recurring job, when something happens do, react to an event, inbound webhook trigger, pipeline, Zapier, n8n, every day at 8 send, run something on a schedule, set up a workflow, if this then that, each monday, set up an automation with several steps',
  access: { scope: 'flows:write', grant: 'flow:write' },
  annotations: CREATES,
  lasting: { what: 'actor', of: ({ trigger }: Pick<Flow, 'trigger'>) => startsAutomatically(trigger) },
  input: createInput,
  output: flow,
  errors: [],

  stage: (input, { principal }) => analyzedTextsOf(input, principal.id),

  authorize: (input, { store, principal, server: { catalog } }) =>
    authorizeDefinition(principal, input, { store, catalog }),

  async handler(input, context, texts) {
    const { store, principal } = context;
    const written = await writtenTrigger(input.trigger, undefined, context);
    const created = { ...input, trigger: written.trigger };
    await requireDefinition(created, texts, context);
    const inserted = await store.flows.insert({ ...created, runAs: runAsOf(principal) });
    await saveSecret(store, inserted, keepingOf(written, context));
    return inserted;
  },
});

const updateInput = z.strictObject({
  id: flowId,
  name: newName.optional(),
  description: flowFields.description.nullable().optional(),
  enabled: z.boolean().optional(),
  trigger: flowInputFields.trigger.optional(),
  steps: flowInputFields.steps.nullable().optional(),
  agentId: flowFields.agentId.nullable().optional(),
  prompt: flowFields.prompt.nullable().optional(),
  overlap: flowOverlap.optional(),
  expectedRevision,
});
serverManaged.add(updateInput, runAsManaged);

const updateFlow = defineTool({
  name: 'update_flow',
  title: 'Update flow',
  description:
    'Change fields of a flow; null clears an optional one. Changing steps, agent, prompt or trigger makes its runs act with your rights. Returns it.',
  keywords:
    'edit an automation, pause a workflow, switch off a schedule, change the time or steps of a job, pause an automation, change when a job runs, reschedule',
  access: { scope: 'flows:write', grant: 'flow:write:{id}' },
  annotations: UPDATES,
  lasting: { what: 'actor', of: changesAutomaticRuns },
  input: updateInput,
  output: flow,
  errors: ['not_found', 'conflict'],

  async stage({ id, trigger: _, ...change }, { store, principal }) {
    return analyzedTextsOf(definitionOf(await store.flows.read(id), change), principal.id);
  },

  async authorize({ id, expectedRevision: _, ...change }, { store, principal, server }) {
    const current = await store.flows.get(id);
    if (!current) return;
    const { next, redefined } = await changeOf(current, change, { store, server });
    if (redefined) await authorizeDefinition(principal, next, { store, catalog: server.catalog });
  },

  async handler({ id, expectedRevision, ...change }, context, texts) {
    const { store, principal } = context;
    const current = await store.flows.read(id);
    const { written, changed, next, redefined } = await changeOf(current, change, context);
    if (redefined) {
      await requireDefinition(next, texts, context);
      requireKnownSecret(principal, current, written);
    }
    const runAs = redefined ? { runAs: runAsOf(principal) } : {};
    const updated = await store.flows.update(id, { ...changed, ...runAs }, { expectedRevision });
    await saveSecret(store, updated, keepingOf(written, context));
    return updated;
  },
});

const deleteFlow = defineTool({
  name: 'delete_flow',
  title: 'Delete flow',
  description: 'Delete a flow; it no longer runs. restore_version brings it back.',
  keywords: 'remove an automation, stop a scheduled job for good',
  access: { scope: 'flows:write', grant: 'flow:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: flowId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, { store }) {
    await store.flows.delete(id, { expectedRevision });
    return {};
  },
});

export const flowTools = [listFlows, getFlow, createFlow, updateFlow, deleteFlow];

export const flowKind = defineKind({
  type: 'flow',
  collection: 'flows',
  list: listFlows,
  get: getFlow,
  update: updateFlow,
  delete: deleteFlow,
  refersTo: { agentId: 'agent' },
  history: {
    payload: withoutBookkeeping,

    authorizeRestore,
    stageRestore: (state, { id }) => analyzedTextsOf(state, id),
    prepareRestore: (state, current, context, texts) => prepareRestore(state, current, context, texts as AnalyzedTexts),
  },

  forget: deleteOutputsAbout,

  async purge(id, { store }) {
    for (const collection of ['flowRuns', 'flowDeliveries'] as const) await purgeAllOf(id, collection, store);
    await store.purge('flowSecrets', id);
    return store.purge('flows', id);
  },
});

async function purgeAllOf(
  flowId: string,
  collection: 'flowRuns' | 'flowDeliveries',
  store: HistoryWriters,
): Promise<void> {
  for (;;) {
    const { records } = await store[collection].find({ where: { flowId }, limit: 100 });
    if (records.length === 0) return;
    for (const { id } of records) await store.purge(collection, id);
  }
}

async function requireDefinition(
  definition: FlowDefinition,
  texts: AnalyzedTexts,
  context: Context<Readers, never>,
): Promise<void> {
  const { store, principal, server, fail } = context;
  const requireNone = (issues: readonly Issue[]) => {
    if (!issues[0]) return;
    const more = issues.length > 1 ? ` (and ${issues.length - 1} more, see issues)` : '';
    throw fail('invalid_input', `${issues[0].path}: ${issues[0].message}${more}`, { issues: issues.slice(0, 100) });
  };
  requireNone(await definitionIssues(definition, texts, context));
  await requireRights(principal, definition, { store, catalog: server.catalog });
  requireNone(await missingRecords(definition.steps ?? [], context));
}

interface Written {
  readonly trigger: Flow['trigger'];
  readonly given?: SecretInput;
}

/** The trigger as it is stored: a schedule keeps the time zone of its writing, and a webhook keeps its secret elsewhere. */
async function writtenTrigger(
  trigger: FlowTriggerInput,
  current: Flow | undefined,
  { store, server }: Pick<Context<Readers, never>, 'store' | 'server'>,
): Promise<Written> {
  if (trigger.kind === 'webhook') return writtenWebhook(trigger, current, server.now());
  if (trigger.kind !== 'cron') return { trigger };
  return { trigger: { ...trigger, timezone: trigger.timezone ?? (await readSettings(store)).timezone } };
}

type FlowChange = Omit<z.output<typeof updateInput>, 'id' | 'expectedRevision'>;

/** What the change writes, the definition after it, and whether that is another one. */
async function changeOf(
  current: Flow,
  { trigger, ...change }: FlowChange,
  context: Pick<Context<Readers, never>, 'store' | 'server'>,
) {
  const written: Written = trigger ? await writtenTrigger(trigger, current, context) : { trigger: current.trigger };
  const changed = { ...change, ...(trigger && { trigger: written.trigger }) };
  const next = definitionOf(current, changed);
  return { written, changed, next, redefined: written.given !== undefined || !sameDefinition(current, next) };
}

function keepingOf({ given }: Written, { server }: Pick<Context<Readers, never>, 'server'>) {
  return { given, box: server.secrets };
}
