import { AsyncLocalStorage } from 'node:async_hooks';

/** A unit of work with an entry in a trace. The telemetry backend creates it. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** Begins a piece of work inside this one. */
  child(options: SpanOptions): Span;
  set(attributes: Attributes): void;
  /** Ends it, at most once. `failure`: the kind of what went wrong, never a text. */
  end(failure?: string): void;
  /** What another server needs to continue the trace. Undefined if traces are not passed on. */
  carry(): TraceContext | undefined;
}

export interface SpanOptions {
  /** One of few: neither ids nor texts of people. */
  readonly name: string;
  /** Default: `internal`. */
  readonly kind?: 'server' | 'client' | 'internal';
  readonly attributes?: Attributes;
  readonly link?: TraceContext | undefined;
}

/** Members that are undefined are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** The place in a trace, as W3C Trace Context writes it in headers, and MCP in `_meta`. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** Makes spans that are inside no other of this process. */
export interface Tracer {
  root(options: SpanOptions, from?: TraceContext): Span;
}

/** The span inside which code runs. Nothing is ever in it while there is no tracer, and asking then costs next to nothing. */
const active = new AsyncLocalStorage<Span>();

export function activeSpan(): Span | undefined {
  return active.getStore();
}

export function runInSpan<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
  return active.run(span, work);
}

export async function withSpan<Result>(
  span: Span,
  work: () => Promise<Result>,
  failureIn: (result: Result) => string | undefined = () => undefined,
): Promise<Result> {
  try {
    const result = await active.run(span, work);
    span.end(failureIn(result));
    return result;
  } catch (thrown) {
    span.end(failureOf(thrown));
    throw thrown;
  }
}

/** Does the work inside a span of its own if there is one around it. */
export function withChildSpan<Result>(
  options: () => SpanOptions,
  work: () => Promise<Result>,
  failureIn?: (result: Result) => string | undefined,
): Promise<Result> {
  const outer = active.getStore();
  return outer ? withSpan(outer.child(options()), work, failureIn) : work();
}

/** The headers, or members of `_meta`, by which another server continues the trace. */
export function outgoingTrace(): TraceContext | undefined {
  return active.getStore()?.carry();
}

/** The kind of an error: its code where it has one, else the name of its class. */
export function failureOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return '_OTHER';
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  return thrown.name === 'Error' ? thrown.constructor.name : thrown.name;
}

/** Members for each line of the log. */
export function traceOfLog(): object {
  const span = active.getStore();
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
}
