import type { AgentRunRecord } from '../../resources/agent-run.ts';
import type { Message } from '../../resources/message.ts';
import type { Readers, TextSearch } from '../../store/port.ts';
import { openThread } from '../core/access/visibility.ts';
import { ToolError } from '../core/errors.ts';
import type { SteppingContext } from '../core/registry/context.ts';
import { ANSWER_RETENTION_MS, isStoredError, requireSameInput } from '../core/registry/idempotency.ts';
import { endRun, lostRun } from '../runs/run-records.ts';
import { answerOf } from './answer.ts';
import { requireInvoke } from './choose-model.ts';

type Context = SteppingContext<Readers & TextSearch, 'not_found' | 'conflict' | 'interrupted'>;

/** The run that an earlier call under the same key began, if it succeeded or waits. @throws ToolError that ended the run; (interrupted) if it was cut off */
export async function earlierRun({
  store,
  server,
  principal,
  repeat,
  write,
}: Context): Promise<AgentRunRecord | undefined> {
  if (!repeat) return undefined;
  const now = server.now();
  const run = await store.agentRuns.first({ where: { begunBy: repeat.key } });
  // The key of a call that an agent makes stands for that call alone.
  const isOnce = principal.type === 'agent';
  const oldest = new Date(now.getTime() - ANSWER_RETENTION_MS).toISOString();
  if (!run || (!isOnce && run.status !== 'waiting' && run.createdAt < oldest)) return undefined;
  if (!isOnce) requireSameInput(repeat, run.begunWith);
  const { status, error } = run;
  if (status === 'succeeded' || status === 'waiting') return run;
  if (status === 'running') await write((tx) => endRun(tx, run.id, lostRun(now)));
  if (status === 'running' || run.cutOff) throw cutOff(run);
  const isFinal = error && ((isOnce && hasBegun(run)) || isStoredError(error.code));
  if (isFinal) throw new ToolError(error.code, error.message, runDetail(run));
  return undefined;
}

/** Whether it made calls, or one of its calls waited for a person, so that it must not begin anew. */
function hasBegun({ calls = [], continues, stopReason }: AgentRunRecord): boolean {
  return calls.length > 0 || continues !== undefined || stopReason === 'approval';
}

/** The members of an error about the run. */
export function runDetail({ id: runId, threadId }: Pick<AgentRunRecord, 'id' | 'threadId'>) {
  return { runId, ...(threadId !== undefined && { threadId }) };
}

function cutOff(run: AgentRunRecord): ToolError {
  const { id, threadId } = run;
  const said = threadId === undefined ? '' : `, list_messages {"id": "${threadId}"} what was said`;
  const way =
    threadId === undefined
      ? `invoke_agent with the same input and {"continue": "${id}"}`
      : `send_chat_message {"threadId": "${threadId}", "continue": "${id}"}`;
  const message = `The run ${id}, which this call began, was cut off, and is not repeated. get_agent_run shows what it did${said}; ${way} under a new key finishes it.`;
  return new ToolError('interrupted', message, runDetail(run));
}

/** More messages than a run writes in all its turns, with those of others in the same time. */
const MOST_SAID = 2000;

export async function answerInThread(run: AgentRunRecord, context: Context) {
  const { store, principal, fail } = context;
  const { id: runId, agentId, threadId = '', usage, stopReason = 'end' } = run;
  await openThread(context, threadId, 'editor');
  requireInvoke(principal, agentId === undefined ? undefined : await store.agents.get(agentId), fail);
  const since = { where: { threadId }, from: run.createdAt, order: 'oldest', limit: MOST_SAID } as const;
  const said = (await store.messages.find(since)).records.filter((message) => message.runId === runId);
  const message = said.findLast(({ role }) => role === 'assistant');
  if (!message) throw fail('not_found', `The answer of the run ${runId} is no longer in its thread.`);
  return { threadId, message, ...answerOf(run, { calls: callsIn(said), usage, stopReason }) };
}

function callsIn(said: readonly Message[]) {
  const failed = new Set(said.flatMap(({ toolCallId, failed }) => (failed && toolCallId) || []));
  return said.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => ({ ...call, ok: !failed.has(call.id) })));
}
