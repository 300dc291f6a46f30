import { z } from 'zod';
import type { Agent } from '../../resources/agent.ts';
import type { WaitingCall } from '../../resources/agent-run.ts';
import { attachmentsInput } from '../../resources/attachment.ts';
import { agentRef, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { type Message, message as messageSchema } from '../../resources/message.ts';
import type { ThreadSummary } from '../../resources/thread.ts';
import {
  cancelled,
  RunEnded,
  type RunOutcome,
  RunTrace,
  runAgent,
  type Step,
  type ToolResult,
} from '../agents/exports.ts';
import { requireShallow } from '../core/access/agent-principal.ts';
import type { Access } from '../core/access/guarded-tool.ts';
import { requireRoom } from '../core/access/storage.ts';
import { openThread } from '../core/access/visibility.ts';
import { ToolError } from '../core/errors.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import { isCredential } from '../core/registry/approvals.ts';
import { ACTS_OUTSIDE, defineTool } from '../core/registry/define-tool.ts';
import { endRun, failed, noteAnswered, pauseRun, saveTrace, succeeded, waiting } from '../runs/run-records.ts';
import { appendMessages } from '../threads/messages.ts';
import { answerOf, fallbackModelsInput, LONGEST_INPUT, maxTokensInput, modelInput, runAnswer } from './answer.ts';
import { begin, type ChatContext, type StartedChat } from './begin-chat.ts';
import {
  type ChosenModel,
  chooseModel,
  findAgentToRun,
  modelChoice,
  modelsOfTask,
  requireInvoke,
  usualAgentId,
} from './choose-model.ts';
import { CONTINUE_PROMPT, DECIDED_PROMPT, requireOneTurn, runToContinue } from './continue-run.ts';
import { answerInThread, earlierRun } from './idempotent-run.ts';
import { readerOf, stageFor } from './message-files.ts';
import { agentReached } from './reached-agent.ts';
import { type NewMessage, resultMessage, stepMessages } from './step-messages.ts';

const input = z.strictObject({
  message: z.string().trim().min(1).max(LONGEST_INPUT).optional().describe('What to say, also as `input`.'),
  attachments: attachmentsInput.optional(),
  continue: refTo('agent-run', recordId)
    .optional()
    .describe(
      'Instead of `message`, with `threadId`: the run that was cut off or failed (`runId` of the error), whose turn is to be finished.',
    ),
  threadId: recordId.optional().describe('Continue this thread. Default: a new one, titled from the message.'),
  agentId: agentRef
    .optional()
    .describe(
      'Id or name, also as `agent`. Default: the agent of the thread, else that of the settings, else an assistant without tools.',
    ),
  model: modelInput.optional(),
  fallbackModels: fallbackModelsInput.optional(),
  maxTokens: maxTokensInput.optional(),
  stream: z.boolean().optional().describe('Over REST: answer with server-sent events.'),
});
type Input = z.output<typeof input>;

const SCOPE = 'chat:write';
const THREAD = ['thread:read:{threadId}', 'thread:write:{threadId}'];
const NAMED: Access = { scope: SCOPE, grant: 'agent:invoke:{agentId}' };
const NAMED_IN_THREAD: Access = { scope: SCOPE, grant: [...THREAD, 'agent:invoke:{agentId}'] };
/** The handler finds out which agent is meant, and checks that the caller may invoke it. */
const USUAL: Access = { scope: SCOPE, grant: 'agent:invoke', narrows: true };
const USUAL_IN_THREAD: Access = { scope: SCOPE, grant: [...THREAD, 'agent:invoke'], narrows: true };

export const sendChatMessage = defineTool({
  name: 'send_chat_message',
  title: 'Send chat message',
  description:
    'Say something to an agent in a new or existing thread and get its answer; it may call its tools on the way, with your rights. For one question without a thread use invoke_agent.',
  keywords:
    'talk to a bot, chat with an agent, chat, ask a follow-up, reply, say hello, continue a conversation, prompt, chat, message a bot, ask a bot in a conversation, answer in a chat',
  access: {
    among: [NAMED, NAMED_IN_THREAD, USUAL, USUAL_IN_THREAD],
    whole: { scope: SCOPE, grant: ['thread:read', 'thread:write', 'agent:invoke'] },
    of(given: Partial<Input>) {
      if (given.agentId !== undefined) return given.threadId === undefined ? NAMED : NAMED_IN_THREAD;
      return given.threadId === undefined ? USUAL : USUAL_IN_THREAD;
    },
  },
  annotations: ACTS_OUTSIDE,
  inSteps: true,
  findsBegun: true,
  continuesThreads: true,
  streams: true,
  reaches: agentReached,
  boundTo: { fallbackModels: 'model' },
  aliases: { agent: 'agentId', input: 'message' },
  input,
  output: z.object({ threadId: recordId, message: messageSchema, ...runAnswer }),
  errors: ['not_found', 'conflict', 'interrupted', 'too_large', 'unsupported_media_type'],

  async handler(given, context) {
    requireShallow(context.principal);
    const before = await earlierRun(context);
    if (before) return answerInThread(before, context);
    requireOneTurn(given);
    const { agent, continued } = await partsOf(given, context);
    requireInvoke(context.principal, agent, context.fail);
    const { store, server, fail } = context;
    const asked = { ...given, ...modelChoice(given, continued, server.models) };
    const model = await chooseModel({ store, models: server.models, fail }, asked, agent);
    await requireRoom(0, context);
    await server.budgets?.requireRoom({ principal: context.principal, agentId: agent?.id, model: model.id });
    const staged = await stageFor({ attachments: asked.attachments }, model, context);
    // Those that did not become files of the thread are removed before the agent works.
    const begun = await begin(asked, { agent, model, staged }, context).finally(() => staged.discard());
    const prompt = begun.run.waitsFor ? DECIDED_PROMPT : CONTINUE_PROMPT;
    const text = asked.message ?? (staged.files.length > 0 ? '' : prompt);
    return new Chat(context, agent, begun).run(text, { ...model, maxTokens: asked.maxTokens });
  },
});

/** The thread is checked first, so that callers who may not see it learn nothing about it. */
async function partsOf({ agentId, threadId, continue: asked }: Input, context: ChatContext) {
  const { store, principal, server, fail } = context;
  const thread = threadId === undefined ? undefined : await openThread(context, threadId, 'editor');
  const continued =
    thread && asked !== undefined
      ? await runToContinue(store, { id: asked, threadId: thread.id, principal, now: server.now() }, fail)
      : undefined;
  const id = agentId ?? (continued ? continued.agentId : await usualAgentId(thread, store));
  return { agent: id === undefined ? undefined : await findAgentToRun(store, id, fail), continued };
}

/** One message and its answer. Everything that is said is stored in the thread as it comes. */
class Chat {
  readonly #context: ChatContext;
  readonly #agent: Agent | undefined;
  readonly #begun: StartedChat;
  readonly #trace = new RunTrace();

  constructor(context: ChatContext, agent: Agent | undefined, begun: StartedChat) {
    this.#context = context;
    this.#agent = agent;
    this.#begun = begun;
  }

  async run(text: string, chosen: ChosenModel & { readonly maxTokens: number | undefined }) {
    const { run, threadId, earlier, attachments } = this.#begun;
    const about =
      text === CONTINUE_PROMPT || text === DECIDED_PROMPT
        ? earlier.messages.findLast(({ role }) => role === 'user')?.content
        : undefined;
    const waited = { waited: run.waitsFor, answered: this.#answered, pauses: isCredential(this.#context.principal) };
    const stored = { shortened: this.#shortened, stepped: (step: Step) => this.#append(step) };
    const task = {
      run,
      trace: this.#trace,
      agent: this.#agent,
      ...modelsOfTask(chosen),
      maxTokens: chosen.maxTokens,
      text,
      ...{ attachments, readFile: readerOf([], this.#context, threadId) },
      earlier,
      about,
      ...waited,
      ...stored,
    };
    try {
      return await this.#finish(await runAgent(task, this.#context));
    } catch (thrown) {
      throw await this.#fail(thrown);
    }
  }

  async #finish(outcome: RunOutcome) {
    const { run, threadId } = this.#begun;
    const { text: content, lastUsage, citations } = outcome;
    const cited = citations.length > 0 ? { citations: [...citations] } : {};
    const message = await this.#context.write(async (store) => {
      const { status } = await this.#end(store, outcome);
      if (status !== 'waiting' && outcome.waiting) return undefined;
      return this.#appendIn(store, [{ role: 'assistant', content, usage: lastUsage, ...cited }]);
    });
    if (!message) throw new RunEnded('cancelled', cancelled());
    return { threadId, message, ...answerOf(run, outcome) };
  }

  #end(store: HistoryWriters, outcome: RunOutcome) {
    const { principal, server } = this.#context;
    const { run } = this.#begun;
    const now = server.now();
    if (outcome.waiting) return pauseRun(store, run, waiting(outcome, this.#trace, principal), now);
    return store.agentRuns.update(run.id, succeeded(outcome, this.#trace, now));
  }

  readonly #answered = (call: WaitingCall, result: ToolResult): Promise<Message> => {
    const { run } = this.#begun;
    const answered = { call, trace: this.#trace, now: this.#context.server.now() };
    return this.#context.write(async (store) => {
      await noteAnswered(store, run.id, answered);
      return this.#appendIn(store, [resultMessage(call.toolCallId, result)]);
    });
  };

  /** Marks the run as failed, and returns the error for the caller. Text that the caller or the clock cut short is kept. */
  async #fail(thrown: unknown): Promise<ToolError> {
    const { run, threadId } = this.#begun;
    const { error, change, unfinished } = failed(thrown, this.#trace, this.#context.server.now());
    const end = (store: HistoryWriters) => endRun(store, run.id, change);
    const keep = async (store: HistoryWriters) => {
      await this.#appendIn(store, [{ role: 'assistant', content: unfinished }]);
      return end(store);
    };
    // The thread may be deleted, or the caller may have lost access. The run then ends without a message.
    const kept = unfinished.trim() === '' ? this.#context.write(end) : this.#context.write(keep);
    // Where not even that can be stored, the repeat of the call ends the run, or who looks for abandoned ones.
    await kept.catch(() => this.#context.write(end)).catch(() => {});
    const detail = { ...error.detail, runId: run.id, threadId };
    if (error.code !== 'unavailable') return error.with(detail);
    const message = `${error.message} Your message is kept in the thread ${threadId} (run ${run.id}).`;
    return new ToolError(error.code, message, detail, error.cause);
  }

  readonly #shortened = (summary: ThreadSummary): Promise<void> => {
    const { run, threadId } = this.#begun;
    return this.#context.write(async (store) => {
      const { principal, fail } = this.#context;
      const { id } = await openThread({ store, principal, fail }, threadId, 'editor');
      await store.threads.touch(id, { summary });
      await saveTrace(store, run, this.#trace);
    });
  };

  async #append(step: Step): Promise<void> {
    await this.#context.write(async (store) => {
      await this.#appendIn(store, stepMessages(step));
      await saveTrace(store, this.#begun.run, this.#trace);
    });
  }

  /** Checks again that the caller may write to the thread, which can be deleted or closed to the caller while the agent works. */
  async #appendIn(store: HistoryWriters, messages: readonly NewMessage[]): Promise<Message> {
    const { run, threadId } = this.#begun;
    const { principal, fail } = this.#context;
    const thread = await openThread({ store, principal, fail }, threadId, 'editor');
    const written = { runId: run.id, ...(this.#agent && { agentId: this.#agent.id }) };
    const { added } = await appendMessages(
      store,
      thread,
      messages.map((message) => ({ ...message, ...written })),
    );
    const last = added.at(-1);
    if (!last) throw new Error('There was no message to append.');
    return last;
  }
}
