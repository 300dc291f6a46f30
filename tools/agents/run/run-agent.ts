import type { ModelMessage, UserContent } from 'ai';
import type { Agent } from '../../../resources/agent.ts';
import type { AgentRun, ModelFallback, WaitingCall } from '../../../resources/agent-run.ts';
import type { Attachment } from '../../../resources/attachment.ts';
import type { Citation, Message } from '../../../resources/message.ts';
import type { ModelInput } from '../../../resources/model-provider.ts';
import type { ThreadSummary } from '../../../resources/thread.ts';
import type { Readers, TextSearch } from '../../../store/port.ts';
import { ASSISTANT, actingFor } from '../../core/access/agent-principal.ts';
import { type CheckCredential, checkSafely } from '../../core/access/credential-status.ts';
import type { Principal } from '../../core/access/principal.ts';
import { ToolError } from '../../core/errors.ts';
import type { LanguageModel } from '../../core/models/language-model.ts';
import { withContext } from '../../core/models/prompt-sections.ts';
import { ProviderFailure } from '../../core/models/provider-failure.ts';
import { NO_TOKENS, sumOfTokens } from '../../core/models/token-usage.ts';
import type { SteppingContext } from '../../core/registry/context.ts';
import type { SpanOptions } from '../../core/telemetry/span.ts';
import { observed } from '../../core/telemetry/telemetry.ts';
import { readBotConfig } from '../../settings/bot-config.ts';
import { AgentTools, type ToolResult } from './agent-tools.ts';
import { answersOf, waitingCall } from './answer-waiting.ts';
import { fileTokens, historyOf, historyTokens, leftOut } from './conversation-history.ts';
import { lookUp } from './knowledge.ts';
import { type LoopOptions, type LoopOutcome, runLoop, type Step } from './loop.ts';
import { answerIn, type OutputSchema } from './output-schema.ts';
import { promptOf } from './prompt.ts';
import { howGiven, type ReadPromptFile, withFiles } from './prompt-files.ts';
import { recall } from './recall.ts';
import { rememberTool } from './remember.ts';
import { cancelled, RunClock, RunEnded } from './run-clock.ts';
import type { RunTrace } from './run-reporter.ts';
import { RunReporter } from './run-reporter.ts';
import { type Earlier, withSummary } from './summary.ts';

/** What to do. The context says for whom. */
interface AgentTask {
  readonly run: AgentRun;
  readonly trace: RunTrace;
  /** Undefined: the assistant of the workspace, which has no tools. */
  readonly agent: Agent | undefined;
  readonly model: LanguageModel;
  /** Most tokens that the model can write in a turn. */
  readonly modelLimit?: number | undefined;
  readonly fallbacks?: LoopOptions['fallbacks'];
  /** The message to the agent, and the messages before it. */
  readonly text: string;
  /** The files of the message. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** Reads the files of messages. */
  readonly readFile?: ReadPromptFile | undefined;
  readonly inputs?: readonly ModelInput[] | undefined;
  readonly earlier?: Earlier | undefined;
  /** What the conversation is about, where the message does not say it. */
  readonly about?: string | undefined;
  readonly outputSchema?: OutputSchema | undefined;
  /** Most tokens that the model writes in a turn, where the caller wants fewer than the bot config allows. */
  readonly maxTokens?: number | undefined;
  /** Whether the run can be continued later, when a person has decided about a call. */
  readonly pauses?: boolean;
  /** Calls of the run before this one that a person has decided about since. */
  readonly waited?: readonly WaitingCall[] | undefined;
  /** Stores the result of such a call. */
  answered?(call: WaitingCall, result: ToolResult): Promise<Message>;
  /** Stores what stands for older messages. */
  readonly shortened?: ((summary: ThreadSummary) => Promise<void>) | undefined;
  /** Stores a turn that called tools. The run continues when that is done. */
  stepped(step: Step): Promise<void>;
}

type RunContext = Pick<
  SteppingContext<Readers & TextSearch, never>,
  'store' | 'principal' | 'server' | 'signal' | 'report' | 'call' | 'checkCredential'
>;

export interface RunOutcome extends LoopOutcome {
  /** The answer in the wanted form, where one was given. */
  readonly output: unknown;
  readonly calls: RunReporter['calls'];
  /** The model that took the last turn, and those that did not answer. */
  readonly model: string;
  readonly fallbacks: readonly ModelFallback[];
  /** What the model that answered was not shown. */
  readonly leftOut: RunTrace['leftOut'];
  /** The passages that the answer names. */
  readonly citations: readonly Citation[];
}

/** Runs an agent until its answer is complete. @throws RunEnded, or what `stepped` throws */
export function runAgent(task: AgentTask, context: RunContext): Promise<RunOutcome> {
  const { agentSeconds } = context.server.telemetry.measures;
  return observed(
    agentSeconds,
    [],
    () => spanOf(task),
    () => runTask(task, context),
  );
}

function spanOf({ run, agent, model }: AgentTask): SpanOptions {
  return {
    name: 'invoke_agent',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.id': agent?.id,
      'gen_ai.conversation.id': run.threadId,
      'gen_ai.provider.name': model.provider,
      'gen_ai.request.model': model.modelId,
      'agent_admin.agent_run.id': run.id,
    },
  };
}

async function runTask(task: AgentTask, context: RunContext): Promise<RunOutcome> {
  const { run, trace, agent } = task;
  const clock = new RunClock(context.signal, context.server.models.runMs);
  const forget = context.server.agentRuns?.watch(run.id, () => clock.end(cancelled()));
  const reporter = new RunReporter({ run, trace, report: context.report, stepped: (step) => task.stepped(step) });
  reporter.began();
  try {
    if ((await context.store.agentRuns.get(run.id))?.cancelAsked) clock.end(cancelled());
    const renewedAs = asker(task, context, clock);
    const prompt = await readPrompt(task, context, { renewedAs, signal: clock.signal });
    const tools = toolsOf(task, context, { renewedAs, signal: clock.signal });
    const caller = renewedAs((principal) => principal);
    const answers = await answersOf(task, context, { tools, reporter, signal: clock.signal });
    if (answers.waiting.length > 0) return { ...pausedAgain(answers), ...tracedIn(task, reporter, '') };
    const content = withFiles(withContext(task.text, prompt.context), task.attachments ?? []);
    const before = await earlierOf(task, context, clock.signal);
    const asked = conversationOf(task, context, {
      ...before,
      messages: [...before.kept, ...answers.messages],
      content,
    });
    const outcome = await answerIn(task.outputSchema, asked, (messages) =>
      runLoop({
        system: prompt.system,
        messages,
        tools,
        maxSteps: agent?.maxSteps ?? 1,
        ...asking(task, prompt.maxTokens),
        signal: clock.signal,
        waitingCall: (call, result) => waitingCall(task, context, { call, result }),
        askAgain: async () => void (await (caller && checkSafely(caller))),
        metered: metered(task, context),
        listener: reporter,
      }),
    );
    return { ...outcome, usage: sumOfTokens(before.usage, outcome.usage), ...tracedIn(task, reporter, outcome.text) };
  } catch (thrown) {
    throw clock.signal.aborted ? clock.ended(reporter.unfinished) : endedBy(thrown);
  } finally {
    reporter.end();
    forget?.();
    clock.stop();
  }
}

function endedBy(thrown: unknown): unknown {
  if (!(thrown instanceof ProviderFailure)) return thrown;
  const { message, cause, retryAfterSeconds } = thrown;
  const detail = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  return new RunEnded('failed', new ToolError('unavailable', message, detail, cause));
}

/** What came of a run that stops before it asked the model. */
function pausedAgain({ text, waiting }: Required<Pick<LoopOutcome, 'text' | 'waiting'>>) {
  const used = { usage: NO_TOKENS, lastUsage: NO_TOKENS };
  return { ...used, text, waiting, steps: 0, stopReason: 'approval', messages: [], output: undefined } as const;
}

interface Conversation {
  readonly opening: readonly ModelMessage[];
  readonly messages: readonly Message[];
  readonly content: UserContent;
}

/** What the model is asked, with the files in the evidence as the model that answers gets them. */
function conversationOf(
  { run, trace, attachments = [], inputs = ['text'], fallbacks = [] }: AgentTask,
  { server }: RunContext,
  { opening, messages, content }: Conversation,
): ModelMessage[] {
  const room = fileTokens(server.models.limitsOf(run.model)?.contextTokens);
  const gone = leftOut(messages, room);
  const files = [...messages.flatMap((message) => message.attachments ?? []), ...attachments];
  trace.attached((model) => {
    const read = fallbacks.find(({ id }) => id === model)?.inputs ?? inputs;
    return files.map(({ id, mediaType, sha256 }) => ({
      ...{ id, mediaType, sha256 },
      as: gone.has(id) ? 'left out' : howGiven(mediaType, read),
    }));
  });
  return [...opening, ...historyOf(messages, gone), { role: 'user', content }];
}

function tracedIn({ run, trace }: AgentTask, { calls }: RunReporter, text: string) {
  const model = trace.lastModel ?? run.model;
  const { fallbacks, leftOut } = trace;
  return { model, fallbacks, leftOut, calls, citations: trace.citations(text) };
}

/** The models of the run, and how they are asked. */
function asking(task: AgentTask, configured: number) {
  const { run, agent: settings, model, fallbacks, inputs, readFile } = task;
  const files = { inputs, readFile };
  return { model, modelId: run.model, fallbacks, ...files, settings, maxOutputTokens: mostTokens(task, configured) };
}

function mostTokens({ agent, maxTokens, modelLimit }: AgentTask, configured: number): number {
  const most = agent?.maxOutputTokens ?? configured;
  return Math.min(most, maxTokens ?? most, modelLimit ?? most);
}

/** Takes turns within the budgets of the caller and of the agent. */
function metered({ run, trace, agent }: AgentTask, { principal, server }: RunContext): LoopOptions['metered'] {
  const use = { principal, agentId: agent?.id, model: run.model };
  return (estimate, take, model = run.model) =>
    server.budgets?.turn({ ...use, model, run: { id: run.id, turn: trace.turns }, estimate }, take) ?? take();
}

async function earlierOf(task: AgentTask, context: RunContext, signal: AbortSignal) {
  const { earlier = NOTHING_EARLIER, model, fallbacks, agent: settings, trace, run } = task;
  const found = await withSummary(earlier, {
    ...{ model, modelId: run.model, fallbacks, settings, signal },
    ...{ metered: metered(task, context), now: context.server.now() },
    tokens: historyTokens(context.server.models.limitsOf(run.model)?.contextTokens),
    fellBack: (...which) => trace.fellBack(...which),
    turned: (turn, by = run.model) => trace.summarized(by, turn),
    ...(task.shortened && { keep: task.shortened }),
  });
  if (found.summary) trace.shortened(found.summary);
  return found;
}

const NOTHING_EARLIER: Earlier = { messages: [], count: 0 };

async function readPrompt(
  { run, trace, agent, text, about = text, outputSchema }: AgentTask,
  { store, principal, server, call }: RunContext,
  asking: Asking,
) {
  const config = await readBotConfig(store);
  const skills = await Promise.all((agent?.skillIds ?? []).map((id) => store.skills.get(id)));
  const asked = { caller: principal, threadId: run.threadId, text: about, server };
  const memories = agent ? await recall(store, { agent, ...asked }) : [];
  const { catalog } = server;
  const knowledge = agent && (await lookUp({ ...asking, agent, caller: principal, catalog, call, text: about }));
  const parts = { config, agent, skills: skills.filter((skill) => skill !== undefined), memories };
  const prompt = promptOf({ ...parts, knowledge, outputSchema: outputSchema?.json, now: server.now() });
  trace.gave({ config, ...prompt });
  return { ...prompt, maxTokens: config.maxTokens };
}

/** Makes the principal of the agent or the assistant that acts for the caller. */
type ActingAs = (caller: Principal, agent: Agent | undefined) => Principal;
type RenewedAs = (acting: ActingAs) => CheckCredential | undefined;

function asker({ agent }: AgentTask, { store, checkCredential: standing }: RunContext, clock: RunClock): RenewedAs {
  if (!standing) return () => undefined;
  return (acting) => async () => {
    const caller = await checkSafely(standing);
    const now = agent && (await store.agents.get(agent.id));
    const deleted = agent && (!now || now.status === 'deleted');
    const problem = deleted ? new ToolError('conflict', `The agent ${agent.name} was deleted.`) : caller;
    if (!(problem instanceof ToolError)) return acting(problem, now);
    clock.end(problem);
    return problem;
  };
}

interface Asking {
  readonly renewedAs: RenewedAs;
  readonly signal: AbortSignal;
}

function toolsOf(task: AgentTask, { principal, server, call }: RunContext, { renewedAs, signal }: Asking): AgentTools {
  const { run, agent } = task;
  const { catalog } = server;
  const acting: ActingAs = (caller, as) => actingFor(caller, as ?? ASSISTANT, catalog, run.id);
  const remember = agent && rememberTool({ agent, caller: principal, renewedAs, run, catalog, call, signal });
  const own = remember ? [remember] : [];
  return new AgentTools({
    principal: acting(principal, agent),
    checkCredential: renewedAs(acting),
    catalog,
    call,
    signal,
    own,
    pauses: task.pauses === true && server.secrets !== undefined,
  });
}
