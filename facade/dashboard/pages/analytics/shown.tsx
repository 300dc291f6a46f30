import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart.tsx';
import { Badge } from '../../components/small.tsx';
import { Table } from '../../components/table.tsx';
import { Cohorts } from './cohorts.tsx';
import type { Metric, MetricAnswer } from './metrics.ts';
import { formatOf, periodOf, wordsOf, write } from './numbers.ts';

interface Shown {
  readonly metric: Metric;
  readonly answer: MetricAnswer;
}

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
        </div>
      ))}
    </dl>
  );
}

/** The charts of a metric over time. */
export function Charts({ metric, answer }: Shown) {
  return (
    <>
      {metric.charts?.map((chart) => (
        <OneChart key={chart.title} answer={answer} {...chart} />
      ))}
    </>
  );
}

function OneChart({
  answer,
  title,
  members,
  bars = false,
}: NonNullable<Metric['charts']>[number] & { readonly answer: MetricAnswer }) {
  const { series = [], range, currency } = answer;
  const drawn = useMemo(
    () => ({
      labels: series.map(({ from }) => periodOf(String(from), range.interval)),
      series: members.map((member, index) => ({
        label: wordsOf(member),
        values: series.map((one) => (typeof one[member] === 'number' ? one[member] : null)),
        filled: members.length === 1 && index === 0,
      })),
      format: formatOf(members[0] ?? '', currency),
    }),
    [answer],
  );
  if (series.length === 0) return null;
  return (
    <section class="card card-chart">
      <Chart title={title} bars={bars} {...drawn} />
    </section>
  );
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
    id: name,
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
    <ul class="findings">
      {rows.map((row) => (
        <li key={String(row.title)} class="card card-body">
          <p>
            <strong>{String(row.title)}</strong>{' '}
            <Badge tone={row.severity === 'info' ? 'plain' : row.severity === 'critical' ? 'alarm' : 'warn'}>
              {String(row.severity)}
            </Badge>
          </p>
          <p class="quiet">{String(row.detail)}</p>
        </li>
      ))}
    </ul>
  );
}
