import { setTimeout as sleep } from 'node:timers/promises';
import type { AssistantModelMessage, ModelMessage, StreamTextResult, TextStreamPart, ToolSet } from 'ai';
import type { FallbackReason, StopReason, TokenUsage, WaitingCall } from '../../../resources/agent-run.ts';
import { backoffMs } from '../../../store/backoff.ts';
import { loadPackage } from '../../core/load-package.ts';
import type { LanguageModel } from '../../core/models/language-model.ts';
import { ProviderFailure } from '../../core/models/provider-failure.ts';
import { storableText } from '../../core/models/sanitize-text.ts';
import { NO_TOKENS, sumOfTokens, tokensUsed } from '../../core/models/token-usage.ts';
import { tokensOf } from '../../core/models/tokens.ts';
import type { AgentTools, OfferedTool, ToolCall, ToolResult } from './agent-tools.ts';
import { callSettings, type ModelCallSettings, Silence, tooSlow } from './call-settings.ts';
import { resultMessage, withinBudget } from './conversation-history.ts';

/** A turn in which the model called tools, with the answers of the tools. */
export interface Step {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly results: readonly ToolResult[];
  /** Calls whose results come when a person has decided. */
  readonly waiting: readonly WaitingCall[];
  readonly usage: TokenUsage;
}

/** Called for everything that happens, in order. */
export interface Listener {
  /** The model wrote a piece of text. */
  said(text: string): void;
  /** The turn broke off and begins again: what was said in it is void. */
  restarted(text: string): void;
  turned(turn: Turn, model?: string): void;
  /** The model did not answer, so another one is asked. */
  fellBack(model: string, reason: FallbackReason): void;
  calling(call: ToolCall): void;
  called(call: ToolCall, result: ToolResult): void;
  /** Called after each turn that called tools. The next turn begins when this is done. */
  stepped(step: Step): Promise<void>;
}

export interface LoopOptions {
  readonly model: LanguageModel;
  /** Of the model, where it is one of several. */
  readonly modelId?: string | undefined;
  /** Asked in turn where the model before does not begin to answer. */
  readonly fallbacks?: readonly FallbackModel[] | undefined;
  readonly settings?: ModelCallSettings | undefined;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: Pick<AgentTools, 'offered' | 'describe' | 'run'>;
  readonly maxSteps: number;
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
  /** Called before each turn. Aborts the signal where the caller may not continue. */
  askAgain(): Promise<void>;
  /** Whether the run stops for a call that waits for this approval, to be continued later. Otherwise the model is told. */
  pausesFor?(approvalId: string): Promise<boolean>;
  /** Takes a turn, where it may be taken, and counts what it used. */
  metered(estimate: () => TokenUsage, take: () => Promise<Turn>, model?: string): Promise<Turn>;
  readonly listener: Listener;
}

export interface FallbackModel {
  readonly id: string;
  readonly model: LanguageModel;
  readonly maxOutputTokens?: number | undefined;
}

export interface LoopOutcome {
  /** The text of the last turn. */
  readonly text: string;
  /** Token usage of the last turn, and of all turns. */
  readonly lastUsage: TokenUsage;
  readonly usage: TokenUsage;
  readonly steps: number;
  readonly stopReason: StopReason;
  readonly waiting?: readonly WaitingCall[];
  readonly messages: readonly ModelMessage[];
}

/** Only this many calls of one turn are run. A model that makes more gets an error for the others. */
export const MOST_CALLS = 20;
const LONGEST_TEXT = 500_000;
const TOO_MANY: ToolResult = {
  ok: false,
  text: JSON.stringify({ error: `Not run: a turn makes at most ${MOST_CALLS} calls.`, code: 'conflict' }),
};

/** Lets the model answer and call tools, one after the other, turn by turn. @throws ProviderFailure, or the reason of the signal */
export async function runLoop(options: LoopOptions): Promise<LoopOutcome> {
  const { tools, maxSteps, listener, signal } = options;
  const messages = [...options.messages];
  let asking = options;
  let usage = NO_TOKENS;
  for (let step = 1; ; step++) {
    await options.askAgain();
    signal.throwIfAborted();
    const { turn, used, answered } = await answeredTurn(asking, messages);
    asking = answered; // a model that did not answer is not asked again in this run
    usage = sumOfTokens(usage, used);
    const common = { usage, lastUsage: turn.usage, steps: step, messages };
    if (turn.calls.length === 0) {
      messages.push({ role: 'assistant', content: turn.text || '(nothing)' }); // some providers refuse an empty message
      return { ...common, text: turn.text, stopReason: turn.stopReason };
    }
    const results: ToolResult[] = [];
    for (const [at, call] of turn.calls.entries()) {
      signal.throwIfAborted();
      listener.calling(call);
      const result = at < MOST_CALLS ? await tools.run(call) : TOO_MANY;
      listener.called(call, result);
      results.push(result);
    }
    signal.throwIfAborted();
    const waiting = await waitingAmong(turn.calls, results, options);
    await listener.stepped({ text: turn.text, calls: turn.calls, results, waiting, usage: turn.usage });
    if (waiting.length > 0) {
      const text = waits(turn.calls, results);
      return { ...common, lastUsage: NO_TOKENS, text, stopReason: 'approval', waiting };
    }
    messages.push(turn.message, {
      role: 'tool',
      content: turn.calls.map(({ modelId: id, tool }, at) => resultMessage({ id, tool }, results[at]?.text ?? '')),
    });
    if (step === maxSteps)
      return { ...common, lastUsage: NO_TOKENS, text: unfinished(maxSteps), stopReason: 'max_steps' };
  }
}

/** What a turn may use at most, roughly. */
function estimateOf({ system, tools, maxOutputTokens }: LoopOptions, messages: readonly ModelMessage[]): TokenUsage {
  const given = [system, JSON.stringify(tools.offered), JSON.stringify(withinBudget(messages))];
  const inputTokens = given.reduce((all, text) => all + tokensOf(text), 0);
  return { inputTokens, outputTokens: maxOutputTokens };
}

/** Written in place of the model's answer, so that people and the model's next turn know that the work is unfinished. */
function unfinished(maxSteps: number): string {
  return `(Stopped after ${maxSteps} turns, before an answer. Send another message to go on.)`;
}

async function waitingAmong(
  calls: readonly ToolCall[],
  results: readonly ToolResult[],
  { pausesFor }: Pick<LoopOptions, 'pausesFor'>,
): Promise<WaitingCall[]> {
  const found: WaitingCall[] = [];
  for (const [at, { id, tool }] of calls.entries()) {
    const { approvalId } = results[at]?.waits ?? {};
    if (approvalId !== undefined && (await pausesFor?.(approvalId))) found.push({ approvalId, toolCallId: id, tool });
  }
  return found;
}

/** Written in place of the model's answer, for the person who reads it and may pass the address on. */
function waits(calls: readonly ToolCall[], results: readonly ToolResult[]): string {
  const lines = calls.flatMap(({ tool }, at) => {
    const url = results[at]?.waits?.url;
    return url === undefined ? [] : [`${tool}: ${url}`];
  });
  return `(Waits for the yes of a person, and goes on by itself after that.\n${lines.join('\n')})`;
}

/** How often a turn is asked for that breaks off. */
export const ATTEMPTS = 3;
const BACKOFF = { firstMs: 250, longestMs: 2000 };

/** Takes the turn of the first model that begins to answer. */
async function answeredTurn(options: LoopOptions, messages: readonly ModelMessage[]) {
  for (let asking = options; ; ) {
    try {
      return { ...(await wholeTurn(asking, messages)), answered: asking };
    } catch (error) {
      const [next, ...fallbacks] = asking.fallbacks ?? [];
      if (!(error instanceof ProviderFailure) || error.isCut || !error.reason || !next) throw error;
      asking.listener.fellBack(asking.modelId ?? asking.model.modelId, error.reason);
      const { id: modelId, model, maxOutputTokens = options.maxOutputTokens } = next;
      const most = Math.min(options.maxOutputTokens, maxOutputTokens);
      asking = { ...asking, modelId, model, fallbacks, maxOutputTokens: most };
      await asking.askAgain();
      asking.signal.throwIfAborted();
    }
  }
}

/** Asks again for a turn that broke off. Its calls were not run, as calls run only once the turn is whole. */
async function wholeTurn(options: LoopOptions, messages: readonly ModelMessage[]) {
  const { listener, signal } = options;
  let used = NO_TOKENS;
  let hasBegun = false;
  for (let attempt = 1; ; attempt++) {
    const estimate = () => estimateOf(options, messages);
    const taken = options.metered(estimate, () => takeTurn(options, messages), options.modelId);
    const turn = await taken.catch((error: unknown) => {
      throw hasBegun && error instanceof ProviderFailure ? error.begun() : error;
    });
    listener.turned(turn, options.modelId);
    hasBegun ||= turn.text !== '';
    used = sumOfTokens(used, turn.usage);
    if (!turn.cut) return { turn, used };
    if (attempt === ATTEMPTS) throw hasBegun ? turn.cut : turn.cut.unbegun();
    listener.restarted(turn.text);
    await sleep(backoffMs(attempt - 1, BACKOFF), undefined, { signal }).catch(() => signal.throwIfAborted());
    await options.askAgain();
    signal.throwIfAborted();
  }
}

export interface Turn {
  /** Why it is not whole. What it used is then an estimate. */
  readonly cut?: ProviderFailure;
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly message: AssistantModelMessage;
  readonly usage: TokenUsage;
  /** How long the model took, in milliseconds. */
  readonly ms: number;
  readonly stopReason: StopReason;
}

async function takeTurn(options: LoopOptions, messages: readonly ModelMessage[]): Promise<Turn> {
  const { model, system, tools, maxOutputTokens, signal, listener } = options;
  const library = await loadPackage('ai', () => import('ai'));
  const { timeoutSeconds } = options.settings ?? {};
  const silence = new Silence(timeoutSeconds);
  const stream = library.streamText({
    model,
    system,
    messages: withinBudget(messages),
    tools: toolSetOf(library, tools.offered),
    stopWhen: library.stepCountIs(1),
    maxOutputTokens,
    maxRetries: 0, // providerFetch repeats requests to busy providers
    abortSignal: AbortSignal.any([signal, silence.signal]),
    ...callSettings(options.settings),
    onError: () => {}, // errors also come as parts of the stream
  });
  const begun = performance.now();
  let text = '';
  let written = 0;
  try {
    for await (const part of stream.fullStream) {
      silence.broken();
      if (part.type === 'error') throw part.error;
      written += writtenIn(part);
      if (part.type !== 'text-delta' || text.length >= LONGEST_TEXT) continue;
      text += part.text;
      listener.said(part.text);
    }
    signal.throwIfAborted();
    silence.signal.throwIfAborted();
    const turn = await finished(stream, storableText(text), tools);
    return { ...turn, ms: performance.now() - begun };
  } catch (error) {
    signal.throwIfAborted();
    const failure = silence.signal.aborted
      ? tooSlow(model, { timeoutSeconds, isCut: written > 0 })
      : await ProviderFailure.of(model, error);
    if (!failure.isCut) throw failure;
    const { inputTokens } = estimateOf(options, messages);
    const usage = { inputTokens, outputTokens: Math.ceil(written / CHARACTERS_PER_TOKEN) };
    const message = { role: 'assistant', content: text } as const;
    return { cut: failure, text, calls: [], message, usage, ms: performance.now() - begun, stopReason: 'end' };
  } finally {
    silence.over();
  }
}

const CHARACTERS_PER_TOKEN = 4;

function writtenIn(part: TextStreamPart<ToolSet>): number {
  if (part.type === 'text-delta' || part.type === 'reasoning-delta') return part.text.length;
  return part.type === 'tool-input-delta' ? part.delta.length : 0;
}

/** The tools have no `execute`: the loop runs the calls, in their order. */
function toolSetOf({ dynamicTool, jsonSchema }: typeof import('ai'), offered: readonly OfferedTool[]): ToolSet {
  return Object.fromEntries(
    offered.map(({ name, description, inputSchema }) => {
      const { execute: _, ...tool } = dynamicTool({
        description,
        inputSchema: jsonSchema({ ...inputSchema }),
        execute: () => Promise.reject(new Error('The loop runs the calls.')),
      });
      return [name, tool];
    }),
  );
}

async function finished(
  stream: StreamTextResult<ToolSet, never>,
  text: string,
  tools: LoopOptions['tools'],
): Promise<Omit<Turn, 'ms'>> {
  const [finish, raw] = await Promise.all([stream.finishReason, stream.rawFinishReason]);
  if (finish === 'error' || (finish === 'other' && raw === undefined)) throw new CutOff();
  const { messages } = await stream.response;
  const calls = (await stream.toolCalls).map((call) => tools.describe(call.toolCallId, call.toolName, call.input));
  const used = await stream.usage;
  const message = messages.find(({ role }) => role === 'assistant') as AssistantModelMessage | undefined; // it has this role
  return {
    text,
    calls,
    message: message ?? { role: 'assistant', content: text },
    usage: tokensUsed(used),
    stopReason: finish === 'length' ? 'length' : finish === 'content-filter' ? 'content_filter' : 'end',
  };
}

/** The stream ended before the answer was complete. */
class CutOff extends Error {
  constructor() {
    super('the stream ended and the answer did not');
  }
}
