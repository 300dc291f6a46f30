import { z } from 'zod';
import type { Agent } from '../../resources/agent.ts';
import type { AgentRun, WaitingCall } from '../../resources/agent-run.ts';
import { agentRef, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { type Message, message as messageSchema } from '../../resources/message.ts';
import type { ThreadRecord, ThreadSummary } from '../../resources/thread.ts';
import type { Readers, TextSearch } from '../../store/port.ts';
import { type Earlier, type RunOutcome, RunTrace, runAgent, type Step, type ToolResult } from '../agents/exports.ts';
import { requireShallow } from '../core/access/agent-principal.ts';
import type { Access } from '../core/access/guarded-tool.ts';
import { openThread } from '../core/access/visibility.ts';
import { ToolError } from '../core/errors.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import { isCredential } from '../core/registry/approvals.ts';
import type { SteppingContext } from '../core/registry/context.ts';
import { defineTool } from '../core/registry/define-tool.ts';
import {
  beginRun,
  endRun,
  failed,
  handOver,
  noteAnswered,
  runningIn,
  saveTrace,
  succeeded,
  waiting,
} from '../runs/run-records.ts';
import { shortened } from '../search/snippet.ts';
import { readSettings } from '../settings/settings.ts';
import { appendMessages } from '../threads/messages.ts';
import { sourceOf, startThread } from '../threads/threads.ts';
import { answerOf, LONGEST_INPUT, maxTokensInput, modelInput, RUNS_AGENT, runAnswer } from './answer.ts';
import { type ChosenModel, chooseModel, findAgentToRun, modelsOfTask, requireInvoke } from './choose-model.ts';
import { CONTINUE_PROMPT, DECIDED_PROMPT, requireOneTurn, runToContinue } from './continue-run.ts';
import { earlierIn } from './earlier-messages.ts';
import { answerInThread, earlierRun, runDetail } from './idempotent-run.ts';
import { type NewMessage, resultMessage, stepMessages } from './step-messages.ts';

const LONGEST_TITLE = 80;
const MOST_AGENTS = 50;

const input = z.strictObject({
  message: z
    .string()
    .trim()
    .min(1)
    .max(LONGEST_INPUT)
    .optional()
    .describe('What to say, also as `input`. Required unless `continue` is given.'),
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

type Context = SteppingContext<Readers & TextSearch, 'not_found' | 'conflict' | 'interrupted'>;

export const sendChatMessage = defineTool({
  name: 'send_chat_message',
  title: 'Send chat message',
  description:
    'Say something to an agent in a new or existing thread and get its answer; it may call its tools on the way, with your rights. For one question without a thread use invoke_agent.',
  keywords:
    'talk to a bot, chat, ask a follow-up, reply, say hello, continue a conversation, prompt, chat, message a bot, ask a bot in a conversation, answer in a chat',
  access: {
    among: [NAMED, NAMED_IN_THREAD, USUAL, USUAL_IN_THREAD],
    whole: { scope: SCOPE, grant: ['thread:read', 'thread:write', 'agent:invoke'] },
    of(given: Partial<Input>) {
      if (given.agentId !== undefined) return given.threadId === undefined ? NAMED : NAMED_IN_THREAD;
      return given.threadId === undefined ? USUAL : USUAL_IN_THREAD;
    },
  },
  annotations: RUNS_AGENT,
  inSteps: true,
  findsBegun: true,
  continuesThreads: true,
  streams: true,
  aliases: { agent: 'agentId', input: 'message' },
  input,
  output: z.object({ threadId: recordId, message: messageSchema, ...runAnswer }),
  errors: ['not_found', 'conflict', 'interrupted'],

  async handler(asked, context) {
    requireShallow(context.principal);
    const before = await earlierRun(context);
    if (before) return answerInThread(before, context);
    requireOneTurn(asked);
    const agent = await agentFor(asked, context);
    requireInvoke(context.principal, agent, context.fail);
    const { store, server, fail } = context;
    const model = await chooseModel({ store, models: server.models, fail }, asked.model, agent);
    await server.budgets?.requireRoom({ principal: context.principal, agentId: agent?.id, model: model.id });
    const begun = await begin(asked, agent, model, context);
    const prompt = begun.run.waitsFor ? DECIDED_PROMPT : CONTINUE_PROMPT;
    return new Chat(context, agent, begun).run(asked.message ?? prompt, { ...model, maxTokens: asked.maxTokens });
  },
});

/** The thread is checked first, so that callers who may not see it learn nothing about it. */
async function agentFor({ agentId, threadId, continue: asked }: Input, context: Context): Promise<Agent | undefined> {
  const { store, principal, server, fail } = context;
  const thread = threadId === undefined ? undefined : await openThread(context, threadId, 'editor');
  const continued =
    thread &&
    asked &&
    (await runToContinue(store, { id: asked, threadId: thread.id, principal, now: server.now() }, fail));
  const usual = async () => thread?.agentIds?.[0] ?? (await readSettings(store)).defaultAgentId;
  const id = agentId ?? (continued ? continued.agentId : await usual());
  return id === undefined ? undefined : findAgentToRun(store, id, fail);
}

interface Begun {
  readonly run: AgentRun;
  readonly threadId: string;
  /** Without the message that is to be answered. */
  readonly earlier: Earlier;
}

/** In one transaction: checks that the thread has no run, begins the run and adds the message. */
function begin(asked: Input, agent: Agent | undefined, { id: model }: ChosenModel, context: Context): Promise<Begun> {
  const { principal, server, fail, door, write } = context;
  return write(async (store) => {
    const now = server.now();
    const thread = await threadFor(asked, agent, { store, principal, fail, door, now });
    const other = await runningIn(store, thread.id, server.models.runMs, now);
    if (other) {
      throw fail('conflict', `The thread is busy with the run ${other.id}; send the message when that has ended.`);
    }
    const { message, continue: continues } = asked;
    const held = await store.agentRuns.first({ where: { threadId: thread.id, status: 'waiting' } });
    if (held && held.id !== continues) throw fail('conflict', waitsInThread(held), runDetail(held));
    const asking = { threadId: thread.id, principal, now };
    const continued = continues && (await runToContinue(store, { id: continues, ...asking }, fail));
    if (continued) await handOver(store, continued, now);
    const { waitsFor, resumesAs } = continued || {};
    const run = await beginRun(
      store,
      { kind: 'chat', agent, model, thread, continues, ...(waitsFor && { waitsFor, resumesAs }) },
      context,
    );
    const earlier = await earlierIn(store, thread, message);
    if (message !== undefined && !earlier.isThere)
      await appendMessages(store, thread, [{ role: 'user', content: message, runId: run.id }]);
    return { run, threadId: thread.id, earlier };
  });
}

function waitsInThread({ id, waitsFor = [] }: AgentRun): string {
  const calls = waitsFor.map(({ tool, approvalId }) => `${tool} (${approvalId})`).join(', ');
  return `The thread waits for the yes of a person to ${calls}, and goes on after that; cancel_agent_run {"id": "${id}"} gives it up.`;
}

interface RunOrigin extends Pick<Context, 'principal' | 'fail' | 'door'> {
  readonly store: HistoryWriters;
  readonly now: Date;
}

async function threadFor(asked: Input, agent: Agent | undefined, beginning: RunOrigin): Promise<ThreadRecord> {
  const { store, principal, fail, door, now } = beginning;
  if (asked.threadId === undefined) {
    const title = shortened(asked.message ?? '', LONGEST_TITLE);
    const agentIds = agent && [agent.id];
    return startThread(
      store,
      principal,
      { title, source: sourceOf(door, 'chat'), agentIds, visibility: 'workspace' },
      now,
    );
  }
  const thread = await openThread(beginning, asked.threadId, 'editor');
  if (thread.status === 'archived') {
    throw fail('conflict', 'The thread is archived; update_thread {status: "active"} opens it again.');
  }
  const agentIds = thread.agentIds ?? [];
  if (!agent || agentIds.includes(agent.id) || agentIds.length >= MOST_AGENTS) return thread;
  return store.threads.touch(thread.id, { agentIds: [...agentIds, agent.id] });
}

/** One message and its answer. Everything that is said is stored in the thread as it comes. */
class Chat {
  readonly #context: Context;
  readonly #agent: Agent | undefined;
  readonly #begun: Begun;
  readonly #trace = new RunTrace();

  constructor(context: Context, agent: Agent | undefined, begun: Begun) {
    this.#context = context;
    this.#agent = agent;
    this.#begun = begun;
  }

  async run(text: string, chosen: ChosenModel & { readonly maxTokens: number | undefined }) {
    const { run, earlier } = this.#begun;
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
      const now = this.#context.server.now();
      await store.agentRuns.update(run.id, this.#ended(outcome, now));
      return this.#appendIn(store, [{ role: 'assistant', content, usage: lastUsage, ...cited }]);
    });
    return { threadId, message, ...answerOf(run, outcome) };
  }

  #ended(outcome: RunOutcome, now: Date) {
    if (!outcome.waiting) return succeeded(outcome, this.#trace, now);
    return waiting(outcome, this.#trace, this.#context.principal);
  }

  readonly #answered = (call: WaitingCall, result: ToolResult): Promise<Message> => {
    const { run } = this.#begun;
    return this.#context.write(async (store) => {
      await noteAnswered(store, run.id, call, this.#trace);
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
