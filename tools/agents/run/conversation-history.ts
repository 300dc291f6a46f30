import type { AssistantModelMessage, ModelMessage, ToolModelMessage } from 'ai';
import type { Message } from '../../../resources/message.ts';
import { fence } from '../../core/models/prompt-sections.ts';
import { tokensOf } from '../../core/models/tokens.ts';
import { offeredName } from './agent-tools.ts';
import { withFiles } from './prompt-files.ts';

/** How many tokens of a prompt earlier turns may take where the context of the model is not known, and how many messages they may be. */
export const HISTORY = 24_000;
export const MOST_REMEMBERED = 200;
/** Of a known context, this part, and no more than so many tokens. */
const HISTORY_SHARE = 0.25;
export const MOST_HISTORY = 64_000;

export function historyTokens(contextTokens: number | undefined): number {
  return contextTokens === undefined ? HISTORY : Math.min(MOST_HISTORY, Math.floor(contextTokens * HISTORY_SHARE));
}

/** How many tokens the results of tools may take during a run. */
export const RESULTS = 48_000;

const LEFT_OUT = 'This result was left out to save space; call the tool again if you need it.';

/** Each call comes with its result, because providers refuse a call without one. */
export function historyOf(messages: readonly Message[], gone: ReadonlySet<string>): ModelMessage[] {
  return turnsOf(messages).flatMap((turn) => convertedTurn(turn, gone));
}

/** How many tokens the files of earlier messages may take, beside what was said. */
export function fileTokens(contextTokens: number | undefined): number {
  return contextTokens === undefined ? 2 * HISTORY : Math.floor(contextTokens * FILES_SHARE);
}

const FILES_SHARE = 0.4;
/** Providers take so many bytes at once, and so many images. */
const MOST_FILE_BYTES = 12 * 1024 * 1024;
const MOST_FILES = 20;

/** Ids of the files that are not shown any more: the last stay that take so many tokens. They go in halves of what may be there, so that the beginning stays the same for many turns. */
export function leftOut(messages: readonly Message[], tokens: number): ReadonlySet<string> {
  const files = messages.flatMap(({ attachments = [] }) => attachments);
  const sizes = [
    firstKept(
      files.map((file) => file.tokens),
      tokens,
    ),
    firstKept(
      files.map((file) => file.sizeBytes),
      MOST_FILE_BYTES,
    ),
    firstKept(
      files.map(() => 1),
      MOST_FILES,
    ),
  ];
  return new Set(files.slice(0, Math.max(...sizes)).map(({ id }) => id));
}

/** The place in the messages from which whole turns fit: all of them or, where they are too much, the last half of what may be there. */
export function firstWithin(messages: readonly Message[], tokens: number): number {
  const turns = turnsOf(messages);
  const bySize = firstKept(
    turns.map((turn) => tokensOf(JSON.stringify(convertedTurn(turn, NONE_GONE)))),
    tokens,
  );
  const byNumber = firstKept(
    turns.map(({ length }) => length),
    MOST_REMEMBERED,
  );
  return turns.slice(0, Math.max(bySize, byNumber)).reduce((all, { length }) => all + length, 0);
}

/** Files have a budget of their own. */
const NONE_GONE: ReadonlySet<string> = new Set();

function convertedTurn(turn: readonly Message[], gone: ReadonlySet<string>): ModelMessage[] {
  return turn.flatMap((message, at) => converted(message, turn.slice(at + 1), gone));
}

/** Each turn begins with a message to the model. */
function turnsOf(messages: readonly Message[]): Message[][] {
  const turns: Message[][] = [];
  for (const message of messages) {
    const current = turns.at(-1);
    if (current && message.role !== 'user') current.push(message);
    else turns.push([message]);
  }
  return turns;
}

function converted(message: Message, later: readonly Message[], gone: ReadonlySet<string>): ModelMessage[] {
  const { id, role, content, toolCalls = [], attachments = [] } = message;
  if (role === 'user') return [{ role: 'user', content: withFiles(content, attachments, gone) }];
  if (role === 'system') return [{ role: 'user', content: fence({ kind: 'note', id, text: content }) }];
  if (role === 'tool') return [];
  const answered = toolCalls.flatMap((call) => {
    const result = later.find((other) => other.role === 'tool' && other.toolCallId === call.id);
    return result ? [{ call, result }] : [];
  });
  if (answered.length === 0) return content === '' ? [] : [{ role: 'assistant', content }];
  const calls: AssistantModelMessage = {
    role: 'assistant',
    content: [
      ...(content === '' ? [] : [{ type: 'text' as const, text: content }]),
      ...answered.map(({ call }) => ({
        type: 'tool-call' as const,
        toolCallId: call.id,
        toolName: offeredName(call.tool),
        input: call.arguments,
      })),
    ],
  };
  return [calls, { role: 'tool', content: answered.map(({ call, result }) => resultMessage(call, result.content)) }];
}

type ToolResult = Extract<ToolModelMessage['content'][number], { type: 'tool-result' }>;

export function resultMessage({ id, tool }: { readonly id: string; readonly tool: string }, text: string): ToolResult {
  const value = fence({ kind: 'result', id: tool, text });
  return { type: 'tool-result', toolCallId: id, toolName: offeredName(tool), output: { type: 'text', value } };
}

/**
 * The conversation. Where all results together are too long, the texts of the older half are left out together, so that the beginning stays
 * the same for many turns, and providers find it in their caches.
 */
export function withinBudget(messages: readonly ModelMessage[]): ModelMessage[] {
  const sizes = messages.map((message) => (message.role === 'tool' ? tokensOf(JSON.stringify(message.content)) : 0));
  const first = firstKept(sizes, RESULTS);
  return messages.map((message, at): ModelMessage => {
    if (message.role !== 'tool' || at >= first) return message;
    const content = message.content.map((part) =>
      part.type === 'tool-result' ? resultMessage({ id: part.toolCallId, tool: part.toolName }, LEFT_OUT) : part,
    );
    return { role: 'tool', content };
  });
}

/** The place from which items are kept: whenever those so far are too large, only the last half of what may be there stays, and the last item. */
function firstKept(sizes: readonly number[], most: number): number {
  let [first, kept] = [0, 0];
  for (const [at, size] of sizes.entries()) {
    kept += size;
    if (kept <= most) continue;
    for (; first < at && kept > most / 2; first += 1) kept -= sizes[first] ?? 0;
  }
  return first;
}
