import { useMemo } from 'preact/hooks';
import { at, money, number, partsOf, useAnswer, useMay } from '../../app.ts';
import { Chart } from '../../components/chart.tsx';
import { Growth, Sparkline } from '../../components/growth.tsx';
import { Empty, LinkButton, Skeleton } from '../../ui.ts';
import { metricInput, type Span } from './first-calls.ts';

export function Headlines({ span }: { readonly span: Span }) {
  const may = useMay('get_overview');
  const { data: overview } = useMetric<Overview>('get_overview', span);
  const { data: visitors } = useMetric<Visitors>('get_traffic_visitors', span);
  if (!may) return null;
  if (!overview)
    return (
      <div class="headlines skeletons">
        {['a', 'b', 'c', 'd'].map((key) => (
          <div key={key} class="headline">
            <Skeleton lines={3} />
          </div>
        ))}
      </div>
    );
  if (overview.totalUsers === 0) return null;
  return (
    <div class="headlines">
      {shown(overview, visitors, span).map(({ title, text, growth, since, to, tone, course }) => (
        <a key={title} class="headline" href={at(to)}>
          <span class="headline-title">{title}</span>
          <span class="headline-number">{text}</span>
          <span class="headline-growth">
            {growth !== undefined && <Growth value={growth} />} {since}
          </span>
          <Sparkline values={course} tone={tone} />
        </a>
      ))}
    </div>
  );
}

function shown({ series, currency }: Overview, visitors: Visitors | undefined, span: Span) {
  const [unit, since] = span === 'months' ? ['month', 'vs last month'] : ['day', 'vs yesterday'];
  const whole = `last full ${unit}`;
  const tile = (title: string, metric: string, tone: 1 | 2 | 3 | 5, headline: Headline, since: string) => ({
    ...headline,
    title,
    text: title === 'MRR' ? money(headline.value, currency) : number(headline.value),
    since,
    to: `/analytics?metric=${metric}`,
    tone,
  });
  const mrr = standing(series.map((one) => one.mrr));
  const paying = standing(series.map((one) => one.payingCustomers));
  const active = lastWhole(series, (one) => one.activeUsers);
  const visits = visitors && lastWhole(visitors.series, (one) => one.visitors);
  return [
    tile('MRR', 'get_mrr', 1, mrr, since),
    tile('Paying customers', 'get_subscriptions', 2, paying, since),
    tile('Active users', 'get_active_users', 5, active, whole),
    ...(visits ? [tile('Visitors', 'get_traffic_visitors', 3, visits, whole)] : []),
  ];
}

export function RevenueChart({ span }: { readonly span: Span }) {
  const may = useMay('get_mrr');
  const bring = <LinkButton needs="import_records" text="Import users and subscriptions" to="/import" />;
  const { data } = useMetric<Mrr>('get_mrr', span);
  const chart = useMemo(() => data && chartOf(data, span), [data, span]);
  if (!may) return null;
  if (!chart)
    return (
      <section class="card pad">
        <Skeleton lines={7} />
      </section>
    );
  if (chart.series[0]?.values.every((value) => value === 0)) {
    return (
      <section class="card">
        <Empty title="No revenue yet" action={bring}>
          Import the users and subscriptions of your product to see its numbers here.
        </Empty>
      </section>
    );
  }
  return (
    <section class="card card-chart">
      <Chart {...chart} title="Monthly recurring revenue" />
    </section>
  );
}

function chartOf({ series, currency }: Mrr, span: Span) {
  return {
    labels: series.map(({ from }) => periodLabel(from, span)),
    format: (value: number) => (value >= 10_000 ? `${money(value / 1000, currency)}k` : money(value, currency)),
    series: [
      { label: 'MRR', values: series.map(({ mrr }) => mrr), tone: 1 as const, filled: true },
      { label: 'New', values: series.map((one) => one.new), tone: 2 as const },
      { label: 'Churn', values: series.map(({ churn }) => Math.abs(churn)), tone: 4 as const },
    ],
  };
}

type Period = Readonly<{ from: string; complete: boolean }>;

export interface Overview {
  readonly currency: string;
  readonly totalUsers: number;
  readonly series: readonly (Period & Readonly<Record<'mrr' | 'payingCustomers' | 'activeUsers', number>>)[];
}

type Visitors = Readonly<{ series: readonly (Period & { readonly visitors: number })[] }>;

type Mrr = Readonly<{ currency: string; series: readonly (Period & Record<'mrr' | 'new' | 'churn', number>)[] }>;

/** The answer of a metric; nothing is asked where the person may not. */
export function useMetric<Output>(tool: string, span: Span) {
  const may = useMay(tool);
  return useAnswer<Output>(may ? tool : undefined, metricInput(span));
}

interface Headline {
  readonly value: number;
  /** By how much it grew, as a part of one. Undefined if there is nothing to compare with. */
  readonly growth: number | undefined;
  readonly course: readonly number[];
}

/** A number at a moment: the latest one, compared with the period before. */
function standing(values: readonly number[]): Headline {
  return { value: values.at(-1) ?? 0, growth: growthOf(values.at(-2), values.at(-1)), course: values };
}

/** A number per period: the last complete one is shown. */
function lastWhole<One extends Period>(series: readonly One[], of: (one: One) => number): Headline {
  return standing(series.filter(({ complete }) => complete).map(of));
}

function growthOf(before: number | undefined, now: number | undefined): number | undefined {
  return before === undefined || now === undefined || before === 0 ? undefined : (now - before) / before;
}

function periodLabel(from: string, span: Span): string {
  const { day, month } = partsOf(from);
  return span === 'months' ? month : `${month} ${day}`;
}
