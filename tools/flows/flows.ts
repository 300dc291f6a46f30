import { canonicalize } from 'json-canonicalize';
import { z } from 'zod';
import { expectedRevision, pageOf, paging, plainLine, recordId } from '../../resources/fields.ts';
import {
  type Flow,
  type FlowTriggerInput,
  flow,
  flowFields,
  flowInputFields,
  flowOverlap,
} from '../../resources/flow.ts';
import { refTo, serverManaged } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import type { Context } from '../registry/context.ts';
import { defineKind } from '../registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from '../registry/define-tool.ts';
import { listPage, onlyThese } from '../registry/paging.ts';
import { readSettings } from '../settings/settings.ts';
import { withoutBookkeeping } from '../versions/history.ts';
import { definitionIssues, type FlowDefinition, requireRights } from './flow-definition.ts';
import { forgetOutputs } from './queue.ts';
import { runAsOf } from './run-as.ts';

const flowId = refTo('flow', recordId).describe('Flow id (`flw_…`), see list_flows.');
const runAsManaged = { members: { runAs: 'is the last principal to change what the flow does; the server keeps it' } };

const listFlows = defineTool({
  name: 'list_flows',
  title: 'List flows',
  description: 'List flows with trigger and steps, newest first. Returns a page with `nextCursor`.',
  access: {
    scope: 'flows:read',
    grant: 'flow:read',
    narrows: true,
    selects: { enabled: 'enabled', agentId: 'agentId' },
  },
  annotations: READS,
  input: z.strictObject({ enabled: z.boolean().optional(), agentId: flowFields.agentId.optional(), ...paging }),
  output: pageOf(flow),
  errors: [],

  handler({ enabled, agentId, ...page }, { store, principal }) {
    const any = onlyThese<Flow>(principal.rights.limitedTo('flow', 'read'), 'id');
    return listPage(store.flows, page, { where: { enabled, agentId }, any }, (record) => record);
  },
});

const getFlow = defineTool({
  name: 'get_flow',
  title: 'Get flow',
  description: 'Read one flow: trigger, steps or agent and prompt, and whose rights its runs have.',
  access: { scope: 'flows:read', grant: 'flow:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: flowId }),
  output: flow,
  errors: ['not_found'],

  handler: ({ id }, { store }) => store.flows.read(id),
});

const createInput = z.strictObject({
  name: plainLine(flowFields.name),
  description: flowFields.description.optional(),
  enabled: z.boolean().default(true).describe('Only enabled flows run.'),
  trigger: flowInputFields.trigger.default({ kind: 'manual' }),
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
  access: { scope: 'flows:write', grant: 'flow:write' },
  annotations: CREATES,
  input: createInput,
  output: flow,
  errors: [],

  async handler(input, context) {
    const { store, principal } = context;
    const created = { ...input, trigger: await withTimezone(input.trigger, store) };
    await requireDefinition(created, context);
    return store.flows.insert({ ...created, runAs: runAsOf(principal) });
  },
});

const updateInput = z.strictObject({
  id: flowId,
  name: plainLine(flowFields.name).optional(),
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
  access: { scope: 'flows:write', grant: 'flow:write:{id}' },
  annotations: UPDATES,
  input: updateInput,
  output: flow,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision, trigger, ...change }, context) {
    const { store, principal } = context;
    const current = await store.flows.read(id);
    const changed = { ...change, ...(trigger && { trigger: await withTimezone(trigger, store) }) };
    const next = definitionOf(current, changed);
    const redefined = !sameDefinition(current, next);
    if (redefined) await requireDefinition(next, context);
    const runAs = redefined ? { runAs: runAsOf(principal) } : {};
    return store.flows.update(id, { ...changed, ...runAs }, { expectedRevision });
  },
});

const deleteFlow = defineTool({
  name: 'delete_flow',
  title: 'Delete flow',
  description: 'Delete a flow; it no longer runs. restore_version brings it back.',
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
  refersTo: { agentId: 'agent' },
  history: {
    payload: withoutBookkeeping,

    async prepareRestore(state, current, { store, principal, server, fail }) {
      const [issue] = await definitionIssues(state, store, server);
      if (issue) throw fail('conflict', `This state of the flow cannot be restored: ${issue.path}: ${issue.message}`);
      if (current && sameDefinition(current, state)) return { ...state, runAs: current.runAs };
      await requireRights(principal, state, { store, catalog: server.catalog });
      return { ...state, runAs: runAsOf(principal) };
    },
  },

  forget: forgetOutputs,

  async purge(id, { store }) {
    for (;;) {
      const { records } = await store.flowRuns.find({ where: { flowId: id }, limit: 100 });
      if (records.length === 0) return store.purge('flows', id);
      for (const run of records) await store.purge('flowRuns', run.id);
    }
  },
});

async function requireDefinition(definition: FlowDefinition, context: Context<Readers, never>): Promise<void> {
  const { store, principal, server, fail } = context;
  const issues = await definitionIssues(definition, store, server);
  if (issues[0]) {
    const more = issues.length > 1 ? ` (and ${issues.length - 1} more, see issues)` : '';
    throw fail('invalid_input', `${issues[0].path}: ${issues[0].message}${more}`, { issues: issues.slice(0, 100) });
  }
  await requireRights(principal, definition, { store, catalog: server.catalog });
}

/** A schedule keeps the time zone in which it was written, also when the workspace changes its own. */
async function withTimezone(trigger: FlowTriggerInput, store: Pick<Readers, 'settings'>): Promise<Flow['trigger']> {
  if (trigger.kind !== 'cron') return trigger;
  return { ...trigger, timezone: trigger.timezone ?? (await readSettings(store)).timezone };
}

type DefinitionChange = { readonly [Member in keyof FlowDefinition]?: FlowDefinition[Member] | null | undefined };

/** The definition after a change. Members that are not given stay; null clears. */
function definitionOf(current: FlowDefinition, change: DefinitionChange): FlowDefinition {
  const steps = change.steps === undefined ? current.steps : change.steps;
  const agentId = change.agentId === undefined ? current.agentId : change.agentId;
  const prompt = change.prompt === undefined ? current.prompt : change.prompt;
  return {
    trigger: change.trigger ?? current.trigger,
    ...(steps && { steps }),
    ...(agentId && { agentId }),
    ...(prompt && { prompt }),
  };
}

function sameDefinition(one: FlowDefinition, other: FlowDefinition): boolean {
  const text = ({ trigger, steps, agentId, prompt }: FlowDefinition) => canonicalize([trigger, steps, agentId, prompt]);
  return text(one) === text(other);
}
