import { createServer } from 'node:http';
import { onLoopback } from './loopback.ts';
import { type Fields, fieldsOf } from './protobuf.ts';

type Value = string | number | boolean | readonly unknown[];
type Attributes = Readonly<Record<string, Value>>;

/** A span as it was sent. */
export interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first one. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'other';
  readonly attributes: Attributes;
  /** The ids of the traces that it is linked to. */
  readonly links: readonly string[];
  readonly isError: boolean;
  readonly message: string;
}

export interface SentMetric {
  readonly name: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'sum' | 'histogram';
  readonly points: readonly { readonly attributes: Attributes; readonly count?: number; readonly value?: number }[];
}

/** A collector on loopback that takes OTLP over HTTP in protobuf. */
export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly SentSpan[];
  /** The metrics of the last delivery. */
  readonly metrics: readonly SentMetric[];
  readonly resource: Attributes;
  /** All that came, as it came. */
  readonly received: () => Buffer;
  readonly headers: readonly NodeJS.Dict<string | string[]>[];
  /** What it answers from now on. `hang`: nothing. */
  answer: number | 'hang';
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const bodies: Buffer[] = [];
  const spans: SentSpan[] = [];
  let metrics: SentMetric[] = [];
  const headers: NodeJS.Dict<string | string[]>[] = [];
  let resource: Attributes = {};
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (receiver.answer === 'hang') return;
    if (receiver.answer !== 200) return void response.writeHead(receiver.answer).end();
    const body = Buffer.concat(chunks);
    bodies.push(body);
    headers.push(request.headers);
    for (const group of fieldsOf(body).messages(1)) {
      resource = attributesIn(group.messages(1).flatMap((each) => each.messages(1)));
      const sent = group.messages(2).flatMap((scope) => scope.messages(2));
      if (request.url?.endsWith('/v1/traces')) spans.push(...sent.map(spanIn));
      else metrics = sent.map(metricIn);
    }
    response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end();
  });
  const { url, close } = await onLoopback(server);
  const receiver: OtlpReceiver = {
    url,
    spans,
    get metrics() {
      return metrics;
    },
    get resource() {
      return resource;
    },
    received: () => Buffer.concat(bodies),
    headers,
    answer: 200,
    close,
  };
  return receiver;
}

const KINDS: Readonly<Record<number, SentSpan['kind']>> = { 1: 'internal', 2: 'server', 3: 'client' };

/** Numbers of members as https://github.com/open-telemetry/opentelemetry-proto has them. */
function spanIn(span: Fields): SentSpan {
  const [status] = span.messages(15);
  return {
    traceId: span.hex(1),
    spanId: span.hex(2),
    parentId: span.hex(4),
    name: span.text(5),
    kind: KINDS[span.number(6)] ?? 'other',
    attributes: attributesIn(span.messages(9)),
    links: span.messages(13).map((link) => link.hex(1)),
    isError: status?.number(3) === 2,
    message: status?.text(2) ?? '',
  };
}

function metricIn(metric: Fields): SentMetric {
  const kind = metric.has(9) ? 'histogram' : metric.has(7) ? 'sum' : 'gauge';
  const [data] = metric.messages({ gauge: 5, sum: 7, histogram: 9 }[kind]);
  const points = (data?.messages(1) ?? []).map((point) =>
    kind === 'histogram'
      ? { attributes: attributesIn(point.messages(9)), count: point.number(4), value: point.double(5) }
      : { attributes: attributesIn(point.messages(7)), value: point.has(4) ? point.double(4) : point.number(6) },
  );
  return { name: metric.text(1), unit: metric.text(3), kind, points };
}

function attributesIn(pairs: readonly Fields[]): Attributes {
  return Object.fromEntries(pairs.map((pair) => [pair.text(1), valueIn(pair.messages(2)[0])]));
}

function valueIn(value: Fields | undefined): Value {
  if (value?.has(2)) return value.number(2) === 1;
  if (value?.has(3)) return value.number(3);
  if (value?.has(4)) return value.double(4);
  if (value?.has(5)) return (value.messages(5)[0]?.messages(1) ?? []).map(valueIn);
  return value?.text(1) ?? '';
}
