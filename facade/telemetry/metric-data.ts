import type * as Api from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type * as Sdk from '@opentelemetry/sdk-metrics';
import type { Measured, Meter } from '../../tools/core/telemetry/meter.ts';

interface ProducerParts {
  readonly meter: Meter;
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
  readonly sdk: typeof Sdk;
  readonly api: typeof Api;
}

/** Hands what the meter knows to the SDK in its own form: sums and histograms since the start of the process. */
export function metricProducer({ meter, resource, scope, sdk, api }: ProducerParts): Sdk.MetricProducer {
  const startTime = hrTime(performance.timeOrigin);
  return {
    async collect() {
      const endTime = hrTime(Date.now());
      const metrics = (await meter.read()).map((measured) => metricOf(measured, { startTime, endTime, sdk, api }));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}

interface MetricContext extends Pick<ProducerParts, 'sdk' | 'api'> {
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
