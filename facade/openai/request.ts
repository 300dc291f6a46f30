import { MOST_TOKENS } from '../../tools/chat/answer.ts';
import { invalidMember, ToolError } from '../../tools/core/errors.ts';
import { isObject, parseJson } from '../../tools/core/json.ts';
import { decodeText, heavyTurn, jsonBody, readBody } from '../http/body.ts';
import type { RequestContext } from '../http/request-context.ts';

/** A chat completion, as a call of a tool. */
export interface CompletionRequest {
  readonly model: string;
  readonly tool: 'invoke_agent' | 'send_chat_message';
  readonly input: Readonly<Record<string, unknown>>;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Whether the answer is the JSON of a schema. */
  readonly hasForm: boolean;
}

type Body = Readonly<Record<string, unknown>>;

interface Said {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string;
}

/** As many earlier messages are passed on; older ones are left out. */
const MOST_EARLIER = 200;

/** @throws ToolError (invalid_input, too_large, unsupported_media_type) */
export async function readRequest(context: RequestContext): Promise<CompletionRequest> {
  const bytes = await readBody(
    context,
    jsonBody(() => false),
  );
  const turn = heavyTurn(context);
  if (turn) await turn;
  const body = parseJson(decodeText(bytes));
  if (!isObject(body)) throw new ToolError('invalid_input', 'The body must be a JSON object.');
  return requestIn(body);
}

function requestIn(body: Body): CompletionRequest {
  const { model, stream = false, stream_options: options, metadata } = body;
  if (typeof model !== 'string' || model === '') throw invalidMember('model', 'model: give the name of an agent.');
  if (stream !== null && typeof stream !== 'boolean') throw invalidMember('stream', 'stream: must be true or false.');
  refuseUnsupported(body);
  const said = messagesIn(body.messages);
  const last = said.at(-1);
  if (last?.role !== 'user') {
    throw invalidMember('messages', 'messages: the last one must be what the user says, with text in it.');
  }
  const form = formIn(body.response_format);
  const threadId = isObject(metadata) ? metadata.thread_id : undefined;
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? undefined;
  const common = {
    model,
    stream: stream === true,
    includeUsage: isObject(options) && options.include_usage === true,
    hasForm: form !== undefined,
  };
  const bounds = maxTokens === undefined ? {} : { maxTokens: bounded(maxTokens) };
  if (threadId !== undefined) {
    if (form)
      throw invalidMember('response_format', 'response_format: a thread keeps texts; leave metadata.thread_id out.');
    const input = { threadId, agentId: model, message: last.content, ...bounds };
    return { ...common, tool: 'send_chat_message', input };
  }
  const history = said.slice(0, -1);
  const wishes = history.filter(({ role }) => role === 'system');
  const talk = history.filter(({ role }) => role !== 'system');
  const kept = [...wishes.slice(-MOST_EARLIER / 2), ...talk].slice(-MOST_EARLIER);
  const input = {
    agent: model,
    input: last.content,
    ...(kept.length > 0 && { history: kept }),
    ...(form && { outputSchema: form }),
    ...bounds,
  };
  return { ...common, tool: 'invoke_agent', input };
}

/** No model writes more, so a client may ask for it. */
function bounded(tokens: unknown): unknown {
  return typeof tokens === 'number' ? Math.min(tokens, MOST_TOKENS) : tokens;
}

/** What an agent cannot do. What may be ignored (sampling, penalties, tools that the model may leave alone) is. */
function refuseUnsupported(body: Body): void {
  const { n, logprobs, audio, modalities, tool_choice: choice, function_call: call } = body;
  if (n !== undefined && n !== null && n !== 1) throw invalidMember('n', 'n: one answer is given; leave it out.');
  if (logprobs === true) throw invalidMember('logprobs', 'logprobs: are not known of agents; leave it out.');
  const media = Array.isArray(modalities) && modalities.some((each) => each !== 'text');
  if (media || (audio !== undefined && audio !== null))
    throw invalidMember('modalities', 'modalities: agents answer in text.');
  for (const [member, value] of Object.entries({ tool_choice: choice, function_call: call })) {
    if (value === undefined || value === null || value === 'auto' || value === 'none') continue;
    throw invalidMember(member, `${member}: an agent calls its own tools and none of the client; leave it out.`);
  }
}

/** Results of the client's own tools are left out, as are answers without text. @throws ToolError */
function messagesIn(messages: unknown): Said[] {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalidMember('messages', 'messages: give at least one, {"role": "user", "content": "..."}.');
  }
  return messages.flatMap((message: unknown, at): Said[] => {
    const path = `messages[${at}]`;
    if (!isObject(message)) throw invalidMember(path, `${path}: must have a role and content.`);
    const { role } = message;
    if (role === 'tool' || role === 'function') return [];
    const as = typeof role === 'string' && Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
    if (!as) throw invalidMember(`${path}.role`, `${path}.role: is one of ${Object.keys(ROLES).join(', ')}, tool.`);
    const content = textOf(message.content, `${path}.content`);
    return content.trim() === '' ? [] : [{ role: as, content }];
  });
}

const ROLES: Readonly<Record<string, Said['role']>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  developer: 'system',
};

function textOf(content: unknown, path: string): string {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw invalidMember(path, `${path}: must be text, or parts with text.`);
  return content.map((part: unknown, at) => partText(part, `${path}[${at}]`)).join('\n');
}

function partText(part: unknown, path: string): string {
  const { type, text, refusal } = isObject(part) ? part : {};
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'refusal' && typeof refusal === 'string') return refusal;
  if (typeof type === 'string' && type !== 'text') {
    const shown = JSON.stringify(type.slice(0, 100));
    throw invalidMember(path, `${path}: agents read text only, not ${shown}; send the text of it, or leave it out.`);
  }
  throw invalidMember(path, `${path}: must be {"type": "text", "text": "..."}.`);
}

function formIn(format: unknown): object | undefined {
  if (format === undefined || format === null) return undefined;
  const { type, json_schema: named } = isObject(format) ? format : {};
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type: 'object' };
  const schema = isObject(named) ? named.schema : undefined;
  if (type === 'json_schema' && isObject(schema)) {
    const { $schema: _, ...plain } = schema; // generators of schemas name their dialect
    return plain;
  }
  throw invalidMember(
    'response_format',
    'response_format: is {"type": "text"}, "json_object", or "json_schema" with a schema.',
  );
}
