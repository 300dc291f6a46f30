import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { counted, percent, useAnswer, wordOf } from '../../app.ts';
import { Chart } from '../../components/chart.tsx';
import { Growth } from '../../components/growth.tsx';
import { Badge, Link, Table } from '../../ui.ts';
import type { Metric, MetricAnswer } from './metrics.ts';
import { changeOf, formatOf, periodOf, wordsOf, write } from './numbers.ts';

type Shown = Readonly<{ metric: Metric; answer: MetricAnswer }>;

export function Totals({ metric, answer }: Shown) {
  const { now, before, span } = metric.isPerPeriod ? lastPeriods(answer) : wholeRange(answer);
  const names = (metric.headlines ?? Object.keys(now)).filter(
    (name) => now[name] !== undefined && typeof now[name] !== 'object',
  );
  if (names.length === 0) return null;
  const each = metric.isPerPeriod ? perPeriod(answer) : '';
  return (
    <dl class="headlines">
      {names.map((name) => (
        <Tile key={name} title={`${wordsOf(name)}${each}`} value={write(name, now[name], answer.currency)}>
          <Before name={name} now={now} before={before} span={span} currency={answer.currency} />
        </Tile>
      ))}
    </dl>
  );
}

function wholeRange({ totals, previous }: MetricAnswer): Compared {
  return { now: totals, before: previous?.totals, span: previous && `${previous.from} to ${previous.to}` };
}

/** The last whole period and the one before it. */
function lastPeriods({ series = [], range }: MetricAnswer): Compared {
  const [before, now] = series.filter(({ complete }) => complete !== false).slice(-2);
  if (!now) return { now: before ?? {}, before: undefined, span: undefined };
  return { now, before, span: before && `in ${periodOf(String(before.from), range.interval)}` };
}

/** ` a month`, of numbers that are given for each. */
function perPeriod({ range }: MetricAnswer): string {
  return range.interval === undefined ? '' : ` a ${range.interval}`;
}

export function Tile(props: Readonly<{ title: string; value: string; children?: ComponentChildren }>) {
  return (
    <div class="headline">
      <dt class="headline-title">{props.title}</dt>
      <dd class="headline-number">{props.value}</dd>
      {props.children}
    </div>
  );
}

type Compared = Readonly<{ now: Row; before: Row | undefined; span: string | undefined }>;

function Before({
  name,
  now,
  before,
  span,
  currency,
}: Compared & Readonly<{ name: string; currency: string | undefined }>) {
  const was = before?.[name];
  if (typeof was !== 'number') return null;
  const change = changeOf(name, now[name], was, currency);
  return (
    <dd class="headline-growth" title={span}>
      {change && <Growth {...change} />} {change?.value === 0 ? '' : `from ${write(name, was, currency)}`}
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
        <OneChart
          key={chart.title}
          answer={answer}
          before={before?.series}
          {...chart}
          title={metric.isPerPeriod ? `${chart.title}${perPeriod(answer)}` : chart.title}
        />
      ))}
      <SplitCharts answer={answer} />
    </>
  );
}

type Series = NonNullable<MetricAnswer['series']>;

function valuesOf(series: Series, member: string): readonly (number | null)[] {
  return series.map((one) => (typeof one[member] === 'number' ? one[member] : null));
}

type OneChartProps = NonNullable<Metric['charts']>[number] & Pick<Shown, 'answer'> & { before: Series | undefined };

function OneChart({ answer, title, members, before, bars = false }: OneChartProps) {
  const { series = [], range, currency } = answer;
  const drawn = useMemo(() => {
    const [first = ''] = members;
    const isOne = members.length === 1;
    const lineOf = (member: string) => ({ label: wordsOf(member), values: valuesOf(series, member), filled: isOne });
    const earlier = isOne && before ? [earlierLine(valuesOf(before, first), series.length)] : [];
    return {
      labels: series.map(({ from }) => periodOf(String(from), range.interval)),
      series: [...members.map(lineOf), ...earlier],
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

export function Rows({ metric, answer }: Shown) {
  const { rows = [], currency } = answer;
  if (rows.length === 0) return null;
  if (metric.tool === 'get_cohort_retention') return <Cohorts answer={answer} />;
  if (metric.tool === 'get_insights') return <Findings rows={rows} />;
  const bar = BARS[metric.tool];
  const isSplit = rows.some(({ dimension }) => dimension !== rows[0]?.dimension); // by several dimensions
  const names = Object.keys(rows[0] ?? {}).filter((name) => name !== 'dimension' || isSplit);
  const columns = names.map((name) => ({
    title: wordsOf(name),
    end: typeof rows[0]?.[name] === 'number' && name !== bar,
    cell: (row: Row) => (name === bar ? <Bar share={Number(row[name] ?? 0)} /> : write(name, row[name], currency)),
  }));
  return <Table label={metric.title} columns={columns} rows={rows} keyOf={(row) => JSON.stringify(row)} />;
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

export function Warnings({ answer: { warnings = [] } }: { readonly answer: MetricAnswer }) {
  return (
    <>
      {warnings.map(({ reason, type, rows, currency }) => (
        <p key={`${reason} ${type} ${currency}`} class="note warn">
          {rows === undefined
            ? reason
            : `${counted(rows, 'row')} of ${type} in ${currency} left out: there is no exchange rate for their months.`}{' '}
          {rows !== undefined && <Link to="/settings?tab=money">Give the rates</Link>}
        </p>
      ))}
    </>
  );
}

/** As many as there are colours. */
const MOST_LINES = 5;

/** The sessions of the largest values over time, a chart for each dimension, where an interval is chosen. */
function SplitCharts({ answer }: { readonly answer: MetricAnswer }) {
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

/** Cohorts below each other, the share that came back in each later period; the stronger the colour, the more. */
function Cohorts({ answer }: { readonly answer: MetricAnswer }) {
  const rows = answer.rows ?? [];
  const average = sharesIn(answer.totals.average);
  const periods = Math.max(0, ...rows.map(({ values }) => sharesIn(values).length));
  return (
    <div class="table-box cohorts">
      <table class="table numbers" aria-label="Retention by cohort">
        <thead>
          <tr>
            <th scope="col">Cohort</th>
            <th scope="col" class="end">
              Users
            </th>
            {Array.from({ length: periods }, (_, period) => (
              <th key={period} scope="col" class="end">
                {period}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <CohortRow name="All" size={Number(answer.totals.users ?? 0)} values={average} />
          {rows.map(({ cohort, size, values }) => (
            <CohortRow
              key={String(cohort)}
              name={periodOf(String(cohort), answer.range.interval)}
              size={Number(size)}
              values={sharesIn(values)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

type CohortRowProps = Readonly<{ name: string; size: number; values: readonly (number | null)[] }>;

function CohortRow({ name, size, values }: CohortRowProps) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="end">{size}</td>
      {values.map((value, period) => (
        <td key={period} class="end heat" style={{ background: heatOf(value ?? 0) }}>
          {value === null ? '' : percent(value, 0)}
        </td>
      ))}
    </tr>
  );
}

/** In five steps, the darker the larger the share. */
function heatOf(share: number): string {
  return `color-mix(in srgb, var(--s1) ${8 * Math.ceil(share * 5)}%, transparent)`;
}

/** The share of each later period; null where it is not over yet. */
function sharesIn(values: unknown): readonly (number | null)[] {
  return Array.isArray(values) ? values : [];
}
