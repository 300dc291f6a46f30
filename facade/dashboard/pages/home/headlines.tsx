import { useMemo } from 'preact/hooks';
import { at, money, number, useMay } from '../../app.ts';
import { Chart } from '../../components/chart.tsx';
import { Growth } from '../../components/growth.tsx';
import { Sparkline } from '../../components/sparkline.tsx';
import { Empty, LinkButton, Skeleton } from '../../ui.ts';
import type { Span } from './first-calls.ts';
import {
  type Headline,
  lastWhole,
  type Mrr,
  type Overview,
  periodLabel,
  standing,
  useMetric,
  type Visitors,
} from './numbers.ts';

interface Shown extends Headline {
  readonly title: string;
  readonly text: string;
  /** What the growth is compared with. */
  readonly since: string;
  readonly to: string;
  readonly tone: 1 | 2 | 3 | 5;
}

/** The numbers above everything, each leading to the metric behind it. */
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

function shown({ series, currency }: Overview, visitors: Visitors | undefined, span: Span): Shown[] {
  const [unit, before] = span === 'months' ? ['month', 'vs last month'] : ['day', 'vs yesterday'];
  const mrr = standing(series.map((one) => one.mrr));
  const paying = standing(series.map((one) => one.payingCustomers));
  const active = lastWhole(series, (one) => one.activeUsers);
  const visits = visitors && lastWhole(visitors.series, (one) => one.visitors);
  const whole = `last full ${unit}`;
  return [
    { ...mrr, title: 'MRR', text: money(mrr.value, currency), since: before, to: '/analytics?metric=get_mrr', tone: 1 },
    {
      ...paying,
      title: 'Paying customers',
      text: number(paying.value),
      since: before,
      to: '/analytics?metric=get_subscriptions',
      tone: 2,
    },
    {
      ...active,
      title: 'Active users',
      text: number(active.value),
      since: whole,
      to: '/analytics?metric=get_active_users',
      tone: 5,
    },
    ...(visits
      ? [
          {
            ...visits,
            title: 'Visitors',
            text: number(visits.value),
            since: whole,
            to: '/analytics?metric=get_traffic_visitors',
            tone: 3 as const,
          },
        ]
      : []),
  ];
}

/** Revenue and what moved it. Says how to begin where there is nothing yet. */
export function RevenueChart({ span }: { readonly span: Span }) {
  const may = useMay('get_mrr');
  const mayImport = useMay('import_records');
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
        <Empty
          title="No revenue yet"
          action={mayImport && <LinkButton text="Import users and subscriptions" to="/import" />}
        >
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
