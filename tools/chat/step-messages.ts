import type { Message } from '../../resources/message.ts';
import type { NewRecord } from '../../store/port.ts';
import type { Step, ToolResult } from '../agents/exports.ts';

export type NewMessage = Omit<NewRecord<Message>, 'threadId'>;

/** What a call answered, for the model. */
export function resultMessage(toolCallId: string, { ok, text }: Pick<ToolResult, 'ok' | 'text'>) {
  return { role: 'tool', content: text, toolCallId, ...(!ok && { failed: true as const }) } as const;
}

/** A turn with what its calls answered. The results of those that wait for a person come later. */
export function stepMessages({ text, calls, results, waiting, usage }: Step): NewMessage[] {
  const toolCalls = calls.map(({ id, tool, arguments: args }) => ({ id, tool, arguments: args }));
  const answers = calls.flatMap(({ id }, at) =>
    waiting.some(({ toolCallId }) => toolCallId === id) ? [] : [resultMessage(id, results[at] ?? NOTHING)],
  );
  return [{ role: 'assistant', content: text, toolCalls, usage }, ...answers];
}

const NOTHING = { ok: true, text: '' };
