import type * as Api from '@opentelemetry/api';
import type { Attributes, Span, SpanOptions, TraceContext, Tracer } from '../../tools/core/telemetry/span.ts';

interface TracerOptions {
  readonly api: typeof Api;
  readonly tracer: Api.Tracer;
  /** Whether traces of callers are continued, and passed on. */
  readonly passesOn: boolean;
}

/** Makes spans with a tracer of OpenTelemetry. Contexts are given to it explicitly, so several servers in one process do not mix. */
export function createTracer(parts: TracerOptions): Tracer {
  return {
    root(options, from) {
      const { api, passesOn } = parts;
      const caller = passesOn && from ? remoteSpan(api, from) : undefined;
      return begin(parts, options, caller ? api.trace.setSpanContext(api.ROOT_CONTEXT, caller) : api.ROOT_CONTEXT);
    },
  };
}

function begin(parts: TracerOptions, options: SpanOptions, context: Api.Context): Span {
  const { api, tracer } = parts;
  const { name, kind = 'internal', attributes = {}, link } = options;
  const linked = link && remoteSpan(api, link);
  const made = tracer.startSpan(
    name,
    { kind: kinds(api)[kind], attributes: present(attributes), links: linked ? [{ context: linked }] : [] },
    context,
  );
  return new OwnSpan(made, parts);
}

class OwnSpan implements Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly #span: Api.Span;
  readonly #options: TracerOptions;

  constructor(span: Api.Span, options: TracerOptions) {
    const { traceId, spanId } = span.spanContext();
    this.traceId = traceId;
    this.spanId = spanId;
    this.#span = span;
    this.#options = options;
  }

  child(options: SpanOptions): Span {
    const { api } = this.#options;
    return begin(this.#options, options, api.trace.setSpan(api.ROOT_CONTEXT, this.#span));
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(present(attributes));
  }

  end(failure?: string): void {
    if (failure !== undefined) {
      this.#span.setAttribute('error.type', failure);
      this.#span.setStatus({ code: this.#options.api.SpanStatusCode.ERROR });
    }
    this.#span.end();
  }

  carry(): TraceContext | undefined {
    if (!this.#options.passesOn) return undefined;
    const { traceId, spanId, traceFlags, traceState } = this.#span.spanContext();
    const tracestate = traceState?.serialize();
    const flags = traceFlags.toString(16).padStart(2, '0');
    return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(tracestate && { tracestate }) };
  }
}

/** Version, trace, span and flags, as https://www.w3.org/TR/trace-context/ has them. Later versions may say more after them. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Longer ones may be dropped, says the same text. */
const LONGEST_STATE = 512;

/** Undefined if it is malformed: the caller's trace is then not continued. */
function remoteSpan(api: typeof Api, { traceparent, tracestate }: TraceContext): Api.SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent.trim()) ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return undefined;
  const state = tracestate !== undefined && tracestate.length <= LONGEST_STATE ? tracestate : undefined;
  const context: Api.SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & api.TraceFlags.SAMPLED,
    isRemote: true,
    ...(state && { traceState: api.createTraceState(state) }),
  };
  return api.isSpanContextValid(context) ? context : undefined;
}

function kinds({ SpanKind }: typeof Api) {
  return { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };
}

function present(attributes: Attributes): Api.Attributes {
  const found = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(found) as Api.Attributes; // without members that are undefined
}
