import type { Agent } from '../../../resources/agent.ts';
import type { AgentRun, WaitingCall } from '../../../resources/agent-run.ts';
import type { Message } from '../../../resources/message.ts';
import type { Readers } from '../../../store/port.ts';
import { ASSISTANT, actingFor } from '../../core/access/agent-principal.ts';
import type { Principal } from '../../core/access/principal.ts';
import { ToolError } from '../../core/errors.ts';
import { callerKeyOf, endOf, openSealed } from '../../core/registry/approvals.ts';
import type { ServerFacts } from '../../core/registry/context.ts';
import { type AgentTools, offeredName, type ToolResult } from './agent-tools.ts';
import type { RunReporter } from './run-reporter.ts';

interface Pausing {
  readonly run: Pick<AgentRun, 'id'>;
  readonly agent: Agent | undefined;
  readonly pauses?: boolean;
}

interface Decided {
  readonly waited?: readonly WaitingCall[] | undefined;
  answered?(call: WaitingCall, result: ToolResult): Promise<Message>;
}

interface Asking {
  readonly store: Pick<Readers, 'approvals'>;
  readonly principal: Principal;
  readonly server: Pick<ServerFacts, 'catalog' | 'secrets' | 'now'>;
}

/** Whether the run stops for the approval: it can be continued, and the call is the agent's own and not one inside of it. */
export async function pauses(
  { pauses: can, agent, run }: Pausing,
  { store, principal, server }: Asking,
  approvalId: string,
): Promise<boolean> {
  const acting = actingFor(principal, agent ?? ASSISTANT, server.catalog, run.id);
  return can === true && (await store.approvals.get(approvalId))?.callerKey === callerKeyOf(acting);
}

interface Running {
  readonly tools: AgentTools;
  readonly reporter: RunReporter;
  readonly signal: AbortSignal;
}

/** Makes the calls that waited, as they were decided: each once, by its approval. What was said no to is an answer to the model too. */
export async function answersOf(
  { waited = [], answered }: Decided,
  { store, server }: Pick<Asking, 'store' | 'server'>,
  { tools, reporter, signal }: Running,
): Promise<Message[]> {
  const messages: Message[] = [];
  for (const waiting of answered ? waited : []) {
    signal.throwIfAborted();
    const approval = await store.approvals.get(waiting.approvalId);
    const end = approval ? endOf(approval, server.now()) : GONE;
    const input = approval?.sealed === undefined ? undefined : openSealed(approval, server).raw;
    const call = tools.describe(waiting.toolCallId, offeredName(waiting.tool), input);
    reporter.calling(call);
    const result = end ? refused(end) : await tools.run({ tool: approval?.tool ?? waiting.tool, input }, approval?.id);
    reporter.called(call, result);
    const message = await answered?.(waiting, result);
    if (message) messages.push(message);
  }
  return messages;
}

function refused({ message, code }: ToolError): ToolResult {
  return { ok: false, text: JSON.stringify({ error: message, code }) };
}

const GONE = new ToolError('not_found', 'What a person was asked about this call is gone, so it was not made.');
