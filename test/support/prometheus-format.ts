import assert from 'node:assert/strict';

/** One line of the text: a series and its value. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/;
const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];

/**
 * Reads the text format of Prometheus, version 0.0.4, and refuses what its own parser and `promtool check metrics` refuse: families in one piece
 * with help and type before their samples, no series twice, counters that end in `_total`, base units, and histograms whose buckets grow up
 * to the count.
 */
export function readPrometheus(text: string): Sample[] {
  assert.ok(text.endsWith('\n'), 'the text ends with a line feed');
  const lines = text.slice(0, -1).split('\n');
  const samples: Sample[] = [];
  const seen = new Set<string>();
  let family: { name: string; type: string; samples: Sample[] } | undefined;
  const finish = () => family && checkFamily(family);
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const [, name = '', help = ''] = /^# HELP (\S+) (.+)$/.exec(line) ?? [];
    if (name !== '') {
      finish();
      assert.match(name, NAME);
      assert.ok(help.length > 0 && !seen.has(name), `${name} has a help and comes once`);
      seen.add(name);
      const [, typed, type = ''] = /^# TYPE (\S+) (\S+)$/.exec(lines[++at] ?? '') ?? [];
      assert.equal(typed, name);
      assert.ok(TYPES.includes(type), type);
      family = { name, type, samples: [] };
      continue;
    }
    const sample = sampleIn(line);
    assert.ok(family && belongs(sample.name, family), `${line}: stands in its family`);
    family.samples.push(sample);
    samples.push(sample);
  }
  finish();
  const series = samples.map(({ name, labels }) => `${name} ${JSON.stringify(Object.entries(labels).sort())}`);
  assert.equal(new Set(series).size, series.length, 'no series comes twice');
  return samples;
}

function sampleIn(line: string): Sample {
  const [, name = '', inside = '', value = ''] = LINE.exec(line) ?? assert.fail(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  let rest = inside;
  while (rest !== '') {
    const [whole, label = '', text = ''] = LABEL.exec(rest) ?? assert.fail(`no label: ${rest}`);
    assert.ok(!(label in labels), `${label} comes once`);
    labels[label] = text;
    rest = rest.slice(whole.length);
  }
  const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
  assert.ok(value === 'NaN' || !Number.isNaN(number), `${value} is a number`);
  return { name, labels, value: number };
}

function belongs(sample: string, { name, type }: { readonly name: string; readonly type: string }): boolean {
  return type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`].includes(sample) : sample === name;
}

function checkFamily({ name, type, samples }: { name: string; type: string; samples: Sample[] }): void {
  assert.ok(samples.length > 0, `${name} has samples`);
  assert.equal(name.endsWith('_total'), type === 'counter', `${name} ends as a ${type} does`);
  assert.doesNotMatch(name, /_(ms|millis|milliseconds|minutes|hours|mb|kilobytes|count|sum|bucket)$/);
  if (type === 'counter') for (const { value } of samples) assert.ok(value >= 0, `${name} is not negative`);
  if (type !== 'histogram') return;
  const bySeries = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    bySeries.set(key, [...(bySeries.get(key) ?? []), sample]);
  }
  for (const [key, series] of bySeries) checkHistogram(`${name}${key}`, name, series);
}

function checkHistogram(what: string, name: string, series: readonly Sample[]): void {
  const buckets = series.filter((sample) => sample.name === `${name}_bucket`);
  const bounds = buckets.map(({ labels: { le } }) => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)));
  assert.equal(bounds.at(-1), Number.POSITIVE_INFINITY, `${what} has a last bucket`);
  for (let at = 1; at < buckets.length; at += 1) {
    assert.ok((bounds[at] ?? 0) > (bounds[at - 1] ?? 0), `${what}: bounds grow`);
    assert.ok((buckets[at]?.value ?? 0) >= (buckets[at - 1]?.value ?? 0), `${what}: buckets hold those below them`);
  }
  const [count] = series.filter((sample) => sample.name === `${name}_count`);
  assert.equal(count?.value, buckets.at(-1)?.value, `${what}: the last bucket is the count`);
  assert.equal(series.filter((sample) => sample.name === `${name}_sum`).length, 1);
}
