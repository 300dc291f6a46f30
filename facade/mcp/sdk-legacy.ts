import {
  INVALID_PARAMS,
  isSpecType,
  legacyStatelessFallback,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { RequestContext } from '../http/request-context.ts';
import type { McpDeps } from './calls.ts';
import type { CancellableRequests } from './cancellation.ts';
import { mayLog } from './logging.ts';
import { answerableId, isObject, isRequestId, RpcError } from './message.ts';
import { createSdkServer, type SdkRequest } from './sdk-server.ts';
import { acceptsEvents, errorResponse } from './web.ts';

/** Answers with JSON, or with a stream where the client wants to hear of progress. */
export async function answerLegacy(parts: McpDeps, sdkRequest: SdkRequest): Promise<Response> {
  const { message, request, context } = sdkRequest;
  if (isMalformedInitialize(message)) {
    const error = new RpcError(
      INVALID_PARAMS,
      'Invalid params: initialize has protocolVersion, capabilities and clientInfo.',
    );
    return errorResponse(answerableId(message), error, 200);
  }
  if (acceptsEvents(context) && wantsStream(parts, context)) {
    const serveStream = legacyStatelessFallback(() => createSdkServer(parts, context, 'legacy'), parts.onError);
    return serveStream(request, { parsedBody: message });
  }
  const answer = await answerInJson(parts, sdkRequest);
  if (answer.status === 202) noteCancellation(parts.cancellable, context);
  return answer;
}

async function answerInJson(parts: McpDeps, { message, request, context }: SdkRequest): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  const server = createSdkServer(parts, context, 'legacy');
  await server.connect(transport);
  try {
    return await Promise.race([transport.handleRequest(request, { parsedBody: message }), aborted(context.signal)]);
  } finally {
    await server.close();
  }
}

/** Needed because the SDK's transport never answers a request that is aborted. */
function aborted(signal: AbortSignal): Promise<Response> {
  return new Promise((resolve) => {
    const end = () => resolve(new Response(null, { status: 202 }));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

/** In these revisions a client cancels by a notification. In 2026-07-28 it closes the request. */
function noteCancellation(cancellable: CancellableRequests, { principal, message }: RequestContext): void {
  if (!isObject(message) || message.method !== 'notifications/cancelled' || !isObject(message.params)) return;
  const { requestId } = message.params;
  if (isRequestId(requestId)) cancellable.cancel(principal, requestId);
}

function isMalformedInitialize(message: unknown): boolean {
  return isObject(message) && message.method === 'initialize' && !isSpecType.InitializeRequest(message);
}

/** Whether the client wants to hear of the call's progress or its log messages. */
function wantsStream({ levels, registry }: McpDeps, context: RequestContext): boolean {
  const { message } = context;
  if (!isObject(message) || message.method !== 'tools/call' || !isObject(message.params)) return false;
  const { _meta, name } = message.params;
  if (isObject(_meta) && _meta.progressToken !== undefined) return true;
  return levels.of(context) !== undefined && mayLog(registry, name);
}
