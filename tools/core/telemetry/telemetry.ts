import { Measures } from './measures.ts';
import type { CountedPoint, Histogram, HistogramSeries, LabelValues } from './meter.ts';
import { activeSpan, failureOf, type SpanOptions, type Tracer, withChildSpan, withSpan } from './span.ts';

interface TelemetryOptions {
  /** Absent: there are no traces. */
  readonly tracer?: Tracer | undefined;
  /** Traces show what was sent to models, and tool arguments and answers, without secrets. */
  readonly showsContent?: boolean;
  /** Names of tools that may be labels: few, and none that somebody chose. */
  readonly toolNames?: Iterable<string>;
}

interface ToolCall {
  readonly door: string;
  readonly requestId: string;
  readonly principal: { readonly type: string };
}

type CameOfIt = { readonly ok: true } | { readonly ok: false; readonly error: { readonly code: string } };

const LONGEST_CONTENT = 16 * 1024;

/** Stands for names that no tool has. */
const UNKNOWN = '(unknown)';

interface ToolPoints {
  readonly calls: CountedPoint;
  readonly seconds: HistogramSeries;
}

/** What calls of a tool, or of many under one label, are counted under, by door and error. */
class ToolMeasure {
  readonly label: string;
  readonly points = new Map<string, ToolPoints>();

  constructor(label: string) {
    this.label = label;
  }
}

/** Measures what this process does, and traces it where there is a tracer. */
export class Telemetry {
  readonly measures = new Measures();
  readonly tracer: Tracer | undefined;
  readonly showsContent: boolean;
  readonly #own: ReadonlyMap<string, ToolMeasure>;
  readonly #integrations = new ToolMeasure('(integration)');
  readonly #unknown = new ToolMeasure(UNKNOWN);

  constructor({ tracer, showsContent = false, toolNames = [] }: TelemetryOptions = {}) {
    this.tracer = tracer;
    this.showsContent = tracer !== undefined && showsContent;
    this.#own = new Map([...toolNames].map((name) => [name, new ToolMeasure(name)]));
  }

  /** Runs a tool call in a child span, if there is a parent. `name`: undefined for an unknown tool. */
  call<Result extends CameOfIt>(
    call: ToolCall,
    name: string | undefined,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const outer = activeSpan();
    return outer ? withSpan(outer.child(toolSpan(call, name)), work, codeOf) : work();
  }

  /** Counts a call that has ended, `begun` by `performance.now()`. */
  called(name: string | undefined, door: string, code: string | undefined, begun: number): void {
    const ofTool = name === undefined ? this.#unknown : (this.#own.get(name) ?? this.#integrations);
    const key = code === undefined ? door : `${door} ${code}`;
    const { calls, seconds } = ofTool.points.get(key) ?? this.#pointsOf(ofTool, key, door, code);
    calls.add(1);
    seconds.record((performance.now() - begun) / 1000);
  }

  #pointsOf({ label, points }: ToolMeasure, key: string, door: string, code = ''): ToolPoints {
    const { calls, toolSeconds } = this.measures;
    const made = { calls: calls.point(label, door, code), seconds: toolSeconds.point(label, code) };
    points.set(key, made);
    return made;
  }

  /** Adds content to the trace. Only where `showsContent`. */
  show(name: string, value: object): void {
    activeSpan()?.set({ [name]: JSON.stringify(value).slice(0, LONGEST_CONTENT) });
  }

  /** Runs root work such as a job, with a trace of its own. */
  alone<Result>(
    options: () => SpanOptions,
    work: () => Promise<Result>,
    failureIn?: (result: Result) => string | undefined,
  ): Promise<Result> {
    if (!this.tracer) return work();
    return withSpan(this.tracer.root({ link: activeSpan()?.carry(), ...options() }), work, failureIn);
  }
}

/** Measures how long the work takes. The kind of its error, or an empty text, becomes the last label. */
export async function timed<Result>(
  histogram: Histogram,
  labels: LabelValues,
  work: () => Promise<Result>,
  failureIn: (result: Result) => string | undefined = () => undefined,
): Promise<Result> {
  const started = performance.now();
  const end = (failure = '') => histogram.record((performance.now() - started) / 1000, ...labels, failure);
  try {
    const result = await work();
    end(failureIn(result));
    return result;
  } catch (thrown) {
    end(failureOf(thrown));
    throw thrown;
  }
}

/** Does both: measures the work and, where there is a span around it, gives it one of its own. */
export function observed<Result>(
  histogram: Histogram,
  labels: LabelValues,
  options: () => SpanOptions,
  work: () => Promise<Result>,
  failureIn?: (result: Result) => string | undefined,
): Promise<Result> {
  return timed(histogram, labels, () => withChildSpan(options, work, failureIn), failureIn);
}

function toolSpan({ door, requestId, principal }: ToolCall, name = UNKNOWN): SpanOptions {
  return {
    name: `execute_tool ${name}`,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.type': 'function',
      'agent_admin.door': door,
      'agent_admin.request.id': requestId,
      'agent_admin.principal.type': principal.type,
    },
  };
}

function codeOf(result: CameOfIt): string | undefined {
  return result.ok ? undefined : result.error.code;
}
