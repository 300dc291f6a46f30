import { boot, toSignIn } from './boot.ts';
import { AWAY, CallError, type ErrorBody } from './call-error.ts';

const VERSION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'dashboard', version: boot.version },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with each report of a call that takes a while, such as a chat. */
  readonly onProgress?: (progress: { readonly progress: number; readonly message?: string }) => void;
  /** Called with each log line of the call. */
  readonly onMessage?: (message: { readonly level: string; readonly data: string }) => void;
}

interface RequestOptions extends CallOptions {
  /** The tool, for `tools/call`. */
  readonly name?: string;
  /** The query of the endpoint, as `?tools=...`. */
  readonly query?: string;
  /** Called with every notification of the stream. */
  readonly onNotification?: (notification: Notification) => void;
}

type Notification = Readonly<{ method: string; params?: Readonly<Record<string, unknown>> }>;

let lastId = 0;

/** Sends one MCP request. Resolves to its result. @throws CallError */
export async function request(method: string, params: object, options: RequestOptions = {}): Promise<unknown> {
  const { name, query = '', signal, onProgress, onMessage, onNotification } = options;
  const streams = Boolean(onProgress ?? onMessage ?? onNotification);
  lastId += 1;
  const meta = {
    ...META,
    ...(onProgress && { progressToken: lastId }),
    ...(onMessage && { 'io.modelcontextprotocol/logLevel': 'debug' }),
  };
  const response = await fetch(`${boot.base}/api/v1/mcp${query}`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: {
      'Content-Type': 'application/json',
      Accept: streams ? 'application/json, text/event-stream' : 'application/json',
      'MCP-Protocol-Version': VERSION,
      'Mcp-Method': method,
      'X-Agent-Admin-Door': 'dashboard',
      ...(name !== undefined && { 'Mcp-Name': name }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params: { ...params, _meta: meta } }),
    signal: signal ?? null,
  }).catch((cause) => {
    throw signal?.aborted ? cause : new CallError(name ?? method, AWAY);
  });
  return resultOf(response, name ?? method, options);
}

const BUSY = { error: 'Too many calls were made; try again in a moment.', code: 'rate_limited' };

async function resultOf(response: Response, about: string, options: RequestOptions): Promise<unknown> {
  if (response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
    for await (const message of readEvents(response)) {
      if ('method' in message) notify(message as Notification, options);
      else return resultIn(message, about, response);
    }
    throw new CallError(about, { error: 'The answer ended before it was complete.', code: 'interrupted' });
  }
  return resultIn(await response.json().catch(() => (response.status === 429 ? BUSY : AWAY)), about, response);
}

function notify(notification: Notification, { onProgress, onMessage, onNotification }: RequestOptions): void {
  const { method, params } = notification;
  // The members are those that MCP names for these notifications.
  if (method === 'notifications/progress') onProgress?.(params as never);
  else if (method === 'notifications/message') onMessage?.(params as never);
  onNotification?.(notification);
}

function resultIn(body: unknown, about: string, { status, headers }: Response): unknown {
  if (status === 401) toSignIn();
  const message = body as { result?: unknown; error?: string | { message: string }; code?: string; requestId?: string };
  if (message.result !== undefined) return message.result;
  if (typeof message.error === 'string') {
    const wait = headers.get('Retry-After');
    throw new CallError(about, { ...(body as ErrorBody), ...(wait !== null && { retryAfterSeconds: Number(wait) }) });
  }
  const requestId = headers.get('X-Request-Id');
  throw new CallError(about, {
    error: message.error?.message ?? 'The server answered in a way that this page does not understand.',
    code: 'failed',
    ...(requestId !== null && { requestId }),
  });
}

/** The JSON messages of a stream of server-sent events, as they come. */
async function* readEvents({ body }: Response): AsyncGenerator<object> {
  const reader = body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split(/\r?\n\r?\n/);
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = block
          .split(/\r?\n/)
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).trimStart())
          .join('\n');
        if (data !== '') yield JSON.parse(data) as object;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
