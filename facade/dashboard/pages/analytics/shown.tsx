import { useMemo } from 'preact/hooks';
import { useAnswer, wordOf } from '../../app.ts';
import { Chart } from '../../components/chart.tsx';
import { Growth } from '../../components/growth.tsx';
import { counted } from '../../format.ts';
import { Badge, Table } from '../../ui.ts';
import { Cohorts } from './cohorts.tsx';
import type { Metric, MetricAnswer } from './metrics.ts';
import { changeOf, formatOf, periodOf, wordsOf, write } from './numbers.ts';

type Shown = Readonly<{ metric: Metric; answer: MetricAnswer }>;

/** The totals of a metric, one tile each. */
export function Totals({ metric, answer }: Shown) {
  const names = (metric.headlines ?? Object.keys(answer.totals)).filter(
    (name) => answer.totals[name] !== undefined && typeof answer.totals[name] !== 'object',
  );
  if (names.length === 0) return null;
  return (
    <dl class="headlines">
      {names.map((name) => (
        <div key={name} class="headline">
          <dt class="headline-title">{wordsOf(name)}</dt>
          <dd class="headline-number">{write(name, answer.totals[name], answer.currency)}</dd>
          <Before name={name} answer={answer} />
        </div>
      ))}
    </dl>
  );
}

/** What the number was in the period before, and how it changed since. */
function Before({ name, answer: { totals, previous, currency } }: Readonly<{ name: string; answer: MetricAnswer }>) {
  const before = previous?.totals[name];
  if (typeof before !== 'number') return null;
  const change = changeOf(name, totals[name], before);
  return (
    <dd class="headline-growth" title={`${previous?.from} to ${previous?.to}`}>
      {change && <Growth {...change} />} from {write(name, before, currency)}
    </dd>
  );
}

/** The charts of a metric over time; those of one line with the period before. */
export function Charts({ metric, answer }: Shown) {
  const { previous, range } = answer;
  const draws = metric.charts?.some(({ members }) => members.length === 1) ?? false;
  const asked = previous && draws && { from: previous.from, to: previous.to, interval: range.interval };
  const { data: before } = useAnswer<MetricAnswer>(asked ? metric.tool : undefined, asked || {});
  return (
    <>
      {metric.charts?.map((chart) => (
        <OneChart key={chart.title} answer={answer} before={before?.series} {...chart} />
      ))}
      <SplitCharts answer={answer} />
    </>
  );
}

type Series = NonNullable<MetricAnswer['series']>;

function valuesOf(series: Series, member: string): readonly (number | null)[] {
  return series.map((one) => (typeof one[member] === 'number' ? one[member] : null));
}

function OneChart({
  answer,
  title,
  members,
  before,
  bars = false,
}: NonNullable<Metric['charts']>[number] & { readonly answer: MetricAnswer; readonly before: Series | undefined }) {
  const { series = [], range, currency } = answer;
  const drawn = useMemo(() => {
    const [first = ''] = members;
    const isOne = members.length === 1;
    const lines = members.map((member) => ({
      label: wordsOf(member),
      values: valuesOf(series, member),
      filled: isOne,
    }));
    const earlier = isOne && before ? [earlierLine(valuesOf(before, first), series.length)] : [];
    return {
      labels: series.map(({ from }) => periodOf(String(from), range.interval)),
      series: [...lines, ...earlier],
      format: formatOf(first, currency),
    };
  }, [answer, before]);
  if (series.length === 0) return null;
  return (
    <section class="card card-chart">
      <Chart title={title} bars={bars} {...drawn} />
    </section>
  );
}

/** The period before, each of its values below the one of now that has the same place. */
function earlierLine(values: readonly (number | null)[], length: number) {
  const fitted = Array.from({ length }, (_, index) => values[index] ?? null);
  return { label: 'The period before', values: fitted, dashed: true, tone: 5 as const };
}

const BARS: Readonly<Record<string, string>> = {
  get_feature_adoption: 'adoption',
  get_onboarding_funnel: 'conversionFromFirst',
  get_traffic_channels: 'shareOfSessions',
  get_traffic_geography: 'shareOfSessions',
  get_traffic_technology: 'shareOfSessions',
};

type Row = Readonly<Record<string, unknown>>;

/** What a metric splits by: channels, plans, steps, cohorts, findings. */
export function Rows({ metric, answer }: Shown) {
  const { rows = [], currency } = answer;
  if (rows.length === 0) return null;
  if (metric.tool === 'get_cohort_retention') return <Cohorts answer={answer} />;
  if (metric.tool === 'get_insights') return <Findings rows={rows} />;
  const bar = BARS[metric.tool];
  const names = Object.keys(rows[0] ?? {}).filter((name) => name !== 'dimension' || splitsByMore(rows));
  const columns = names.map((name) => ({
    title: wordsOf(name),
    end: typeof rows[0]?.[name] === 'number' && name !== bar,
    cell: (row: Row) => (name === bar ? <Bar share={Number(row[name] ?? 0)} /> : write(name, row[name], currency)),
  }));
  return <Table label={metric.title} columns={columns} rows={rows} keyOf={(row) => JSON.stringify(row)} />;
}

function splitsByMore(rows: readonly Row[]): boolean {
  return rows.some(({ dimension }) => dimension !== rows[0]?.dimension);
}

function Bar({ share }: { readonly share: number }) {
  return (
    <span class="share">
      <meter class="share-bar" min={0} max={1} value={share} aria-hidden="true" />
      <span class="number">{formatOf('share', undefined)(share)}</span>
    </span>
  );
}

function Findings({ rows }: { readonly rows: readonly Row[] }) {
  return (
    <ul class="findings stack">
      {rows.map((row) => (
        <li key={String(row.title)} class="card card-body">
          <p>
            <strong>{String(row.title)}</strong>{' '}
            <Badge tone={row.severity === 'info' ? 'plain' : row.severity === 'critical' ? 'alarm' : 'warn'}>
              {wordOf(String(row.severity))}
            </Badge>
          </p>
          <p class="quiet">{String(row.detail)}</p>
        </li>
      ))}
    </ul>
  );
}

/** Which rows were left out of a metric, and what about the range its numbers do not follow. */
export function Warnings({ answer: { warnings = [] } }: { readonly answer: MetricAnswer }) {
  return (
    <>
      {warnings.map(({ reason, type, rows, currency }) => (
        <p key={`${reason} ${type} ${currency}`} class="note warn">
          {rows === undefined ? reason : `${counted(rows, 'row')} of ${type} in ${currency} left out. ${reason}`}
        </p>
      ))}
    </>
  );
}

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
