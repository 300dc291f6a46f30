import { z } from 'zod';
import {
  type AgentRun,
  agentRun,
  agentRunStatus,
  agentTurn,
  type RecordRevision,
  wholeAgentRun,
} from '../../resources/agent-run.ts';
import { BOT_CONFIG_ID } from '../../resources/bot-config.ts';
import { agentRef, instant, pageOf, paging, recordId, time } from '../../resources/fields.ts';
import { orAgentName, refTo } from '../../resources/markers.ts';
import { message } from '../../resources/message.ts';
import { collections } from '../../store/collections.ts';
import type { Readers } from '../../store/port.ts';
import { NAME } from '../core/access/guarded-tool.ts';
import type { Principal } from '../core/access/principal.ts';
import { mayRead } from '../core/access/read-access.ts';
import { makerKeyOf, openThread, threadsSeenBy } from '../core/access/visibility.ts';
import { type Kind, readingTool } from '../core/registry/define-kind.ts';
import { DELETES, defineTool, READS } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import type { Tool } from '../core/registry/tool.ts';
import { pricingFor, runCost, turnCost } from '../usage/run-cost.ts';
import { giveUp, isLost, lostRun } from './run-records.ts';
import { openRun, runsSeenBy } from './visible-runs.ts';

const runId = refTo('agent-run', recordId).describe('Run id (`run_…`), see list_agent_runs.');

const cost = z.number().min(0).nullable().optional();
const priced = {
  cost: cost.describe('In the currency of the workspace, where you may read usage; null: a price is unknown.'),
};

const listAgentRuns = defineTool({
  name: 'list_agent_runs',
  title: 'List agent runs',
  description:
    'List runs of agents, newest first: your own and those of threads you can see, with model, tokens, status and error. get_agent_run has the turns and calls.',
  keywords:
    'executions of bots, what agents did, agent activity, failed runs, traces, agent jobs, what did my bots do last night, recent runs, run history of agents, failed agent executions',
  access: { scope: 'agents:read', grant: 'agent:read', narrows: true, selects: { agentId: NAME } },
  annotations: READS,
  input: z.strictObject({
    agentId: agentRef.optional().describe('Id or name: runs of this agent only.'),
    threadId: refTo('thread', recordId).optional(),
    principal: orAgentName(z.string().max(200))
      .optional()
      .describe('Id of the caller, or of a principal it acted for: key, capsule, admin user, app, flow or agent.'),
    capsuleId: refTo('capsule', recordId).optional(),
    appId: refTo('app', recordId).optional(),
    flowRunId: refTo('flow-run', recordId).optional().describe('Runs that this run of a flow began.'),
    status: agentRunStatus.optional(),
    from: time.optional().describe('Inclusive.'),
    to: time.optional().describe('Exclusive.'),
    ...paging,
  }),
  output: pageOf(agentRun.extend(priced)),
  errors: [],

  async handler({ limit, cursor, includeTotal, from, to, principal: askers, ...where }, { store, principal }) {
    const query = { where: { ...where, askers }, from: from && instant(from), to: to && instant(to) };
    const seen = await runsSeenBy(store, principal);
    const pricing = await pricingFor({ store, principal });
    return listPage(seen, { limit, cursor, includeTotal }, query, (run) => ({ ...run, ...runCost(run, pricing) }));
  },
});

/** Reads a run with what the caller may know of it. */
function getAgentRun(kinds: readonly Kind[]): Tool {
  return defineTool({
    name: 'get_agent_run',
    title: 'Get agent run',
    description:
      'Read one run of an agent: revisions of agent, prompt, skills and memories it had, each turn with model, tokens and time, each call with its audit entry and the records it saw, and how it ended.',
    keywords:
      'trace of an execution, steps and tool calls of a run, debug an agent, inspect a turn, look into one execution step by step, run trace, what did the agent do in this run',
    access: { scope: 'agents:read', grant: 'agent:read:{id}' },
    annotations: READS,
    input: z.strictObject({ id: runId }),
    output: shownRun,
    errors: ['not_found'],

    async handler({ id }, context) {
      return showRun(await openRun(context, id), { ...context, kinds });
    },
  });
}

const cancelAgentRun = defineTool({
  name: 'cancel_agent_run',
  title: 'Cancel agent run',
  description:
    'End a run of an agent that is under way, within 2 seconds; a call of a tool under way may still finish. Your own runs; with admin rights all.',
  keywords: 'abort, stop a busy bot, kill a running agent, interrupt, stuck, cancel run, stop an agent run',
  access: { scope: 'chat:write', grant: 'agent:invoke:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: runId }),
  output: agentRun,
  errors: ['not_found', 'conflict'],

  async handler({ id }, { store, principal, server, fail }) {
    const run = await store.agentRuns.get(id);
    if (!run || !(principal.rights.isAdmin || run.makerKey === makerKeyOf(principal))) {
      throw fail('not_found', `You have no run ${id}; list_agent_runs shows your runs, and an admin can end all.`);
    }
    if (run.status === 'cancelled') return run;
    const now = server.now();
    if (run.status === 'waiting') return giveUp(store, run, now);
    if (run.status !== 'running') throw fail('conflict', `The run has already ended: ${run.status}.`);
    return store.agentRuns.update(id, isLost(run, server.models.runMs, now) ? lostRun(now) : { cancelAsked: true });
  },
});

function explainAnswer(kinds: readonly Kind[]): Tool {
  return defineTool({
    name: 'explain_answer',
    title: 'Explain answer',
    description:
      'Find out what a message of an agent rests on: its run with the prompt, skills, memories and passages given, and every call made, each with its audit entry and the records it saw in the revision it saw. get_version shows these.',
    keywords:
      'why did it say that, sources, citations, evidence, provenance, where does an answer come from, hallucination, why did the bot say that, evidence behind a reply, why this answer, verify an answer',
    access: { scope: 'threads:read', grant: 'thread:read:{messageId}' },
    annotations: READS,
    input: z.strictObject({
      messageId: refTo('message', recordId).describe(
        'Id of a message that an agent wrote (`msg_…`), see list_messages.',
      ),
    }),
    output: z.object({
      message,
      run: shownRun
        .optional()
        .describe('Absent if the message was not written by a run, or its run is no longer kept or not yours to see.'),
    }),
    errors: ['not_found'],

    async handler({ messageId }, context) {
      const { store, principal, fail } = context;
      const unknown = () =>
        fail('not_found', `There is no message ${messageId}; list_messages shows those of a thread.`);
      const found = await store.messages.get(messageId);
      if (!found) throw unknown();
      await openThread({ store, principal, fail: unknown }, found.threadId);
      const run = found.runId === undefined ? undefined : await runInThreads(found.runId, context);
      return { message: found, ...(run && { run: await showRun(run, { ...context, kinds }) }) };
    },
  });
}

/** The run, if the caller may read its thread, which for the message of a fork is another one. */
async function runInThreads(
  id: string,
  { store, principal }: { readonly store: Readers; readonly principal: Principal },
) {
  const run = await store.agentRuns.get(id);
  if (run?.threadId === undefined) return undefined;
  const isSeen = (await threadsSeenBy(store, principal).count({ where: { id: run.threadId } })) > 0;
  return isSeen ? run : undefined;
}

export function agentRunTools(kinds: readonly Kind[]): Tool[] {
  return [listAgentRuns, getAgentRun(kinds), cancelAgentRun, explainAnswer(kinds)];
}

const shownRun = wholeAgentRun.extend({
  ...priced,
  turns: z.array(agentTurn.extend({ cost })).optional(),
  hidden: z.int().min(0).describe('Records that it was given or saw, and that are deleted or that you may not read.'),
});

/** Leaves out the records that the caller may not read, and counts them. */
async function showRun(
  run: AgentRun,
  {
    store,
    principal,
    kinds,
  }: { readonly store: Readers; readonly principal: Principal; readonly kinds: readonly Kind[] },
): Promise<z.infer<typeof shownRun>> {
  const { prompt, skills = [], memories = [], passages = [], calls = [] } = run;
  const named = [
    ...(prompt ? [prompt] : []),
    ...skills,
    ...memories,
    ...passages,
    ...calls.flatMap(({ records }) => records),
  ];
  const ids = [...new Set(named.map(({ id }) => id))];
  const judged = await Promise.all(ids.map((id) => isReadable(id, { store, principal, kinds })));
  const readable = new Set(ids.filter((_, at) => judged[at]));
  const shown = <Shown extends RecordRevision>(records: readonly Shown[]) =>
    records.filter(({ id }) => readable.has(id));
  const pricing = await pricingFor({ store, principal });
  return {
    ...run,
    ...runCost(run, pricing),
    ...(run.turns && { turns: run.turns.map((turn) => ({ ...turn, ...turnCost(turn, run, pricing) })) }),
    ...(prompt && { prompt: shown([prompt])[0] }),
    skills: shown(skills),
    memories: shown(memories),
    ...(passages.length > 0 && { passages: shown(passages) }),
    calls: calls.map((call) => ({ ...call, records: shown(call.records) })),
    hidden: ids.length - readable.size,
  };
}

/** A deleted record is readable for nobody, because nothing says any more who could read it. */
async function isReadable(
  id: string,
  {
    store,
    principal,
    kinds,
  }: { readonly store: Readers; readonly principal: Principal; readonly kinds: readonly Kind[] },
): Promise<boolean> {
  const kind = kinds.find(({ get, collection }) => get && hasIdsLike(id, collection));
  const record = kind && (await store[kind.collection].get(id));
  if (!kind?.get || !record) return false;
  const tool = readingTool(kind) ?? kind.get;
  return mayRead(principal, tool, 'id' in tool.input.shape ? { id } : {}, record);
}

function hasIdsLike(id: string, collection: Kind['collection']): boolean {
  return collection === 'botConfigs' ? id === BOT_CONFIG_ID : id.startsWith(`${collections[collection].idPrefix}_`);
}
