import type { ModelMessage } from './language-model.ts';

/** The longest text of one attribute, in characters. */
const LONGEST = 64 * 1024;

/** What is said to a model, in the form that the conventions of OpenTelemetry give to `gen_ai.input.messages`. */
export function givenMessages(prompt: readonly ModelMessage[]): string {
  return shown(
    prompt.flatMap((message) =>
      message.role === 'system' ? [] : [{ role: message.role, parts: message.content.map(partOf) }],
    ),
  );
}

/** The same for `gen_ai.system_instructions`. */
export function instructionsIn(prompt: readonly ModelMessage[]): string {
  return shown(
    prompt.flatMap((message) => (message.role === 'system' ? [{ type: 'text', content: message.content }] : [])),
  );
}

/** The same for `gen_ai.output.messages`. */
export function answeredMessages(text: string, finish: string): string {
  return shown([{ role: 'assistant', parts: [{ type: 'text', content: text }], finish_reason: finish }]);
}

type Part = Exclude<ModelMessage['content'], string>[number];

function partOf(part: Part): object {
  if (part.type === 'text' || part.type === 'reasoning') return { type: part.type, content: part.text };
  if (part.type === 'tool-call') {
    return { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: part.input };
  }
  if (part.type === 'tool-result') return { type: 'tool_call_response', id: part.toolCallId, result: part.output };
  return { type: part.type };
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, LONGEST);
}
