import { z } from 'zod';
import { type Agent, agent, agentFields, agentStatus, knowledgeInput, memoryPolicy } from '../../resources/agent.ts';
import { agentIdentityInput, agentIdentityPatch } from '../../resources/agent-identity.ts';
import { agentRef, expectedRevision, namePart, pageOf, paging, plainLine, sortBy } from '../../resources/fields.ts';
import { requireStillAsks } from '../core/access/ask-first.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import type { Principal } from '../core/access/principal.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { requireSteering, steers } from '../core/access/steering.ts';
import { FORBIDDEN, requireNoIssues, ToolError } from '../core/errors.ts';
import { withoutBookkeeping } from '../core/history/history.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';
import { filteredReader, listPage, textFilter } from '../core/registry/paging.ts';
import { looksLikeId } from '../core/registry/record-names.ts';
import { requireUnreferenced } from '../core/registry/references.ts';
import { requireNotDefaultAgent } from '../settings/settings.ts';
import { agentAnswer, managedIssues, maskAgent, mergeIdentity, showAgent, withServerManaged } from './agent-answer.ts';
import { requireProjects, requireSkills } from './agent-references.ts';
import { mayInvoke } from './may-invoke.ts';

/** Segments of paths below /agents that are no agent, such as /agents/health. A test compares them with the routes. */
export const RESERVED_AGENT_NAMES: readonly string[] = ['flows', 'health', 'memory', 'models', 'skills', 'tools'];

export const agentId = agentRef.describe('Agent id (`agt_…`) or name, see list_agents.');
const name = agentFields.name
  .refine((text) => !looksLikeId(text), 'A name may not look like an id.')
  .refine(
    (text) => !RESERVED_AGENT_NAMES.includes(text),
    'The API has the path /agents/<name> for this name; choose another.',
  )
  .describe('Unique among agents that are not deleted. Grants may name the agent by it.');
const { remember, maxInjected } = memoryPolicy.shape;
const NO_MEMORY = { remember: false, maxInjected: 20 };
const newMemoryPolicy = z.strictObject({
  remember: remember.default(NO_MEMORY.remember),
  maxInjected: maxInjected.default(NO_MEMORY.maxInjected),
});
const memoryPolicyPatch = z.strictObject({ remember: remember.optional(), maxInjected: maxInjected.optional() });

function policyAfter({ memoryPolicy }: Agent, change: z.output<typeof memoryPolicyPatch>): Agent['memoryPolicy'] {
  return {
    remember: change.remember ?? memoryPolicy.remember,
    maxInjected: change.maxInjected ?? memoryPolicy.maxInjected,
  };
}

const listAgents = defineTool({
  name: 'list_agents',
  title: 'List agents',
  description: 'List agents, newest first; deleted ones only with status=deleted. Returns a page with `nextCursor`.',
  keywords:
    'bots, assistants, AI workers, which agents are there, show me all bots, which assistants are running, names of our agents, overview of bots',
  access: { scope: 'agents:read', grant: 'agent:read', narrows: true, selects: { status: 'status', name: 'name' } },
  annotations: READS,
  input: z.strictObject({
    name: agentFields.name.optional(),
    q: namePart.describe('Part of name or displayName, ignoring case.'),
    status: agentStatus.optional(),
    invocable: z.boolean().optional().describe('true: only those that invoke_agent takes from you.'),
    ...sortBy('name', 'displayName'),
    ...paging,
  }),
  output: pageOf(agent),
  errors: [],

  handler({ name, q, invocable, ...input }, { store, principal, server }) {
    const [byId, byName] = whereAllowed<Agent>(principal.rights.limitedTo('agent', 'read'), 'id', 'name') ?? [];
    const any = byId && [byId, ...(byName ? [{ status: ['active', 'paused'], ...byName }] : [])];
    const where = { name, status: input.status ?? ['active', 'paused'] };
    const part = textFilter<Agent>(q, 'name', 'displayName');
    if (!invocable) return listPage(store.agents, input, { where, any, part }, maskAgent);
    const among = filteredReader<Agent>(store.agents, (agent) => mayInvoke(principal, agent, { store, server }));
    return listPage(among, input, { where, any, part, filter: { invocable } }, maskAgent);
  },
});

const getAgent = defineTool({
  name: 'get_agent',
  title: 'Get agent',
  description: 'Read one agent: persona, model, tool allowlist, skills, identity. Reads deleted agents too.',
  keywords:
    'bot details, assistant configuration, persona, allowed tools of an agent, look at one bot, which model and tools does it have',
  access: { scope: 'agents:read', grant: 'agent:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: agentId }),
  output: agentAnswer,
  errors: ['not_found'],

  handler: async ({ id }, { store, server }) => showAgent(await store.agents.read(id), server),
});

const createAgent = defineTool({
  name: 'create_agent',
  title: 'Create agent',
  description: 'Create an agent, active at once. It may use only tools that its allowlist and its caller both allow.',
  keywords:
    'new bot, build an assistant, set up an AI agent, spin up, chatbot, make a new assistant, add a bot, agent for support',
  access: { scope: 'agents:write', grant: 'agent:write' },
  annotations: CREATES,
  input: z.strictObject({
    name,
    displayName: plainLine(agentFields.displayName),
    description: agentFields.description.optional(),
    modelPreference: agentFields.modelPreference.optional(),
    fallbackModels: agentFields.fallbackModels.optional(),
    temperature: agentFields.temperature.optional(),
    maxOutputTokens: agentFields.maxOutputTokens.optional(),
    reasoningEffort: agentFields.reasoningEffort.optional(),
    timeoutSeconds: agentFields.timeoutSeconds.optional(),
    instructions: agentFields.instructions.optional(),
    tools: agentFields.tools.optional(),
    askFirst: agentFields.askFirst.optional(),
    skillIds: agentFields.skillIds.optional(),
    maxSteps: agentFields.maxSteps.default(10),
    memoryPolicy: newMemoryPolicy.default(NO_MEMORY),
    knowledge: knowledgeInput.optional(),
    identity: agentIdentityInput.optional(),
  }),
  output: agentAnswer,
  errors: ['conflict'],

  authorize: ({ tools: entries = [] }, { principal, server: { catalog } }) =>
    requireWithinRights(principal, { tools: { entries, catalog } }),

  async handler({ identity, ...input }, { store, principal, fail, server }) {
    await requireSkills({ store, principal }, input.skillIds, fail);
    await requireProjects({ store, principal, server }, input.knowledge);
    const created = await store.agents.insert({
      ...input,
      ...(input.skillIds && { skillIds: [...new Set(input.skillIds)] }),
      status: 'active',
      ...(identity && Object.keys(identity).length > 0 && { identity: mergeIdentity(undefined, identity) }),
    });
    return showAgent(created, server);
  },
});

const updateAgent = defineTool({
  name: 'update_agent',
  title: 'Update agent',
  description:
    'Change fields of an agent; null clears an optional one, fields of `identity` and `memoryPolicy` are merged. status pauses or resumes it, or revives a deleted one. Returns the agent.',
  keywords:
    'edit a bot, personality, pause, resume, switch model, give a skill or tool to an agent, rename, stop a bot from taking work, deactivate a bot, change the personality, change instructions of one bot, other model for a bot, wake up an agent, ask a person first, ask before it acts, nothing without approval',
  access: { scope: 'agents:write', grant: 'agent:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: agentId,
    name: name.optional(),
    displayName: plainLine(agentFields.displayName).optional(),
    description: agentFields.description.nullable().optional(),
    modelPreference: agentFields.modelPreference.nullable().optional(),
    fallbackModels: agentFields.fallbackModels.optional(),
    temperature: agentFields.temperature.nullable().optional(),
    maxOutputTokens: agentFields.maxOutputTokens.nullable().optional(),
    reasoningEffort: agentFields.reasoningEffort.nullable().optional(),
    timeoutSeconds: agentFields.timeoutSeconds.nullable().optional(),
    status: z.enum(['active', 'paused']).optional(),
    instructions: agentFields.instructions.nullable().optional(),
    tools: agentFields.tools.nullable().optional(),
    askFirst: agentFields.askFirst.optional(),
    skillIds: agentFields.skillIds.nullable().optional(),
    maxSteps: agentFields.maxSteps.optional(),
    memoryPolicy: memoryPolicyPatch.optional(),
    knowledge: knowledgeInput.nullable().optional(),
    identity: agentIdentityPatch.nullable().optional(),
    expectedRevision,
  }),
  output: agentAnswer,
  errors: ['not_found', 'conflict'],

  async authorize({ id, ...change }, { store, principal, server }) {
    const { catalog } = server;
    const current = await store.agents.read(id);
    requireWithinRights(principal, { tools: { entries: change.tools ?? [], catalog } });
    if (change.name !== undefined && change.name !== current.name) requireRenaming(principal);
    if (steers(current, change)) requireSteering({ principal, server }, current);
    requireStillAsks(principal, current.askFirst, change.askFirst);
    const revived = current.status === 'deleted' && revives(change);
    if (revived) requireWithinRights(principal, { tools: { entries: current.tools ?? [], catalog } });
  },

  async handler(
    { id, expectedRevision, identity, memoryPolicy: memory, ...change },
    { store, principal, fail, server },
  ) {
    const current = await store.agents.read(id);
    if (current.status === 'deleted' && !(revives(change) && identity === undefined && memory === undefined)) {
      throw fail(
        'conflict',
        'The agent is deleted; revive it first with {"status": "active"} and, if need be, a name.',
      );
    }
    await requireSkills({ store, principal }, change.skillIds, fail);
    await requireProjects({ store, principal, server }, change.knowledge);
    if (current.status === 'deleted') {
      await requireSkills({ store, principal }, current.skillIds, (_, message) => fail('conflict', message));
    }
    const updated = await store.agents.update(
      id,
      {
        ...change,
        ...(change.skillIds && { skillIds: [...new Set(change.skillIds)] }),
        ...(memory && { memoryPolicy: policyAfter(current, memory) }),
        ...identityChange(current, identity),
      },
      { expectedRevision },
    );
    return showAgent(updated, server);
  },
});

const deleteAgent = defineTool({
  name: 'delete_agent',
  title: 'Delete agent',
  description:
    'Soft-delete an agent: it takes no more work, its name is free again, update_agent {status: "active"} revives it. Returns the agent.',
  keywords: 'remove a bot, retire an assistant, get rid of, throw away a bot',
  access: { scope: 'agents:write', grant: 'agent:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: agentId, expectedRevision }),
  output: agentAnswer,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, context) {
    const { store, server } = context;
    await requireNotDefaultAgent(context, id);
    const deleted = await store.agents.update(id, { status: 'deleted' }, { expectedRevision, kind: 'delete' });
    return showAgent(deleted, server);
  },
});

export const agentTools = [listAgents, getAgent, createAgent, updateAgent, deleteAgent];

export const agentKind = defineKind({
  type: 'agent',
  collection: 'agents',
  list: listAgents,
  get: getAgent,
  update: updateAgent,
  delete: deleteAgent,
  names: ['id', 'name'],
  search: { where: { status: ['active', 'paused'] } },
  history: {
    allowlist: 'tools',
    payload: (record) => withoutBookkeeping(maskAgent(record)),

    authorizeRestore(record, current, { principal, server }) {
      if (current && record.name !== current.name) requireRenaming(principal);
      const live = current !== undefined && current.status !== 'deleted';
      // Members that the restored state lacks are removed from the agent.
      const absent = {
        description: null,
        instructions: null,
        tools: null,
        askFirst: null,
        skillIds: null,
        modelPreference: null,
        fallbackModels: null,
      };
      requireStillAsks(principal, current?.askFirst, record.askFirst ?? []);
      if (!live) requireWithinRights(principal, { tools: { entries: record.tools ?? [], catalog: server.catalog } });
      else if (steers(current, { ...absent, ...record })) requireSteering({ principal, server }, current, record);
    },

    async prepareRestore(record, current, { store, principal, fail }) {
      await requireSkills({ store, principal }, record.skillIds, (_, message) => fail('conflict', message));
      const { identity: kept, ...rest } = record;
      const identity = withServerManaged(kept ?? {}, current?.identity);
      return Object.keys(identity).length > 0 ? { ...rest, identity } : rest;
    },
  },

  async purge(id, context) {
    await requireNotDefaultAgent(context, id);
    await requireUnreferenced(context, 'agent', id);
    return context.store.purge('agents', id);
  },
});

function revives({
  status,
  name: _,
  ...rest
}: {
  readonly status?: string | undefined;
  readonly name?: unknown;
}): boolean {
  return status === 'active' && Object.values(rest).every((value) => value === undefined);
}

/** A grant may name the agent by its name, so a new name would change what such grants allow. */
function requireRenaming({ rights }: Principal): void {
  if (rights.allows({ scope: 'agents:write', needs: [{ resource: 'agent', op: 'write' }] })) return;
  throw new ToolError('forbidden', FORBIDDEN, { required: { scope: 'agents:write', grant: 'agent:write' } });
}

function identityChange(current: Agent, change: z.output<typeof agentIdentityPatch> | null | undefined) {
  if (change === undefined) return {};
  const issues = change ? managedIssues(current.identity, change) : [];
  requireNoIssues(issues);
  const identity = change === null ? withServerManaged({}, current.identity) : mergeIdentity(current.identity, change);
  return { identity: Object.keys(identity).length > 0 ? identity : null };
}
