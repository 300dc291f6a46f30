import type { AssistantModelMessage, ModelMessage, StreamTextResult, ToolSet } from 'ai';
import type { StopReason, TokenUsage } from '../../../resources/agent-run.ts';
import type { LanguageModel } from '../../models/language-model.ts';
import { ProviderFailure } from '../../models/provider-failure.ts';
import { storableText } from '../../models/sanitize-text.ts';
import type { AgentTools, OfferedTool, ToolCall, ToolResult } from './agent-tools.ts';
import { toolResult, withinBudget } from './earlier-messages.ts';

/** A turn of the model that called tools, with what they answered. */
export interface Step {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly results: readonly ToolResult[];
  readonly usage: TokenUsage;
}

/** Called for everything as it happens, in order. */
export interface Listener {
  /** The model says a piece of text. */
  said(text: string): void;
  calling(call: ToolCall): void;
  called(call: ToolCall, result: ToolResult): void;
  /** After each turn that called tools; the next begins when this is done. */
  stepped(step: Step): Promise<void>;
}

export interface LoopOptions {
  readonly model: LanguageModel;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: AgentTools;
  readonly maxSteps: number;
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
  /** Asked before each turn; aborts the signal where whom it works for may not go on. */
  askAgain(): Promise<void>;
  readonly listener: Listener;
}

export interface LoopOutcome {
  /** Of the last turn. */
  readonly text: string;
  /** Usage of the last turn alone, and of all. */
  readonly lastUsage: TokenUsage;
  readonly usage: TokenUsage;
  readonly steps: number;
  readonly stopReason: StopReason;
  readonly messages: readonly ModelMessage[];
}

/** Calls of one turn that are run; a model that makes more is told so. */
const MOST_CALLS = 20;
const LONGEST_TEXT = 500_000;
const TOO_MANY: ToolResult = {
  ok: false,
  text: JSON.stringify({ error: `Not run: a turn makes at most ${MOST_CALLS} calls.`, code: 'conflict' }),
};

/**
 * Lets the model talk and call tools in turns until it is done or its turns are used up. Calls are run one after the other.
 * @throws ProviderFailure, or the reason of the signal
 */
export async function runLoop(options: LoopOptions): Promise<LoopOutcome> {
  const { tools, maxSteps, listener, signal } = options;
  const messages = [...options.messages];
  let usage: TokenUsage = { inputTokens: 0, outputTokens: 0 };
  for (let step = 1; ; step++) {
    await options.askAgain();
    signal.throwIfAborted();
    const turn = await takeTurn(options, messages);
    usage = sum(usage, turn.usage);
    const common = { usage, lastUsage: turn.usage, steps: step, messages };
    if (turn.calls.length === 0) {
      messages.push({ role: 'assistant', content: turn.text || '(nothing)' }); // some providers take no empty message
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
    await listener.stepped({ text: turn.text, calls: turn.calls, results, usage: turn.usage });
    messages.push(turn.message, {
      role: 'tool',
      content: turn.calls.map(({ modelId: id, tool }, at) => toolResult({ id, tool }, results[at]?.text ?? '')),
    });
    if (step === maxSteps)
      return { ...common, lastUsage: NO_USAGE, text: unfinished(maxSteps), stopReason: 'max_steps' };
  }
}

const NO_USAGE: TokenUsage = { inputTokens: 0, outputTokens: 0 };

/** Said in the model's place, so that people and its next turn know where it stands. */
function unfinished(maxSteps: number): string {
  return `(Stopped after ${maxSteps} turns, before an answer. Send another message to go on.)`;
}

interface Turn {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly message: AssistantModelMessage;
  readonly usage: TokenUsage;
  readonly stopReason: StopReason;
}

async function takeTurn(options: LoopOptions, messages: readonly ModelMessage[]): Promise<Turn> {
  const { model, system, tools, maxOutputTokens, signal, listener } = options;
  const library = await import('ai'); // costs too much to be loaded by every process
  const stream = library.streamText({
    model,
    system,
    messages: withinBudget(messages),
    tools: toolSetOf(library, tools.offered),
    stopWhen: library.stepCountIs(1),
    maxOutputTokens,
    maxRetries: 0, // busy providers are asked again below this, in providerFetch
    abortSignal: signal,
    onError: () => {}, // errors come as parts of the stream
  });
  let text = '';
  try {
    for await (const part of stream.fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type !== 'text-delta' || text.length >= LONGEST_TEXT) continue;
      text += part.text;
      listener.said(part.text);
    }
    signal.throwIfAborted();
    return await finished(stream, storableText(text), tools);
  } catch (error) {
    signal.throwIfAborted();
    throw await ProviderFailure.of(model, error);
  }
}

/** The tools have nothing to execute: the loop runs the calls, in their order. */
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

async function finished(stream: StreamTextResult<ToolSet, never>, text: string, tools: AgentTools): Promise<Turn> {
  const [finish, raw] = await Promise.all([stream.finishReason, stream.rawFinishReason]);
  if (finish === 'error' || (finish === 'other' && raw === undefined)) throw new CutOff();
  const { messages } = await stream.response;
  const calls = (await stream.toolCalls).map((call) => tools.describe(call.toolCallId, call.toolName, call.input));
  const used = await stream.usage;
  const message = messages.find(({ role }) => role === 'assistant') as AssistantModelMessage | undefined; // found by its role
  return {
    text,
    calls,
    message: message ?? { role: 'assistant', content: text },
    usage: { inputTokens: used.inputTokens ?? 0, outputTokens: used.outputTokens ?? 0 },
    stopReason: finish === 'length' ? 'length' : finish === 'content-filter' ? 'content_filter' : 'end',
  };
}

/** The stream ended and the answer did not. */
class CutOff extends Error {
  constructor() {
    super('the stream ended and the answer did not');
  }
}

function sum(one: TokenUsage, other: TokenUsage): TokenUsage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
}
