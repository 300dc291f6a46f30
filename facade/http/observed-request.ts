import type { IncomingHttpHeaders } from 'node:http';
import { withoutCredentials } from '../../tools/core/access/key-secret.ts';
import { type HistogramSeries, keptIn } from '../../tools/core/telemetry/meter.ts';
import { runInSpan, type TraceContext } from '../../tools/core/telemetry/span.ts';
import type { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import type { Middleware } from './middleware.ts';
import type { Endpoint, RequestContext } from './request-context.ts';
import { isBelowApi } from './target.ts';

/** Measures requests for endpoints, and all below `/api`, until their answers have ended. */
export function measureRequests({ measures }: Telemetry): Middleware {
  const points = new Map<Endpoint | undefined, Map<string, HistogramSeries>>();

  /** Found by two short steps, as each request needs it. */
  function pointOf(endpoint: Endpoint | undefined, method: string, status: number): HistogramSeries {
    const ofEndpoint = keptIn(points, endpoint, () => new Map<string, HistogramSeries>());
    const key = endpoint?.method === method && status === 200 ? '' : `${method} ${status}`;
    return keptIn(ofEndpoint, key, () => measures.httpSeconds.point(method, endpoint?.path ?? '', String(status)));
  }

  return ({ request: { method = '' }, response, target, here, endpoint = here[0] }, next) => {
    if (!endpoint && !isBelowApi(target)) return next();
    const begun = performance.now();
    response.on('close', () => {
      pointOf(endpoint, method, response.statusCode).record((performance.now() - begun) / 1000);
    });
    next();
  };
}

/** Answers the request of a caller who was admitted, in a span that continues the caller's trace. */
export function tracedRequest(
  { tracer }: Telemetry,
  { request, response, url, requestId }: RequestContext,
  route: string,
  work: () => Promise<void> | void,
): Promise<void> | void {
  if (!tracer) return work();
  const { method = '' } = request;
  const attributes = {
    'http.request.method': method,
    'http.route': route,
    'url.path': withoutCredentials(url.pathname),
    'url.scheme': 'http',
    'network.protocol.version': request.httpVersion,
    'agent_admin.request.id': requestId,
  };
  const span = tracer.root({ name: `${method} ${route}`, kind: 'server', attributes }, traceIn(request.headers));
  response.on('close', () => {
    const status = response.statusCode;
    span.set({ 'http.response.status_code': status });
    span.end(status >= 500 ? String(status) : undefined);
  });
  return runInSpan(span, async () => work());
}

/** The trace that the caller names. Whether it is well-formed is not known yet. */
export function traceIn({ traceparent, tracestate }: IncomingHttpHeaders): TraceContext | undefined {
  if (typeof traceparent !== 'string') return undefined;
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) };
}
