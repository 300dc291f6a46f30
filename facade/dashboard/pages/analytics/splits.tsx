import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart.tsx';
import type { MetricAnswer } from './metrics.ts';
import { formatOf, periodOf, wordsOf } from './numbers.ts';

/** As many as there are colours. */
const MOST_LINES = 5;

/** The sessions of the largest values over time, a chart for each dimension, where an interval is chosen. */
export function SplitCharts({ answer }: { readonly answer: MetricAnswer }) {
  const charts = useMemo(() => chartsOf(answer), [answer]);
  return (
    <>
      {charts.map((chart) => (
        <section key={chart.title} class="card card-chart">
          <Chart {...chart} />
        </section>
      ))}
    </>
  );
}

function chartsOf({ series = [], range }: MetricAnswer) {
  const dimensions = [...new Set(series.map(({ dimension }) => dimension))].filter((name) => typeof name === 'string');
  return dimensions.map((dimension) => {
    const own = series.filter((point) => point.dimension === dimension);
    const values = [...new Set(own.map(({ value }) => value))].slice(0, MOST_LINES);
    const pointsOf = (value: unknown) => own.filter((point) => point.value === value);
    return {
      title: `Sessions by ${wordsOf(dimension).toLowerCase()}`,
      labels: pointsOf(values[0]).map(({ from }) => periodOf(String(from), range.interval)),
      series: values.map((value) => ({
        label: String(value),
        values: pointsOf(value).map(({ sessions }) => Number(sessions)),
      })),
      format: formatOf('sessions', undefined),
    };
  });
}
