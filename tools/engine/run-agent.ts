import type { ModelMessage } from 'ai';
import type { Agent } from '../../resources/agent.ts';
import type { AgentRun } from '../../resources/agent-run.ts';
import type { Message } from '../../resources/message.ts';
import type { Readers, TextSearch } from '../../store/port.ts';
import type { SteppingContext } from '../context.ts';
import { ToolError } from '../errors.ts';
import { readBotConfig } from '../settings/bot-config.ts';
import { ASSISTANT, actingFor } from './acting.ts';
import { AgentTools } from './agent-tools.ts';
import { historyOf } from './history.ts';
import type { LanguageModel } from './language-model.ts';
import { type LoopOutcome, runLoop, type Step } from './loop.ts';
import { answerIn, type OutputSchema } from './output-schema.ts';
import { systemPrompt } from './prompt.ts';
import { ProviderFailure } from './provider-failure.ts';
import { recall } from './recall.ts';
import { rememberTool } from './remember.ts';
import { RunReporter } from './run-reporter.ts';

/** What is to be done, for whom the context says. */
export interface Task {
  readonly run: AgentRun;
  /** Undefined: the assistant of the workspace, which has no tools. */
  readonly agent: Agent | undefined;
  readonly model: LanguageModel;
  /** What the agent is told, and what was said before. */
  readonly text: string;
  readonly earlier: readonly Message[];
  readonly outputSchema?: OutputSchema | undefined;
  /** Keeps a turn that called tools; the run goes on when it is done. */
  stepped(step: Step): Promise<void>;
}

export type RunContext = Pick<
  SteppingContext<Readers & TextSearch, never>,
  'store' | 'principal' | 'server' | 'signal' | 'report' | 'call'
>;

export interface RunOutcome extends LoopOutcome {
  /** Where a form was asked for: the answer in that form. */
  readonly output: unknown;
  readonly calls: RunReporter['calls'];
}

/** A run that did not come to its end. The message of the error tells why and is safe to show. */
export class RunEnded extends Error {
  readonly status: 'failed' | 'cancelled';
  readonly error: ToolError;
  /** What was said of an answer that was cut short by the caller or the clock. */
  readonly unfinished: string;

  constructor(status: RunEnded['status'], error: ToolError, unfinished = '') {
    super(error.message);
    this.status = status;
    this.error = error;
    this.unfinished = unfinished;
  }
}

/** Runs an agent to the end of its answer. @throws RunEnded, or what `stepped` throws */
export async function runAgent(task: Task, context: RunContext): Promise<RunOutcome> {
  const { run, agent } = task;
  const clock = new RunClock(context.signal, context.server.models.runMs);
  const reporter = new RunReporter(context.report, (step) => task.stepped(step));
  reporter.began({ runId: run.id, threadId: run.threadId, model: run.model });
  try {
    const system = await systemOf(task, context);
    const tools = toolsOf(task, context, clock.signal);
    const asked: ModelMessage[] = [...historyOf(task.earlier), { role: 'user', content: task.text }];
    const outcome = await answerIn(task.outputSchema, asked, (messages) =>
      runLoop({
        model: task.model,
        system: system.text,
        messages,
        tools,
        maxSteps: agent?.maxSteps ?? 1,
        maxOutputTokens: system.maxTokens,
        signal: clock.signal,
        listener: reporter,
      }),
    );
    return { ...outcome, calls: reporter.calls };
  } catch (thrown) {
    if (clock.signal.aborted) throw clock.ended(reporter.unfinished);
    if (!(thrown instanceof ProviderFailure)) throw thrown;
    throw new RunEnded('failed', new ToolError('unavailable', thrown.message, {}, thrown.cause));
  } finally {
    reporter.end();
    clock.stop();
  }
}

async function systemOf({ run, agent, text, outputSchema }: Task, { store, principal, server }: RunContext) {
  const config = await readBotConfig(store);
  const skills = await Promise.all((agent?.skillIds ?? []).map((id) => store.skills.get(id)));
  const memories = agent ? await recall(store, { agent, caller: principal, threadId: run.threadId, text }) : [];
  const parts = { config, agent, skills: skills.filter((skill) => skill !== undefined), memories };
  const prompt = systemPrompt({ ...parts, outputSchema: outputSchema?.json, now: server.now() });
  return { text: prompt, maxTokens: config.maxTokens };
}

function toolsOf({ run, agent }: Task, { principal, server, call }: RunContext, signal: AbortSignal): AgentTools {
  const { catalog } = server;
  const acting = actingFor(principal, agent ?? ASSISTANT, catalog);
  const remember = agent && rememberTool({ agent, caller: principal, run, catalog, call, signal });
  return new AgentTools({ principal: acting, catalog, call, signal, own: remember ? [remember] : [] });
}

/** Ends a run when its caller goes away or its time is over. */
class RunClock {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #runMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #cancel = () => this.#controller.abort('cancelled');

  constructor(outer: AbortSignal | undefined, runMs: number) {
    this.#outer = outer;
    this.#runMs = runMs;
    this.#timer = setTimeout(() => this.#controller.abort('time'), runMs);
    if (outer?.aborted) this.#cancel();
    else outer?.addEventListener('abort', this.#cancel, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  ended(unfinished: string): RunEnded {
    if (this.signal.reason !== 'time') {
      return new RunEnded('cancelled', new ToolError('unavailable', 'The run was cancelled.'), unfinished);
    }
    const seconds = Math.round(this.#runMs / 1000);
    const message = `The run took longer than ${seconds} seconds and was ended; ask for less at a time.`;
    return new RunEnded('failed', new ToolError('unavailable', message), unfinished);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#cancel);
  }
}
