import type { Registry } from '../../tools/core/registry/registry.ts';
import { type HistogramSeries, keptIn } from '../../tools/core/telemetry/meter.ts';
import {
  type Span,
  type SpanOptions,
  type TraceContext,
  type Tracer,
  withSpan,
} from '../../tools/core/telemetry/span.ts';
import { traceIn } from '../http/observed-request.ts';
import type { RequestContext } from '../http/request-context.ts';
import { isObject, isRequestId } from './message.ts';
import { LISTEN, PROTOCOL_VERSIONS, SERVED_METHODS } from './protocol-versions.ts';

const METHODS: ReadonlySet<string> = new Set(SERVED_METHODS);

export class ObservedMessages {
  readonly #registry: Registry;
  readonly #points = new Map<string, HistogramSeries>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Answers a message in a span that continues the trace of its sender, where there is a tracer. */
  traced(context: RequestContext, message: unknown, work: () => Promise<void>): Promise<void> {
    const { tracer } = this.#registry.server.telemetry;
    const method = methodIn(message);
    if (!tracer || method === LISTEN) return work();
    const span = this.#begin(tracer, context, message, method);
    return withSpan(span, work, () => failureOf(context, span));
  }

  /** `begun`: by `performance.now()`. */
  answered({ failure = '' }: RequestContext, message: unknown, begun: number): void {
    const method = methodIn(message);
    if (method !== LISTEN) this.#pointOf(method, failure).record((performance.now() - begun) / 1000);
  }

  #pointOf(method: string, failure: string): HistogramSeries {
    const { messageSeconds } = this.#registry.server.telemetry.measures;
    const key = failure === '' ? method : `${method} ${failure}`;
    return keptIn(this.#points, key, () => messageSeconds.point(method, failure));
  }

  #begin(tracer: Tracer, context: RequestContext, message: unknown, method: string): Span {
    const params = isObject(message) && isObject(message.params) ? message.params : {};
    const [own, ofRequest] = [traceInMeta(params._meta), traceIn(context.request.headers)];
    const options = spanOf(method, context, this.#toolIn(params));
    const span = tracer.root({ ...options, ...(own && { link: ofRequest }) }, own ?? ofRequest);
    if (isObject(message) && isRequestId(message.id)) {
      span.set({ 'jsonrpc.request.id': String(message.id).slice(0, LONGEST_ID) });
    }
    return span;
  }

  #toolIn({ name }: Readonly<Record<string, unknown>>): string | undefined {
    return typeof name === 'string' ? this.#registry.find(name)?.name : undefined;
  }
}

function methodIn(message: unknown): string {
  const method = isObject(message) ? message.method : undefined;
  return typeof method === 'string' && METHODS.has(method) ? method : '_OTHER';
}

/** Why the message was not answered as its sender wished. The code of an error of JSON-RPC has an attribute of its own. */
function failureOf({ failure }: RequestContext, span: Span | undefined): string | undefined {
  if (failure !== undefined && /^-\d+$/.test(failure)) span?.set({ 'rpc.response.status_code': failure });
  return failure;
}

const LONGEST_ID = 100;

function spanOf(method: string, { request, requestId }: RequestContext, tool: string | undefined): SpanOptions {
  const version = request.headers['mcp-protocol-version'];
  return {
    name: tool === undefined ? method : `${method} ${tool}`,
    kind: 'server',
    attributes: {
      'mcp.method.name': method,
      'mcp.protocol.version': PROTOCOL_VERSIONS.find((known) => known === version),
      'gen_ai.operation.name': tool === undefined ? undefined : 'execute_tool',
      'gen_ai.tool.name': tool,
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'network.protocol.version': request.httpVersion,
      'agent_admin.request.id': requestId,
    },
  };
}

function traceInMeta(meta: unknown): TraceContext | undefined {
  if (!isObject(meta) || typeof meta.traceparent !== 'string') return undefined;
  const { traceparent, tracestate } = meta;
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) };
}
