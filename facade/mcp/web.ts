import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { watchCredential } from '../../tools/core/access/credential-status.ts';
import type { ToolError } from '../../tools/core/errors.ts';
import type { RequestContext } from '../http/request-context.ts';
import { namesEvents } from '../http/target.ts';
import { type RequestId, type RpcError, rpcErrorJson } from './message.ts';
import { sendJsonText, sendNothing } from './response-writer.ts';

/** Without body, which is passed parsed. It accepts every form of answer; the door checks what the client accepts. */
export function webRequest({ request, url, signal }: RequestContext): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string') headers.set(name, value);
  }
  headers.set('accept', 'application/json, text/event-stream');
  return new Request(url, { method: 'POST', headers, signal });
}

/** The headers from which the SDK learns the revision of a message. */
export function standardHeaders({ headers }: Request) {
  const [version, method, name] = ['mcp-protocol-version', 'mcp-method', 'mcp-name'].map((each) => headers.get(each));
  return {
    ...(version != null && { protocolVersionHeader: version }),
    ...(method != null && { mcpMethodHeader: method }),
    ...(name != null && { mcpNameHeader: name }),
  };
}

export function acceptsEvents({ request }: RequestContext): boolean {
  return namesEvents(request.headers.accept);
}

export function errorResponse(id: RequestId | null, error: RpcError, status: number): Response {
  return new Response(rpcErrorJson(id, error), { status, headers: { 'Content-Type': 'application/json' } });
}

/** A stream ends when the client leaves, or cancels, or its credential ends; a call answers with that as its error. */
export async function sendWebResponse(
  context: RequestContext,
  answer: Response,
  onError: (cause: unknown) => void,
): Promise<void> {
  const { response } = context;
  if (response.destroyed || response.writableEnded) {
    await answer.body?.cancel();
    return;
  }
  if (answer.headers.get('content-type')?.startsWith('text/event-stream') && answer.body) {
    const { onRenewed } = context;
    const onGone = (problem: ToolError) => {
      if (problem.cause !== undefined) onError(problem.cause);
      context.abort();
    };
    const stopWatching = onRenewed && watchCredential(() => context.checkCredential(), { onGone, onRenewed });
    await pipeEvents(response, answer, answer.body).finally(stopWatching);
  } else if (answer.body) sendJsonText(response, answer.status, await answer.text());
  else sendNothing(response, answer.status);
}

/** Of a response with events: those of all middlewares, and the seven of a pipeline. */
const MOST_LISTENERS = 20;

async function pipeEvents(response: ServerResponse, answer: Response, body: NonNullable<Response['body']>) {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  response.setMaxListeners(MOST_LISTENERS);
  try {
    await pipeline(Readable.fromWeb(body), response);
  } catch {
    response.destroy(); // the client went away, or the stream broke, so there is nobody to answer
  }
}
