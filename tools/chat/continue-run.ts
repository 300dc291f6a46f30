import type { Agent } from '../../resources/agent.ts';
import type { AgentRun, AgentRunRecord } from '../../resources/agent-run.ts';
import type { Readers, Writers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { makerKeyOf } from '../core/access/visibility.ts';
import { invalidMember, ToolError } from '../core/errors.ts';
import { firstOpen } from '../core/registry/approvals.ts';
import type { Context } from '../core/registry/context.ts';
import type { Fail } from '../core/registry/define-tool.ts';
import { handOver } from '../runs/run-records.ts';
import { openRun } from '../runs/visible-runs.ts';

interface TurnInput {
  readonly message?: string | undefined;
  readonly threadId?: string | undefined;
  readonly continue?: string | undefined;
  readonly attachments?: readonly unknown[] | undefined;
}

/** What the model is told in place of a message. What it was asked is among the earlier messages. */
export const CONTINUE_PROMPT =
  'Your turn was cut off before it was complete. Finish it from where it ended. Calls that are not shown above may have been made all the same: look before you make them again.';

/** The same after a call waited for a person. */
export const DECIDED_PROMPT =
  'A person has now decided about the calls of yours that waited. What came of them is shown above. Go on with what you were asked.';

/** @throws ToolError (invalid_input) unless there is either a message, or a run to continue with and its thread */
export function requireOneTurn(asked: TurnInput): void {
  const { continue: runId, threadId, attachments = [] } = asked;
  const message = asked.message ?? (attachments.length > 0 ? '' : undefined);
  if ((message === undefined) === (runId === undefined)) {
    const text =
      runId === undefined
        ? 'Give a message, or `continue` with the run to finish.'
        : 'Give `message` or `continue`, not both.';
    throw new ToolError('invalid_input', text, { issues: [{ path: 'message', message: text }] });
  }
  if (runId !== undefined && threadId === undefined) {
    throw invalidMember('threadId', 'Give the thread of the run too, as the error named it.');
  }
}

interface Continuing {
  readonly id: string;
  readonly threadId: string;
  readonly principal: Principal;
  readonly now: Date;
}

/** The run to finish. @throws not_found if the thread lacks it, conflict if it is in progress or was followed by another */
export async function runToContinue(
  { agentRuns, approvals }: Pick<Readers, 'agentRuns' | 'approvals'>,
  { id, threadId, principal, now }: Continuing,
  fail: Fail<'not_found' | 'conflict'>,
): Promise<AgentRunRecord> {
  const run = await agentRuns.get(id);
  if (run?.threadId !== threadId)
    throw fail('not_found', `The thread ${threadId} has no run ${id}; list_messages shows what it has.`);
  const said = { runId: id, threadId };
  if (run.status === 'running') {
    throw fail('conflict', `The run ${id} is under way; wait for its end, or end it with cancel_agent_run.`, said);
  }
  if (run.status === 'succeeded') {
    throw fail('conflict', `The run ${id} was finished; list_messages {"id": "${threadId}"} shows its answer.`, said);
  }
  const { waitsFor } = run;
  requireSameCaller(run, { principal, fail });
  const open = run.status === 'waiting' ? await firstOpen({ approvals }, waitsFor, now) : undefined;
  if (open !== undefined) {
    throw fail('conflict', `The run ${id} waits for the approval ${open}, and goes on by itself after that.`, said);
  }
  const newest = await agentRuns.first({ where: { threadId } });
  if (newest && newest.id !== id) {
    throw fail('conflict', `The thread went on with the run ${newest.id}; continue that one, or send a message.`, {
      ...said,
      runId: newest.id,
    });
  }
  return run;
}

/** @throws conflict where calls of the run waited for a person, and another one asked for them */
function requireSameCaller(
  { id, threadId, makerKey, resumesAs: as }: AgentRunRecord,
  { principal, fail }: { readonly principal: Principal; readonly fail: Fail<'conflict'> },
): void {
  // An agent acts for many, so that its id alone does not tell for whom.
  const isOwn = as?.type !== 'agent' || makerKey === makerKeyOf(principal);
  if (!as || (as.type === principal.type && as.id === principal.id && isOwn)) return;
  const said = { runId: id, ...(threadId !== undefined && { threadId }) };
  throw fail('conflict', `Calls of the run ${id} waited for a person; only ${as.name} goes on with it.`, said);
}

type FinishContext = Pick<Context<Readers, 'not_found' | 'conflict'>, 'store' | 'principal' | 'fail'>;

/** The run without a thread that another one can finish. @throws not_found, conflict */
export async function runToFinish(
  id: string,
  agent: Pick<Agent, 'id' | 'name'>,
  context: FinishContext,
): Promise<AgentRunRecord> {
  const { store, principal, fail } = context;
  const named = await store.agentRuns.get(id);
  // Who may invoke agents and read none goes on with its own runs all the same.
  const seen = named && isOwnRun(named, principal) ? named : await openRun(context, id);
  const run = await newestOf(seen, context);
  if (run.kind !== 'invoke' || run.agentId !== agent.id) {
    throw fail(
      'conflict',
      `The run ${run.id} is not one that invoke_agent began with ${agent.name}; get_agent_run shows what it is.`,
    );
  }
  if (run.status === 'running') {
    throw fail('conflict', `The run ${run.id} is under way; wait for its end, or end it with cancel_agent_run.`, {
      runId: run.id,
    });
  }
  requireSameCaller(run, context);
  if (run.status === 'succeeded')
    throw fail('conflict', `The run ${run.id} was finished; ask anew without \`continue\`.`, { runId: run.id });
  return withEarlierCalls(run, context);
}

function isOwnRun({ principal: by, makerKey }: AgentRunRecord, principal: Principal): boolean {
  return by.type === principal.type && by.id === principal.id && makerKey === makerKeyOf(principal);
}

/** Makes what waited in the run the business of another one. @throws conflict where, since it was read, another call went on with it or somebody cancelled it */
export async function takeOver(
  store: Pick<Writers, 'agentRuns'>,
  read: AgentRunRecord,
  { server, fail }: Pick<Context<Readers, 'conflict'>, 'server' | 'fail'>,
): Promise<void> {
  const { id, continuedBy, waitsFor } = await store.agentRuns.read(read.id);
  if (continuedBy !== read.continuedBy || (read.waitsFor && !waitsFor)) throw fail('conflict', WENT_ON, { runId: id });
  await handOver(store, read, server.now());
}

const WENT_ON = 'Another call goes on with this run already; get_agent_run shows what came of it.';

/** The run, or the newest of those by which its caller went on with it: what waited for a person is there. */
async function newestOf(run: AgentRunRecord, { store }: Pick<FinishContext, 'store'>): Promise<AgentRunRecord> {
  let newest = run;
  for (;;) {
    const { id, continuedBy } = newest;
    const next = continuedBy === undefined ? undefined : await store.agentRuns.get(continuedBy);
    if (next?.continues !== id || next.makerKey !== run.makerKey) return newest;
    newest = next;
  }
}

/** More calls of the run are not told. */
const MOST_TOLD = 50;

/** The run with the calls of those that it went on with too. */
export async function withEarlierCalls(
  run: AgentRunRecord,
  { store }: Pick<FinishContext, 'store'>,
): Promise<AgentRunRecord> {
  const calls = [...(run.calls ?? [])];
  let id = run.continues;
  for (let runs = 1; id !== undefined && runs < MOST_TOLD && calls.length < MOST_TOLD; runs += 1) {
    const before = await store.agentRuns.get(id);
    calls.unshift(...(before?.calls ?? []));
    id = before?.continues;
  }
  return { ...run, calls };
}

/** What the agent is told of the run, of which nothing that was said is kept. */
export function continuationPrompt({ id, calls = [] }: Pick<AgentRun, 'id' | 'calls'>): string {
  const lines = calls.slice(-MOST_TOLD).map(({ tool, outcome, code, records }) => {
    const about = records.length > 0 ? ` (${records.map((record) => record.id).join(', ')})` : '';
    return `- ${tool}: ${code ?? outcome}${about}`;
  });
  const made = lines.length > 0 ? `It made these calls:\n${lines.join('\n')}` : 'No call of it is known.';
  return `You worked on this before, in the run ${id}, which was cut off. ${made}\nIts last calls may be missing here: look before you make a call again.`;
}
