import { randomUUID } from 'node:crypto';
import type * as Api from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type * as Sdk from '@opentelemetry/sdk-metrics';
import type { Sampler } from '@opentelemetry/sdk-trace-base';
import type { Measured, Meter } from '../../tools/core/telemetry/meter.ts';
import type { Tracer } from '../../tools/core/telemetry/span.ts';
import type { TelemetrySettings } from '../config/telemetry-config.ts';
import type { Delivery } from './delivery.ts';
import { createTracer } from './tracer.ts';

interface CollectorOptions {
  readonly settings: TelemetrySettings;
  readonly name: string;
  readonly version: string;
  readonly delivery: Delivery;
}

/** Sends traces and metrics to a collector, in the background and in bounded batches. What it does not take is dropped. */
export interface Collector {
  readonly tracer: Tracer | undefined;
  sendMetrics(meter: Meter): void;
  close(): Promise<void>;
}

/** Loads the packages of OpenTelemetry, which are needed by nothing else. @throws where one of them is not installed */
export async function openCollector(parts: CollectorOptions): Promise<Collector> {
  const { settings } = parts;
  const resource = await resourceOf(parts);
  const traces = settings.tracesUrl === undefined ? undefined : await openTraces(parts, settings.tracesUrl, resource);
  const send = settings.metricsUrl === undefined ? undefined : await openMetrics(parts, settings.metricsUrl, resource);
  let stopMetrics = async () => {};
  return {
    tracer: traces?.tracer,
    sendMetrics(meter) {
      if (send) stopMetrics = send(meter);
    },
    async close() {
      await Promise.allSettled([traces?.close(), stopMetrics()]);
    },
  };
}

async function resourceOf({ settings, version }: CollectorOptions): Promise<Resource> {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = await import(
    '@opentelemetry/resources'
  );
  const given = detectResources({ detectors: [envDetector] }); // OTEL_RESOURCE_ATTRIBUTES
  const own = { 'service.version': version, 'service.instance.id': randomUUID() };
  const named = { 'service.name': settings.serviceName };
  return defaultResource().merge(resourceFromAttributes(own)).merge(given).merge(resourceFromAttributes(named));
}

async function openTraces({ settings, name, version, delivery }: CollectorOptions, url: string, resource: Resource) {
  const [api, sdk] = await Promise.all([import('@opentelemetry/api'), import('@opentelemetry/sdk-trace-base')]);
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const exporter = delivery.watch(new OTLPTraceExporter({ url }));
  const provider = new sdk.BasicTracerProvider({
    resource,
    sampler: samplerOf(sdk, settings),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter)],
  });
  const tracer = createTracer({ api, tracer: provider.getTracer(name, version), passesOn: settings.passesOn });
  return { tracer, close: () => provider.shutdown() };
}

async function openMetrics({ settings, name, version, delivery }: CollectorOptions, url: string, resource: Resource) {
  const [api, sdk] = await Promise.all([import('@opentelemetry/api'), import('@opentelemetry/sdk-metrics')]);
  const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-proto');
  const exporter = delivery.watch(new OTLPMetricExporter({ url }));
  return (meter: Meter) => {
    const reader = new sdk.PeriodicExportingMetricReader({
      exporter,
      exportIntervalMillis: settings.metricsEveryMs,
      metricProducers: [metricProducer({ meter, resource, scope: { name, version }, sdk, api })],
    });
    const provider = new sdk.MeterProvider({ resource, readers: [reader] });
    return () => provider.shutdown();
  };
}

function samplerOf(
  sdk: typeof import('@opentelemetry/sdk-trace-base'),
  { sampler, sampleShare }: TelemetrySettings,
): Sampler {
  const own = sampler.replace('parentbased_', '');
  const root =
    own === 'always_on'
      ? new sdk.AlwaysOnSampler()
      : own === 'always_off'
        ? new sdk.AlwaysOffSampler()
        : new sdk.TraceIdRatioBasedSampler(sampleShare);
  return own === sampler ? root : new sdk.ParentBasedSampler({ root });
}

interface ProducerOptions {
  readonly meter: Meter;
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
  readonly sdk: typeof Sdk;
  readonly api: typeof Api;
}

/** Hands what the meter knows to the SDK in its own form: sums and histograms since the start of the process. */
function metricProducer({ meter, resource, scope, sdk, api }: ProducerOptions): Sdk.MetricProducer {
  const startTime = hrTime(performance.timeOrigin);
  return {
    async collect() {
      const endTime = hrTime(Date.now());
      const metrics = (await meter.read()).map((measured) => metricOf(measured, { startTime, endTime, sdk, api }));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}

interface MetricContext extends Pick<ProducerOptions, 'sdk' | 'api'> {
  readonly startTime: Api.HrTime;
  readonly endTime: Api.HrTime;
}

function metricOf(measured: Measured, { sdk, api, ...times }: MetricContext): Sdk.MetricData {
  const { name, unit, help: description, labels: names = [] } = measured.measure;
  const common = {
    descriptor: { name, unit, description, valueType: api.ValueType.DOUBLE },
    aggregationTemporality: sdk.AggregationTemporality.CUMULATIVE,
  };
  const about = (labels: readonly string[]) => ({ ...times, attributes: attributesOf(names, labels) });
  if (measured.kind === 'histogram') {
    const boundaries = [...measured.bounds];
    const dataPoints = measured.points.map(({ labels, counts, sum }) => {
      const count = counts.reduce((total, each) => total + each, 0);
      return { ...about(labels), value: { buckets: { boundaries, counts: [...counts] }, sum, count } };
    });
    return { ...common, dataPointType: sdk.DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = measured.points.map(({ labels, value }) => ({ ...about(labels), value }));
  if (measured.kind === 'gauge') return { ...common, dataPointType: sdk.DataPointType.GAUGE, dataPoints };
  return { ...common, dataPointType: sdk.DataPointType.SUM, isMonotonic: true, dataPoints };
}

function attributesOf(names: readonly string[], values: readonly string[]): Api.Attributes {
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']).filter(([, value]) => value !== ''));
}

/** Seconds and nanoseconds since 1970. */
function hrTime(ms: number): Api.HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
