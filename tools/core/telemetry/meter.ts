/** What is measured under one name. Names, units and labels are those of OpenTelemetry's conventions, where those have any. */
export interface Measure {
  readonly name: string;
  /** As UCUM writes it: `s`, `By`, `1`, or what is counted in braces. */
  readonly unit: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** The name in Prometheus' text, where it does not follow from name and unit. */
  readonly prometheus?: string;
}

export type LabelValues = readonly string[];

interface NumberPoint {
  readonly labels: LabelValues;
  readonly value: number;
}

export interface HistogramPoint {
  readonly labels: LabelValues;
  /** How many values were at most as large as each bound and larger than the one before; the last count is of those above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** What is known of a measure at one moment. */
export type Measured = { readonly measure: Measure } & (
  | { readonly kind: 'counter' | 'gauge'; readonly points: readonly NumberPoint[] }
  | { readonly kind: 'histogram'; readonly bounds: readonly number[]; readonly points: readonly HistogramPoint[] }
);

/** Grows only. */
export class Counter {
  readonly measure: Measure;
  readonly #points = new Map<string, CountedPoint>();

  constructor(measure: Measure) {
    this.measure = measure;
  }

  /** The point of these labels. Who adds to it often keeps it. */
  point(...labels: LabelValues): CountedPoint {
    return keptIn(this.#points, labels.join('\n'), () => new CountedPoint(labels));
  }

  read(): Measured {
    const points = [...this.#points.values()].map(({ labels, value }) => ({ labels, value }));
    return { measure: this.measure, kind: 'counter', points };
  }
}

export class CountedPoint implements NumberPoint {
  readonly labels: LabelValues;
  value = 0;

  constructor(labels: LabelValues) {
    this.labels = labels;
  }

  add(value: number): void {
    this.value += value;
  }
}

/** How values are spread over ranges. */
export class Histogram {
  readonly measure: Measure;
  readonly #bounds: readonly number[];
  readonly #points = new Map<string, HistogramSeries>();

  constructor(measure: Measure, bounds: readonly number[]) {
    this.measure = measure;
    this.#bounds = bounds;
  }

  /** The point of these labels. Who records often keeps it. */
  point(...labels: LabelValues): HistogramSeries {
    return keptIn(this.#points, labels.join('\n'), () => new HistogramSeries(labels, this.#bounds));
  }

  record(value: number, ...labels: LabelValues): void {
    this.point(...labels).record(value);
  }

  read(): Measured {
    const points = [...this.#points.values()].map(({ labels, counts, sum }) => ({ labels, counts: [...counts], sum }));
    return { measure: this.measure, kind: 'histogram', bounds: this.#bounds, points };
  }
}

export class HistogramSeries implements HistogramPoint {
  readonly labels: LabelValues;
  readonly counts: number[];
  sum = 0;
  readonly #bounds: readonly number[];

  constructor(labels: LabelValues, bounds: readonly number[]) {
    this.labels = labels;
    this.counts = new Array(bounds.length + 1).fill(0);
    this.#bounds = bounds;
  }

  record(value: number): void {
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] ?? 0)) at += 1;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += value;
  }
}

/** Asked when somebody wants to know. One that rejects is left out. */
type Reading = () => Promise<readonly Measured[]> | readonly Measured[];

/** All measurements of this process. Label values are never chosen by people or other servers: cardinality stays low and nothing leaks. */
export class Meter {
  readonly #kept: (Counter | Histogram)[] = [];
  readonly #readings: Reading[] = [];

  counter(measure: Measure): Counter {
    const counter = new Counter(measure);
    this.#kept.push(counter);
    return counter;
  }

  histogram(measure: Measure, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(measure, bounds);
    this.#kept.push(histogram);
    return histogram;
  }

  /** Adds what is only known when it is asked for. */
  observe(reading: Reading): void {
    this.#readings.push(reading);
  }

  async read(): Promise<Measured[]> {
    const read = await Promise.all(this.#readings.map(async (reading) => reading()).map((all) => all.catch(() => [])));
    const all = [...this.#kept.map((kept) => kept.read()), ...read.flat()];
    return all.filter(({ points }) => points.length > 0);
  }
}

export function gauge(measure: Measure, value: number): Measured {
  return { measure, kind: 'gauge', points: [{ labels: [], value }] };
}

/** One value that only grows, counted elsewhere. */
export function count(measure: Measure, value: number): Measured {
  return { measure, kind: 'counter', points: [{ labels: [], value }] };
}

/** The value under the key, made when it is first asked for. */
export function keptIn<Key, Value>(kept: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = kept.get(key);
  if (found !== undefined) return found;
  const made = make();
  kept.set(key, made);
  return made;
}
