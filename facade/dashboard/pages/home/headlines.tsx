import { at, money, number, useAnswer, useMay } from '../../app.ts';
import { Growth, Sparkline } from '../../components/growth.tsx';
import { metricInput, type Span } from './first-calls.ts';

export function Headlines({ span }: { readonly span: Span }) {
  const may = useMay('get_overview');
  const { data: overview } = useMetric<Overview>('get_overview', span);
  const { data: visitors } = useMetric<Visitors>('get_traffic_visitors', span);
  if (!may) return null;
  if (!overview) return null;
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

export type Period = Readonly<{ from: string; complete: boolean }>;

export interface Overview {
  readonly currency: string;
  readonly totalUsers: number;
  readonly series: readonly (Period & Readonly<Record<'mrr' | 'payingCustomers' | 'activeUsers', number>>)[];
}

type Visitors = Readonly<{ series: readonly (Period & { readonly visitors: number })[] }>;

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
