import type { Agent } from '../../../resources/agent.ts';
import type { AgentRun, WaitingCall } from '../../../resources/agent-run.ts';
import type { Message } from '../../../resources/message.ts';
import type { Readers } from '../../../store/port.ts';
import { ASSISTANT, actingFor } from '../../core/access/agent-principal.ts';
import type { Principal } from '../../core/access/principal.ts';
import { ToolError } from '../../core/errors.ts';
import { callerKeyOf, endOf, openArguments, openSealed } from '../../core/registry/approvals.ts';
import type { ServerContext } from '../../core/registry/context.ts';
import { type AgentTools, type EarlierCall, offeredName, type ToolCall, type ToolResult } from './agent-tools.ts';
import { waitingText } from './loop.ts';
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
  readonly server: Pick<ServerContext, 'catalog' | 'secrets' | 'now'>;
}

/** What the run stops for: it can be continued, and the call is the agent's own, or began a run that waits itself. */
export async function waitingCall(
  { pauses, agent, run }: Pausing,
  { store, principal, server }: Asking,
  { call: { id: toolCallId, tool, input }, result: { waits, inner } }: MadeCall,
): Promise<WaitingCall | undefined> {
  if (!pauses || !waits) return undefined;
  const { approvalId } = waits;
  const sealed = inner && server.secrets?.seal(JSON.stringify(input), placeOf(inner));
  if (inner && sealed !== undefined) return { approvalId, toolCallId, tool, inner: { ...inner, sealed } };
  const acting = actingFor(principal, agent ?? ASSISTANT, server.catalog, run.id);
  const isOwn = (await store.approvals.get(approvalId))?.callerKey === callerKeyOf(acting);
  return isOwn ? { approvalId, toolCallId, tool } : undefined;
}

type InnerRun = NonNullable<WaitingCall['inner']>;

function placeOf({ key }: Pick<InnerRun, 'key'>): string {
  return `agent call ${key}`;
}

/** The arguments of a call that began a run which waits. */
export function openInner(inner: InnerRun, server: Pick<ServerContext, 'secrets'>): unknown {
  return openArguments(inner.sealed, placeOf(inner), server);
}

interface MadeCall {
  readonly call: ToolCall;
  readonly result: ToolResult;
}

interface Running {
  readonly tools: AgentTools;
  readonly reporter: RunReporter;
  readonly signal: AbortSignal;
}

interface Answers {
  readonly messages: Message[];
  /** If there are any, the run stops again, and has noted no answer. */
  readonly waiting: readonly WaitingCall[];
  /** Says what is waited for. */
  readonly text: string;
}

/** Makes the calls that waited, as they were decided. One that is made again after another pause has the answer that was kept. */
export async function answersOf(task: Pausing & Decided, asking: Asking, running: Running): Promise<Answers> {
  const { waited = [], answered } = task;
  const results: ToolResult[] = [];
  const open: MadeCall[] = [];
  const waiting: WaitingCall[] = [];
  for (const call of waited) {
    const decided = await decidedCall(call, asking, running.tools);
    const result = await make(decided, running);
    results.push(result);
    const made = { call: { ...decided.call, ...decided.wanted }, result };
    const waitsAgain = await waitingCall(task, asking, made);
    if (waitsAgain) open.push(made);
    waiting.push(waitsAgain ?? call);
  }
  running.signal.throwIfAborted();
  if (open.length > 0) {
    const calls = open.map(({ call }) => call);
    const text = waitingText(
      calls,
      open.map(({ result }) => result),
    );
    return { messages: [], waiting, text };
  }
  const messages: Message[] = [];
  for (const [at, call] of waited.entries()) {
    const result = results[at];
    const message = result && (await answered?.(call, result));
    if (message) messages.push(message);
  }
  return { messages, waiting: [], text: '' };
}

interface DecidedCall {
  /** As it is shown. */
  readonly call: ToolCall;
  /** As it is made. */
  readonly wanted: Pick<ToolCall, 'tool' | 'input'>;
  readonly before: EarlierCall;
  /** Why it is not made. */
  readonly end?: ToolError | undefined;
}

async function decidedCall(
  waiting: WaitingCall,
  { store, server }: Pick<Asking, 'store' | 'server'>,
  tools: AgentTools,
): Promise<DecidedCall> {
  const { approvalId, toolCallId, tool, inner } = waiting;
  const described = (input: unknown) => tools.describe(toolCallId, offeredName(tool), input);
  if (inner) {
    const input = openInner(inner, server);
    const { key, approvalId: own } = inner;
    return { call: described(input), wanted: { tool, input }, before: { key, approvalId: own } };
  }
  const approval = await store.approvals.get(approvalId);
  const end = approval ? endOf(approval, server.now()) : GONE;
  const input = approval?.sealed === undefined ? undefined : openSealed(approval, server).raw;
  const wanted = { tool: approval?.tool ?? tool, input };
  return { call: described(input), wanted, before: { approvalId }, end };
}

async function make({ call, wanted, before, end }: DecidedCall, running: Running): Promise<ToolResult> {
  const { tools, reporter, signal } = running;
  signal.throwIfAborted();
  reporter.calling(call);
  const result = end ? refused(end) : await tools.run(wanted, before);
  reporter.called(call, result);
  return result;
}

function refused({ message, code }: ToolError): ToolResult {
  return { ok: false, text: JSON.stringify({ error: message, code }) };
}

const GONE = new ToolError('not_found', 'What a person was asked about this call is gone, so it was not made.');
