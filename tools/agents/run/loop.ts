import type { ModelMessage } from 'ai';
import type { StopReason, TokenUsage, WaitingCall } from '../../../resources/agent-run.ts';
import { NO_TOKENS, sumOfTokens } from '../../core/models/token-usage.ts';
import type { AgentTools, ToolCall, ToolResult } from './agent-tools.ts';
import { resultMessage } from './conversation-history.ts';
import { answeredTurn, type TurnListener, type TurnOptions } from './turn.ts';

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
export interface Listener extends TurnListener {
  calling(call: ToolCall): void;
  called(call: ToolCall, result: ToolResult): void;
  /** Called after each turn that called tools. The next turn begins when this is done. */
  stepped(step: Step): Promise<void>;
}

export interface LoopOptions extends TurnOptions {
  readonly messages: readonly ModelMessage[];
  readonly tools: Pick<AgentTools, 'offered' | 'describe' | 'run'>;
  readonly maxSteps: number;
  /** The call, where the run stops for it until a person has decided. Undefined: the model is told that it waits. */
  waitingCall?(call: ToolCall, result: ToolResult): Promise<WaitingCall | undefined>;
  readonly listener: Listener;
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
const TOO_MANY: ToolResult = {
  ok: false,
  text: JSON.stringify({ error: `Not run: a turn makes at most ${MOST_CALLS} calls.`, code: 'conflict' }),
};

/** Lets the model answer and call tools, one after the other, turn by turn. @throws ProviderFailure, or the reason of the signal */
export async function runLoop(options: LoopOptions): Promise<LoopOutcome> {
  const { tools, maxSteps, listener, signal } = options;
  const messages = [...options.messages];
  let asking: TurnOptions = options;
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
      signal.throwIfAborted(); // who is told of the call may give it up
      const result = at < MOST_CALLS ? await tools.run(call) : TOO_MANY;
      listener.called(call, result);
      results.push(result);
    }
    signal.throwIfAborted();
    const waiting = await waitingAmong(turn.calls, results, options);
    await listener.stepped({ text: turn.text, calls: turn.calls, results, waiting, usage: turn.usage });
    if (waiting.length > 0) {
      return {
        ...common,
        lastUsage: NO_TOKENS,
        text: waitingText(turn.calls, results),
        stopReason: 'approval',
        waiting,
      };
    }
    messages.push(turn.message, {
      role: 'tool',
      content: turn.calls.map(({ modelId: id, tool }, at) => resultMessage({ id, tool }, results[at]?.text ?? '')),
    });
    if (step === maxSteps)
      return { ...common, lastUsage: NO_TOKENS, text: unfinished(maxSteps), stopReason: 'max_steps' };
  }
}

/** Written in place of the model's answer, so that people and the model's next turn know that the work is unfinished. */
function unfinished(maxSteps: number): string {
  return `(Stopped after ${maxSteps} turns, before an answer. Send another message to go on.)`;
}

async function waitingAmong(
  calls: readonly ToolCall[],
  results: readonly ToolResult[],
  { waitingCall }: Pick<LoopOptions, 'waitingCall'>,
): Promise<WaitingCall[]> {
  const found: WaitingCall[] = [];
  for (const [at, call] of calls.entries()) {
    const result = results[at];
    const waiting = result?.waits && (await waitingCall?.(call, result));
    if (waiting) found.push(waiting);
  }
  return found;
}

/** Written in place of the model's answer, for the person who reads it and may pass the address on. */
export function waitingText(calls: readonly Pick<ToolCall, 'tool'>[], results: readonly ToolResult[]): string {
  const lines = calls.flatMap(({ tool }, at) => {
    const url = results[at]?.waits?.url;
    return url === undefined ? [] : [`${tool}: ${url}`];
  });
  return `(Waits for approval, and goes on by itself after that.\n${lines.join('\n')})`;
}
