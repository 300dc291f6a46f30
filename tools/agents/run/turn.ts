import { setTimeout as sleep } from 'node:timers/promises';
import type { AssistantModelMessage, ModelMessage, StreamTextResult, TextStreamPart, ToolSet } from 'ai';
import type { FallbackReason, StopReason, TokenUsage } from '../../../resources/agent-run.ts';
import type { ModelInput } from '../../../resources/model-provider.ts';
import { backoffMs } from '../../../store/backoff.ts';
import { loadPackage } from '../../core/load-package.ts';
import type { LanguageModel } from '../../core/models/language-model.ts';
import { ProviderFailure } from '../../core/models/provider-failure.ts';
import { storableText } from '../../core/models/sanitize-text.ts';
import { NO_TOKENS, sumOfTokens, tokensUsed } from '../../core/models/token-usage.ts';
import { tokensOf } from '../../core/models/tokens.ts';
import type { AgentTools, OfferedTool, ToolCall } from './agent-tools.ts';
import { callSettings, type ModelCallSettings, Silence, tooSlow } from './call-settings.ts';
import { withinBudget } from './conversation-history.ts';
import { filled, type ReadPromptFile, tokensOfMessages } from './prompt-files.ts';

/** One answer of a model, in which it may call tools. */
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

/** Called for everything that happens in a turn, in order. */
export interface TurnListener {
  /** The model wrote a piece of text. */
  said(text: string): void;
  /** The turn broke off and begins again: what was said in it is void. */
  restarted(text: string): void;
  turned(turn: Turn, model?: string): void;
  /** The model did not answer, so another one is asked. */
  fellBack(model: string, reason: FallbackReason): void;
}

export interface TurnOptions {
  readonly model: LanguageModel;
  /** Of the model, where it is one of several. */
  readonly modelId?: string | undefined;
  /** Asked in turn where the model before does not begin to answer. */
  readonly fallbacks?: readonly FallbackModel[] | undefined;
  /** What the model reads. Default: text. */
  readonly inputs?: readonly ModelInput[] | undefined;
  /** Reads the files of messages. Absent where no message has any. */
  readonly readFile?: ReadPromptFile | undefined;
  readonly settings?: ModelCallSettings | undefined;
  readonly system: string;
  readonly tools: Pick<AgentTools, 'offered' | 'describe'>;
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
  /** Called before each turn. Aborts the signal where the caller may not continue. */
  askAgain(): Promise<void>;
  /** Takes a turn, where it may be taken, and counts what it used. */
  metered(estimate: () => TokenUsage, take: () => Promise<Turn>, model?: string): Promise<Turn>;
  readonly listener: TurnListener;
}

interface FallbackModel {
  readonly id: string;
  readonly model: LanguageModel;
  readonly maxOutputTokens?: number | undefined;
  readonly inputs?: readonly ModelInput[] | undefined;
}

const LONGEST_TEXT = 500_000;

/** What a turn may use at most, roughly. */
function estimateOf({ system, tools, maxOutputTokens }: TurnOptions, messages: readonly ModelMessage[]): TokenUsage {
  const inputTokens =
    tokensOf(system) + tokensOf(JSON.stringify(tools.offered)) + tokensOfMessages(withinBudget(messages));
  return { inputTokens, outputTokens: maxOutputTokens };
}

/** How often a turn is asked for that breaks off. */
const ATTEMPTS = 3;
const BACKOFF = { firstMs: 250, longestMs: 2000 };

/** Takes the turn of the first model that begins to answer. @throws ProviderFailure, or the reason of the signal */
export async function answeredTurn(options: TurnOptions, messages: readonly ModelMessage[]) {
  for (let asking: TurnOptions = options; ; ) {
    try {
      return { ...(await wholeTurn(asking, messages)), answered: asking };
    } catch (error) {
      const [next, ...fallbacks] = asking.fallbacks ?? [];
      if (!(error instanceof ProviderFailure) || error.isCut || !error.reason || !next) throw error;
      asking.listener.fellBack(asking.modelId ?? asking.model.modelId, error.reason);
      const { id: modelId, model, inputs, maxOutputTokens = options.maxOutputTokens } = next;
      const most = Math.min(options.maxOutputTokens, maxOutputTokens);
      asking = { ...asking, modelId, model, inputs, fallbacks, maxOutputTokens: most };
      await asking.askAgain();
      asking.signal.throwIfAborted();
    }
  }
}

/** Asks again for a turn that broke off. Its calls were not run, as calls run only once the turn is whole. */
async function wholeTurn(options: TurnOptions, messages: readonly ModelMessage[]) {
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
    if (turn.cut) signal.throwIfAborted(); // what was used of it is counted
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

async function takeTurn(options: TurnOptions, messages: readonly ModelMessage[]): Promise<Turn> {
  const { model, system, tools, maxOutputTokens, signal, listener } = options;
  const library = await loadPackage('ai', () => import('ai'));
  const { timeoutSeconds } = options.settings ?? {};
  const silence = new Silence(timeoutSeconds);
  const stream = library.streamText({
    model,
    system,
    messages: await given(options, messages),
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
    if (written === 0) signal.throwIfAborted();
    const failure = silence.signal.aborted
      ? tooSlow(model, { timeoutSeconds, isCut: written > 0 })
      : await ProviderFailure.of(model, error);
    if (!failure.isCut && !signal.aborted) throw failure;
    const { inputTokens } = estimateOf(options, messages);
    const usage = { inputTokens, outputTokens: Math.ceil(written / CHARACTERS_PER_TOKEN) };
    const message = { role: 'assistant', content: text } as const;
    return { cut: failure, text, calls: [], message, usage, ms: performance.now() - begun, stopReason: 'end' };
  } finally {
    silence.over();
  }
}

const CHARACTERS_PER_TOKEN = 4;

function given({ inputs = ['text'], readFile }: TurnOptions, messages: readonly ModelMessage[]) {
  const kept = withinBudget(messages);
  return readFile ? filled(kept, { inputs, read: readFile }) : kept;
}

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
  tools: TurnOptions['tools'],
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
