import { z } from 'zod';
import type { Agent } from '../../resources/agent.ts';
import type { AgentRunRecord, WaitingCall } from '../../resources/agent-run.ts';
import { type Attachment, attachmentsInput } from '../../resources/attachment.ts';
import { agentRef, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { citation, type Message, messageFields } from '../../resources/message.ts';
import {
  cancelled,
  type Earlier,
  LONGEST_ARGUMENTS,
  MOST_REMEMBERED,
  openInner,
  RunEnded,
  RunTrace,
  readOutputSchema,
  runAgent,
  type ToolResult,
} from '../agents/exports.ts';
import type { StagedFiles } from '../attachments/stage.ts';
import { requireShallow } from '../core/access/agent-principal.ts';
import { requireRoom } from '../core/access/storage.ts';
import { ToolError } from '../core/errors.ts';
import { shownArguments } from '../core/history/audit-entry.ts';
import { fence } from '../core/models/prompt-sections.ts';
import { approvalPage, firstOpen, isCredential } from '../core/registry/approvals.ts';
import { ACTS_OUTSIDE, defineTool } from '../core/registry/define-tool.ts';
import {
  beginRun,
  endRun,
  failed,
  noteAnswered,
  pauseRun,
  saveTrace,
  succeeded,
  waiting,
} from '../runs/run-records.ts';
import { answerOf, fallbackModelsInput, LONGEST_INPUT, maxTokensInput, modelInput, runAnswer } from './answer.ts';
import type { ChatContext } from './begin-chat.ts';
import { type ChosenModel, chooseModel, findAgentToRun, modelChoice, modelsOfTask } from './choose-model.ts';
import { continuationPrompt, DECIDED_PROMPT, runToFinish, takeOver, withEarlierCalls } from './continue-run.ts';
import { earlierRun, runDetail } from './idempotent-run.ts';
import { attachmentsOf, readerOf, stageFor, type WithLatest, withLatestFiles } from './message-files.ts';
import { agentReached } from './reached-agent.ts';
import { type NewMessage, resultMessage } from './step-messages.ts';

const earlierMessage = z.strictObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: messageFields.content,
  attachments: attachmentsInput.optional(),
});

const input = z.strictObject({
  agent: agentRef.describe('Id or name, see list_agents. Also as `agentId`.'),
  input: z.string().trim().min(1).max(LONGEST_INPUT).describe('What the agent is to do or answer. Also as `message`.'),
  attachments: attachmentsInput.optional(),
  outputSchema: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('JSON Schema of an object, the form of `output`. Plain keywords, no $ref and no pattern.'),
  history: z.array(earlierMessage).max(MOST_REMEMBERED).optional().describe('What was said before, oldest first.'),
  model: modelInput.optional(),
  fallbackModels: fallbackModelsInput.optional(),
  maxTokens: maxTokensInput.optional(),
  continue: refTo('agent-run', recordId)
    .optional()
    .describe(
      'A run of it that was cut off, failed or waited for a person (`runId` of the error): it is told which calls it made. Give the same `input` and `history`.',
    ),
});
type Input = z.output<typeof input>;
type Context = ChatContext;

export const invokeAgent = defineTool({
  name: 'invoke_agent',
  title: 'Invoke agent',
  description:
    'Give an agent one piece of work, without a thread, and get its answer, on request in the form of a JSON Schema. It calls its tools with your rights. Agents may call agents, 3 deep.',
  keywords:
    'run an agent once, one-off prompt, ask an assistant, delegate to another agent, call a sub-agent, generate text, summarise, let one bot ask another, hand a question to an agent, use an agent for one task, run agent, ask an expert bot',
  access: { scope: 'chat:write', grant: 'agent:invoke:{agent}' },
  annotations: ACTS_OUTSIDE,
  inSteps: true,
  bulk: true, // as many earlier messages as an agent remembers, each with files
  findsBegun: true,
  reaches: agentReached,
  boundTo: { fallbackModels: 'model' },
  aliases: { agentId: 'agent', message: 'input' },
  input,
  output: z.object({
    ...runAnswer,
    agentId: recordId,
    text: z.string().describe('The answer as it was given.'),
    output: z.unknown().optional().describe('The answer in the form of `outputSchema`.'),
    citations: z.array(citation).optional().describe('The passages of documents that the text names as `[number]`.'),
  }),
  errors: ['not_found', 'conflict', 'interrupted', 'too_large', 'unsupported_media_type'],

  async handler(asked, context) {
    requireShallow(context.principal);
    const { store, server, fail } = context;
    const before = await earlierRun(context);
    if (before && before.status !== 'waiting') {
      const message = `The run ${before.id}, which this call began, succeeded, but ${ANSWER_LOST}`;
      throw fail('interrupted', message, runDetail(before));
    }
    const outputSchema = asked.outputSchema && readOutputSchema(asked.outputSchema);
    const agent = await findAgentToRun(store, asked.agent, fail);
    if (before && before.agentId !== agent.id)
      throw fail('conflict', `The run ${before.id} is one of another agent than ${agent.name}.`, runDetail(before));
    const continued = asked.continue === undefined ? undefined : await runToFinish(asked.continue, agent, context);
    const named = modelChoice(asked, continued, server.models);
    const chosen = await chooseModel({ store, models: server.models, fail }, named, agent);
    await requireRoom(0, context);
    await server.budgets?.requireRoom({ principal: context.principal, agentId: agent.id, model: chosen.id });
    const history = withLatestFiles(asked.history);
    const staged = await stageFor({ attachments: asked.attachments, history }, chosen, context);
    const { earlier, attachments } = conversationIn(history, attachmentsOf(staged));
    const about = { about: asked.input, outputSchema, maxTokens: named.maxTokens };
    const wished = joined([asked.input, wishesIn(history)]);
    const work = { agent, named, chosen, ...about, earlier, attachments, staged };
    const text = joined([wished, continued && continuationPrompt(continued)]);
    // Nothing of what is said without a thread is kept, so its files go with the call.
    const waited = before ? await withEarlierCalls(before, context) : continued?.waitsFor && continued;
    const run = waited
      ? goOn(waited, { ...work, text: wished }, context)
      : invoke({ ...work, text, continued }, context);
    return run.finally(() => staged.discard());
  },
});

/** Goes on with the run whose calls waited for a person, once all are decided. What was said in it is not kept, so the agent is told what it did. */
async function goOn(run: AgentRunRecord, work: Omit<Work, 'continued'>, context: Context) {
  const { store, server } = context;
  const { waitsFor: calls = [] } = run;
  const open = await firstOpen(store, calls, server.now());
  if (open !== undefined) throw await waitsFor(run, open, context);
  const toolCalls = await Promise.all(
    calls.map(async (call) => ({ id: call.toolCallId, tool: call.tool, arguments: await argumentsOf(call, context) })),
  );
  const { attachments = [] } = work;
  const files = attachments.length > 0 ? { attachments: [...attachments] } : {};
  const asked = [
    said({ role: 'user', content: work.text, ...files }),
    said({ role: 'assistant', content: '', toolCalls }),
  ];
  const messages = [...work.earlier.messages, ...asked];
  const earlier = { messages, count: messages.length };
  return invoke(
    { ...work, attachments: [], text: `${continuationPrompt(run)}\n\n${DECIDED_PROMPT}`, continued: run, earlier },
    context,
  );
}

/** As they may be shown. */
async function argumentsOf({ approvalId, tool, inner }: WaitingCall, { store, server }: Context) {
  const known = inner && server.catalog.get(tool)?.tool;
  if (!inner || !known) return (await store.approvals.get(approvalId))?.arguments ?? {};
  return shownArguments(known, openInner(inner, server), { tools: server.catalog, longest: LONGEST_ARGUMENTS });
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join('\n\n');
}

type EarlierMessages = readonly WithLatest<NonNullable<Input['history']>[number]>[];

/** The messages before, each with its files, and the files of the text, which come last. */
function conversationIn(history: EarlierMessages, files: readonly Attachment[]) {
  const left = [...files];
  const messages = history
    .map(({ role, content, attachments, leftOut }) => ({
      role,
      content: [content, noteOf(leftOut.length)].filter((part) => part.trim() !== '').join('\n\n'),
      own: left.splice(0, attachments.length),
    }))
    .filter(({ role, content, own }) => role !== 'system' && (content.trim() !== '' || own.length > 0))
    .map(({ role, content, own }) => said({ role, content, ...(own.length > 0 && { attachments: own }) }));
  const earlier: Earlier = { messages, count: messages.length };
  return { earlier, attachments: left };
}

/** As the notes of threads say it. */
function noteOf(leftOut: number): string {
  if (leftOut === 0) return '';
  return `(${leftOut === 1 ? 'A file' : `${leftOut} files`} that came with this are not shown any more, to save space.)`;
}

/** What the client application wants. It counts below the instructions of the agent, so it stands beside what is asked. */
function wishesIn(history: EarlierMessages): string | undefined {
  const wishes = history.filter(({ role, content }) => role === 'system' && content.trim() !== '');
  if (wishes.length === 0) return undefined;
  const text = wishes.map(({ content }) => content).join('\n\n');
  return `${WISHES}\n${fence({ kind: 'client', id: 'application', text })}`;
}

const WISHES =
  'The application in which this is asked wants the following. Heed it where your instructions leave it open; it changes none of them.';

/** A message that is in no thread. */
function said(message: NewMessage): Message {
  return { id: '', threadId: '', createdAt: '', ...message };
}

/** The run is kept as one that waits. */
class Waits extends ToolError {}

async function waitsFor(run: AgentRunRecord, approvalId: string, { store, server }: Pick<Context, 'store' | 'server'>) {
  const { expiresAt } = (await store.approvals.get(approvalId)) ?? {};
  const url = approvalPage(server, approvalId);
  const message = `A call of the agent waits for approval, see ${url}.${wayBack(run)}`;
  return new Waits('approval_required', message, { approval: { approvalId, expiresAt, url }, ...runDetail(run) });
}

/** How the caller gets the answer. A flow and an agent come back by themselves. */
function wayBack({ id, resumesAs, begunBy }: AgentRunRecord): string {
  if (resumesAs?.type === 'flow' || resumesAs?.type === 'agent') return '';
  const key = begunBy === undefined ? '' : ', or the same call under its key,';
  return ` When that one has decided, invoke_agent with the same input and {"continue": "${id}"}${key} goes on and answers; get_agent_run {"id": "${id}"} shows how it stands.`;
}

/** Only the calls of such a run are stored. */
const ANSWER_LOST = 'its answer is kept nowhere. get_agent_run shows what it did; use a new key to ask again.';

interface Work {
  readonly agent: Agent;
  /** What the call says of models. */
  readonly named: ReturnType<typeof modelChoice>;
  readonly chosen: ChosenModel;
  readonly text: Input['input'];
  /** The text without what is told of an earlier run. */
  readonly about: string;
  readonly outputSchema: ReturnType<typeof readOutputSchema> | undefined;
  readonly continued: AgentRunRecord | undefined;
  /** The conversation before the text, and the messages of the run before where calls of it waited for a person. */
  readonly earlier: Earlier;
  readonly maxTokens: number | undefined;
  readonly staged: StagedFiles;
  /** Of the text. */
  readonly attachments?: readonly Attachment[];
}

/** Runs the agent. What its calls did and how the run ended is stored; what was said is not. */
async function invoke(
  { agent, named, chosen, text, about, outputSchema, continued, staged, ...more }: Work,
  context: Context,
) {
  const { principal, server, store, door, write } = context;
  const run = await write(async (store) => {
    const { id: continues, waitsFor, resumesAs } = continued ?? {};
    if (continued) await takeOver(store, continued, context);
    const going = { continues, ...(waitsFor && { waitsFor, resumesAs }) };
    const begun = await beginRun(store, { kind: 'invoke', agent, model: chosen.id, chosen: named, ...going }, context);
    if (continued) await store.agentRuns.touch(continued.id, { continuedBy: begun.id });
    return begun;
  });
  const trace = new RunTrace();
  const stepped = async () => void (await write((store) => saveTrace(store, run, trace)));
  const answered = async (call: WaitingCall, result: ToolResult) => {
    await write((store) => noteAnswered(store, run.id, { call, trace, now: server.now() }));
    return said(resultMessage(call.toolCallId, result));
  };
  // The answer is kept nowhere, so somebody has to come back for it.
  const isInside = principal.type === 'flow' || principal.type === 'agent';
  const pauses = isInside ? context.repeat !== undefined : door !== 'openai' && isCredential(principal);
  const waited = { pauses, waited: run.waitsFor, answered };
  const models = { ...modelsOfTask(chosen), readFile: readerOf(staged.files, context) };
  const task = { run, trace, agent, ...models, text, about, outputSchema, ...more, stepped, ...waited };
  try {
    const outcome = await runAgent(task, context);
    const [first] = outcome.waiting ?? [];
    if (first) {
      const paused = waiting(outcome, trace, principal);
      const kept = await write((store) => pauseRun(store, run, paused, server.now()));
      if (kept.status !== 'waiting') throw new RunEnded('cancelled', cancelled());
      throw await waitsFor(kept, (await firstOpen(store, kept.waitsFor, server.now())) ?? first.approvalId, context);
    }
    await write((store) => store.agentRuns.update(run.id, succeeded(outcome, trace, server.now())));
    const { text: words, output, citations } = outcome;
    return {
      ...answerOf(run, outcome),
      agentId: agent.id,
      text: words,
      ...(output !== undefined && { output }),
      ...(citations.length > 0 && { citations: [...citations] }),
    };
  } catch (thrown) {
    if (thrown instanceof Waits) throw thrown;
    const { error, change } = failed(thrown, trace, server.now());
    // Where not even that can be stored, the repeat of the call ends the run.
    await write((store) => endRun(store, run.id, change)).catch(() => {});
    throw error.with(runDetail(run));
  }
}
