import { partsOf, useAnswer, useMay } from '../../app.ts';
import { metricInput, type Span } from './first-calls.ts';

type Period = Readonly<{ from: string; complete: boolean }>;

export interface Overview {
  readonly currency: string;
  readonly totalUsers: number;
  readonly series: readonly (Period & {
    readonly mrr: number;
    readonly payingCustomers: number;
    readonly activeUsers: number;
    readonly newUsers: number;
  })[];
}

export type Visitors = Readonly<{ series: readonly (Period & { readonly visitors: number })[] }>;

export interface Mrr {
  readonly currency: string;
  readonly series: readonly (Period & { readonly mrr: number; readonly new: number; readonly churn: number })[];
}

/** The answer of a metric; nothing is asked where the person may not. */
export function useMetric<Output>(tool: string, span: Span) {
  const may = useMay(tool);
  return useAnswer<Output>(may ? tool : undefined, metricInput(span));
}

export interface Headline {
  readonly value: number;
  /** By how much it grew, as a part of one. Undefined if there is nothing to compare with. */
  readonly growth: number | undefined;
  readonly course: readonly number[];
}

/** A number at a moment: the latest one, compared with the period before. */
export function standing(values: readonly number[]): Headline {
  return { value: values.at(-1) ?? 0, growth: growthOf(values.at(-2), values.at(-1)), course: values };
}

/** A number of a whole period: that of the last one that is over. */
export function lastWhole<One extends Period>(series: readonly One[], of: (one: One) => number): Headline {
  const values = series.filter(({ complete }) => complete).map(of);
  return standing(values);
}

function growthOf(before: number | undefined, now: number | undefined): number | undefined {
  return before === undefined || now === undefined || before === 0 ? undefined : (now - before) / before;
}

/** What stands below a period in a chart. */
export function periodLabel(from: string, span: Span): string {
  const { day, month } = partsOf(from);
  return span === 'months' ? month : `${month} ${day}`;
}
