import {
  INVALID_PARAMS,
  isSpecType,
  legacyStatelessFallback,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Exchange } from '../http/exchange.ts';
import type { DoorParts, Flights } from './calls.ts';
import { mayLog } from './logging.ts';
import { answerableId, isObject, isRequestId, RpcError } from './message.ts';
import { createSdkServer, type SdkVisit } from './sdk-server.ts';
import { acceptsEvents, errorResponse } from './web.ts';

/**
 * Answers a message of the 2025 and 2024 revisions. The answer is JSON, or a stream for a call whose client wants to hear of its progress.
 */
export async function answerLegacy(parts: DoorParts, visit: SdkVisit): Promise<Response> {
  const { message, request, exchange } = visit;
  if (isMalformedInitialize(message)) {
    const error = new RpcError(
      INVALID_PARAMS,
      'Invalid params: initialize has protocolVersion, capabilities and clientInfo.',
    );
    return errorResponse(answerableId(message), error, 200);
  }
  if (acceptsEvents(exchange) && wantsStream(parts, visit)) {
    const serveStream = legacyStatelessFallback(() => createSdkServer(parts, visit, 'legacy'), parts.onError);
    return serveStream(request, { parsedBody: message });
  }
  const answer = await answerInJson(parts, visit);
  if (answer.status === 202) noteCancellation(parts.flights, exchange, message);
  return answer;
}

async function answerInJson(parts: DoorParts, visit: SdkVisit): Promise<Response> {
  const { message, request, flight } = visit;
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  const server = createSdkServer(parts, visit, 'legacy');
  await server.connect(transport);
  try {
    return await Promise.race([transport.handleRequest(request, { parsedBody: message }), aborted(flight.signal)]);
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
function noteCancellation(flights: Flights, { principal }: Exchange, message: unknown): void {
  if (!isObject(message) || message.method !== 'notifications/cancelled' || !isObject(message.params)) return;
  const { requestId } = message.params;
  if (isRequestId(requestId)) flights.cancel(principal, requestId);
}

function isMalformedInitialize(message: unknown): boolean {
  return isObject(message) && message.method === 'initialize' && !isSpecType.InitializeRequest(message);
}

/** Whether the client wants to hear of the call's progress or its log messages. */
function wantsStream({ levels, registry }: DoorParts, { message, exchange }: SdkVisit): boolean {
  if (!isObject(message) || message.method !== 'tools/call' || !isObject(message.params)) return false;
  const { _meta, name } = message.params;
  if (isObject(_meta) && _meta.progressToken !== undefined) return true;
  return levels.of(exchange) !== undefined && mayLog(registry, name);
}
