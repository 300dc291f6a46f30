import type { HistogramPoint, LabelValues, Measure, Measured } from './meter.ts';

/** The media type of the text, in its version 0.0.4, which every Prometheus reads. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The text that Prometheus reads, https://prometheus.io/docs/instrumenting/exposition_formats/. */
export function prometheusText(all: readonly Measured[]): string {
  return all.map(familyText).join('');
}

function familyText(measured: Measured): string {
  const { measure, kind } = measured;
  const name = prometheusName(measured);
  const lines =
    measured.kind === 'histogram'
      ? measured.points.flatMap((point) => histogramLines(name, measure, measured.bounds, point))
      : measured.points.map(({ labels, value }) => line(name, measure, labels, value));
  return `# HELP ${name} ${escaped(measure.help)}\n# TYPE ${name} ${kind}\n${lines.join('')}`;
}

function histogramLines(name: string, measure: Measure, bounds: readonly number[], point: HistogramPoint): string[] {
  const { labels, counts, sum } = point;
  let total = 0;
  const buckets = counts.map((counted, at) => {
    total += counted;
    const upTo = at < bounds.length ? numberText(bounds[at] ?? 0) : '+Inf';
    return line(`${name}_bucket`, measure, labels, total, ['le', upTo]);
  });
  return [...buckets, line(`${name}_sum`, measure, labels, sum), line(`${name}_count`, measure, labels, total)];
}

function line(
  name: string,
  { labels: names = [] }: Measure,
  values: LabelValues,
  value: number,
  ...more: readonly (readonly [string, string])[]
): string {
  const own = names
    .map((label, at) => [prometheusLabel(label), values[at] ?? ''] as const)
    .filter(([, text]) => text !== '');
  const pairs = [...own, ...more].map(([label, text]) => `${label}="${quoted(text)}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${numberText(value)}\n`;
}

export function prometheusName({
  measure: { name, unit, prometheus },
  kind,
}: Pick<Measured, 'measure' | 'kind'>): string {
  if (prometheus !== undefined) return prometheus;
  const ended = `${prometheusLabel(name)}${UNITS[unit] ?? ''}`;
  return kind === 'counter' ? `${ended}_total` : ended;
}

const UNITS: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes' };

/** A dotted name as Prometheus takes it. */
export function prometheusLabel(name: string): string {
  return name.replaceAll('.', '_');
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  return String(value);
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function quoted(text: string): string {
  return escaped(text).replaceAll('"', '\\"');
}
