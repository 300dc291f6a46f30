import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { splitContext } from '../../tools/core/models/prompt-sections.ts';
import { onLoopback } from './loopback.ts';

/** What a chat request sent to the model. */
export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly ModelServerMessage[];
  /** Names of the tools that the model may call. */
  readonly tools: readonly string[];
  /** The body as it came. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely
  readonly body: any;
  readonly authorization: string | undefined;
  readonly headers: IncomingMessage['headers'];
}

interface ModelServerMessage {
  readonly role: string;
  readonly content: string;
  /** What was sent with it for its turn alone. */
  readonly context: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly toolCallId?: string;
}

/** What the model does on one request. */
export type Reply =
  | {
      readonly text?: string;
      readonly calls?: readonly { readonly name: string; readonly arguments: unknown }[];
      /** Milliseconds before each piece. */
      readonly pace?: number;
      /** In the wire format of OpenAI. */
      readonly usage?: Readonly<Record<string, unknown>>;
      readonly finish?: 'stop' | 'length' | 'tool_calls' | 'content_filter';
      /** Ends the connection after the text, without an end of the answer. */
      readonly cut?: 'connection' | 'stream';
      /** Ends neither the answer nor the connection after the text. */
      readonly goesOn?: true;
    }
  /** The bytes of an answer, and how the connection ends after them. */
  | { readonly bytes: string; readonly end: 'connection' | 'stream' }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly error?: string }
  | 'hang'
  | 'hang up';

/** An OpenAI-compatible server of a model whose part the test plays. */
export interface ModelServer {
  readonly baseUrl: string;
  readonly requests: readonly ModelRequest[];
  /** Requests whose connection the client closed before the answer was complete. */
  readonly aborted: () => number;
  /** Pieces of text it sent, in all. */
  readonly said: () => number;
  /** What it does from now on; called for each request. */
  play(part: (request: ModelRequest, count: number) => Reply): void;
  close(): Promise<void>;
}

/** `models`: what it lists; undefined: it has no list. */
export async function startModelServer(models: readonly string[] | undefined = ['tiny']): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  let part: (request: ModelRequest, count: number) => Reply = () => ({ text: 'Hello.' });
  let aborted = 0;
  let said = 0;
  const server = createServer(async (request, response) => {
    response.on('close', () => {
      if (!response.writableFinished) aborted += 1;
    });
    if (request.url?.startsWith('/v1/models')) return void sendModels(response, models);
    const asked = await readRequest(request);
    requests.push(asked);
    await perform(response, part(asked, requests.length), asked, () => (said += 1)).catch(() => response.destroy());
  });
  const { url, close } = await onLoopback(server);
  return {
    baseUrl: `${url}/v1`,
    requests,
    aborted: () => aborted,
    said: () => said,
    play(next) {
      part = next;
    },
    close,
  };
}

function sendModels(response: ServerResponse, models: readonly string[] | undefined): void {
  if (!models) response.writeHead(404, { 'Content-Type': 'text/plain' }).end('no such page');
  else {
    const data = models.map((id) => ({ id, object: 'model' }));
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ object: 'list', data }));
  }
}

async function readRequest(request: IncomingMessage): Promise<ModelRequest> {
  let text = '';
  for await (const chunk of request) text += chunk;
  const body = JSON.parse(text);
  return {
    model: body.model,
    messages: body.messages.map(messageOf),
    tools: (body.tools ?? []).map((tool: { function: { name: string } }) => tool.function.name),
    body,
    authorization: request.headers.authorization,
    headers: request.headers,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a message as it came
function messageOf({ role, content, tool_calls: calls = [], tool_call_id: toolCallId }: any): ModelServerMessage {
  const sent =
    typeof content === 'string' ? content : (content ?? []).map((item: { text: string }) => item.text).join('');
  const { text, context } = splitContext(sent);
  const toolCalls = calls.map((call: { id: string; function: { name: string; arguments: string } }) => ({
    id: call.id,
    ...call.function,
  }));
  return { role, content: text, context, toolCalls, ...(toolCallId && { toolCallId }) };
}

async function perform(
  response: ServerResponse,
  reply: Reply,
  { model, messages }: ModelRequest,
  onSaid: () => void,
): Promise<void> {
  if (reply === 'hang') return;
  if (reply === 'hang up') return void response.destroy();
  if ('bytes' in reply) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    await new Promise<void>((sent) => response.write(reply.bytes, () => sent()));
    return void (reply.end === 'stream' ? response.end() : response.destroy());
  }
  if ('status' in reply) {
    response.writeHead(reply.status, { 'Content-Type': 'application/json', ...reply.headers });
    return void response.end(JSON.stringify({ error: { message: reply.error ?? 'refused', type: 'test' } }));
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const send = async (delta: object, rest: object = {}) => {
    if (reply.pace) await sleep(reply.pace);
    if (response.destroyed) throw new Error('The client has gone.');
    const choices = [{ index: 0, delta, finish_reason: null, ...rest }];
    response.write(`data: ${JSON.stringify({ id: 'cmpl', object: 'chat.completion.chunk', model, choices })}\n\n`);
  };
  await send({ role: 'assistant', content: '' });
  for (const piece of reply.text?.match(/\S+\s*/g) ?? []) {
    await send({ content: piece });
    onSaid();
  }
  if (reply.goesOn) return;
  if (reply.cut === 'connection') return void response.destroy();
  if (reply.cut === 'stream') return void response.end();
  const calls = reply.calls ?? [];
  for (const [index, { name, arguments: args }] of calls.entries()) {
    const id = `c${messages.length}_${index}`;
    const text = typeof args === 'string' ? args : JSON.stringify(args);
    const half = Math.ceil(text.length / 2);
    await send({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: text.slice(0, half) } }] });
    await send({ tool_calls: [{ index, function: { arguments: text.slice(half) } }] });
  }
  await send({}, { finish_reason: reply.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop') });
  const usage = reply.usage ?? { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  response.write(`data: ${JSON.stringify({ id: 'cmpl', model, choices: [], usage })}\n\n`);
  response.end('data: [DONE]\n\n');
}
