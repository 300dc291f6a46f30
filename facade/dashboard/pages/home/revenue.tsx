import { useMemo } from 'preact/hooks';
import { money, partsOf, useMay } from '../../app.ts';
import { Chart } from '../../components/chart.tsx';
import { Skeleton } from '../../ui.ts';
import type { Span } from './first-calls.ts';
import { type Period, useMetric } from './headlines.tsx';

export function RevenueChart({ span }: { readonly span: Span }) {
  const may = useMay('get_mrr');
  const { data } = useMetric<Mrr>('get_mrr', span);
  const chart = useMemo(() => data && chartOf(data, span), [data, span]);
  if (!may) return null;
  if (!chart)
    return (
      <section class="card pad">
        <Skeleton lines={7} />
      </section>
    );
  if (chart.series[0]?.values.every((value) => value === 0)) return null;
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

type Mrr = Readonly<{ currency: string; series: readonly (Period & Record<'mrr' | 'new' | 'churn', number>)[] }>;

function periodLabel(from: string, span: Span): string {
  const { day, month } = partsOf(from);
  return span === 'months' ? month : `${month} ${day}`;
}
