import { isObject, parseJson } from '../../resources/json.ts';
import { MOST_TOKENS } from '../../tools/chat/answer.ts';
import { invalidMember, ToolError } from '../../tools/core/errors.ts';
import { hashOf } from '../../tools/documents/files/hash.ts';
import { decodeText, FILES_SILENCE_MS, heavyTurn, jsonBody, LARGEST_BODY, readBody } from '../http/body.ts';
import type { HeldFiles } from '../http/held-files.ts';
import type { RequestContext } from '../http/request-context.ts';
import { contentOf, type SentFile } from './content-parts.ts';

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
  readonly files: readonly SentFile[];
}

/** As many earlier messages are passed on; older ones are left out. */
const MOST_EARLIER = 200;

/** Files of 20 MB in base64, with what stands around them. */
export const LARGEST_WITH_FILES = 28 * 1024 * 1024;
const BODY = jsonBody(() => false);
const WITH_FILES = { ...BODY, largest: LARGEST_WITH_FILES, silenceMs: FILES_SILENCE_MS };

interface Reading {
  /** Gets the files of the messages, in the order in which the input names them. */
  readonly held: HeldFiles;
  /** Whether the caller could give files to any agent. */
  readonly mayAttach: boolean;
}

/** @throws ToolError (invalid_input, too_large, unsupported_media_type) */
export async function readRequest(context: RequestContext, { held, mayAttach }: Reading): Promise<CompletionRequest> {
  if (mayAttach && mayBeLarge(context)) await held.takeTurn(context.principal);
  const bytes = await readBody(context, mayAttach ? WITH_FILES : BODY);
  const turn = heavyTurn(context);
  if (turn) await turn;
  const body = parseJson(decodeText(bytes));
  if (!isObject(body)) throw new ToolError('invalid_input', 'The body must be a JSON object.');
  const said = messagesIn(body.messages);
  // Clients send the files of all messages, also those that are not passed on.
  const beside = bytes.length - bytesIn(said).reduce((sum, { length }) => sum + Math.ceil(length / 3) * 4, 0);
  if (beside > LARGEST_BODY) throw new ToolError('too_large', TOO_LONG);
  const { files, ...request } = await requestIn(body, said);
  held.bytes = files;
  if (files.length === 0) held.release();
  return request;
}

const TOO_LONG = `The body has more than ${LARGEST_BODY} bytes beside its files; send less at a time.`;

/** Whether more may come than a body without files has. */
function mayBeLarge({ request: { headers } }: RequestContext): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  const isPlain = (headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity';
  return !isPlain || Number(headers['content-length'] ?? 0) > LARGEST_BODY;
}

interface WithFiles extends CompletionRequest {
  readonly files: readonly Buffer[];
}

async function requestIn(body: Body, said: readonly Said[]): Promise<WithFiles> {
  const { model, stream = false, stream_options: options, metadata } = body;
  if (typeof model !== 'string' || model === '') throw invalidMember('model', 'model: give the name of an agent.');
  if (stream !== null && typeof stream !== 'boolean') throw invalidMember('stream', 'stream: must be true or false.');
  refuseUnsupported(body);
  const last = said.at(-1);
  if (last?.role !== 'user') {
    throw invalidMember('messages', 'messages: the last one must be what the user says, with text or a file in it.');
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
    const said = last.content.trim() === '' ? {} : { message: last.content };
    const input = { threadId, agentId: model, ...said, ...(await attachmentsIn(last)), ...bounds };
    return { ...common, tool: 'send_chat_message', input, files: bytesIn([last]) };
  }
  const history = said.slice(0, -1);
  const wishes = history.filter(({ role }) => role === 'system');
  const talk = history.filter(({ role }) => role !== 'system');
  const kept = [...wishes.slice(-MOST_EARLIER / 2), ...talk].slice(-MOST_EARLIER);
  const input = {
    agent: model,
    input: last.content.trim() === '' ? NO_WORDS : last.content,
    ...(await attachmentsIn(last)),
    ...(kept.length > 0 && { history: await Promise.all(kept.map(earlierIn)) }),
    ...(form && { outputSchema: form }),
    ...bounds,
  };
  return { ...common, tool: 'invoke_agent', input, files: bytesIn([...kept, last]) };
}

/** An agent is always told something. */
const NO_WORDS = 'Look at the attached files.';

async function earlierIn(said: Said) {
  const content = said.content === '' ? NO_WORDS : said.content;
  return { role: said.role, content, ...(await attachmentsIn(said)) };
}

/** The hashes stand for the bytes where repeats are compared. */
async function attachmentsIn({ files }: Said) {
  if (files.length === 0) return {};
  const named = files.map(async ({ bytes, ...file }) => ({ ...file, sha256: await hashOf(bytes) }));
  return { attachments: await Promise.all(named) };
}

function bytesIn(said: readonly Said[]): Buffer[] {
  return said.flatMap(({ files }) => files.map(({ bytes }) => bytes));
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
    const { text: content, files } = contentOf(message.content, `${path}.content`);
    if (files.length > 0 && as !== 'user') throw invalidMember(path, `${path}: only what the user says has files.`);
    return content.trim() === '' && files.length === 0 ? [] : [{ role: as, content, files }];
  });
}

const ROLES: Readonly<Record<string, Said['role']>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  developer: 'system',
};

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
