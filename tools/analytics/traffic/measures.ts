import { z } from 'zod';
import type { RowSnapshot } from '../../../store/rows-port.ts';
import { listOf } from '../../../store/sql/lists.ts';
import type { Period } from '../calendar.ts';
import { limitsOf, ratio, share } from '../request.ts';
import {
  type MeasuresRow,
  trafficByLabel,
  trafficByPeriod,
  trafficByPeriodAndLabel,
  type VisitDimension,
} from './traffic.sql.ts';

const count = z.int().min(0);
export const measures = {
  visitors: count,
  sessions: count,
  pageViews: count,
  bounceRate: share,
  medianDurationSeconds: z.number().min(0).nullable(),
};
export type Measures = z.output<z.ZodObject<typeof measures>>;

type Spans = readonly Pick<Period, 'start' | 'end'>[];

const NOTHING: Measures = {
  visitors: 0,
  sessions: 0,
  pageViews: 0,
  bounceRate: null,
  medianDurationSeconds: null,
};

function measuresOf(row: MeasuresRow | undefined): Measures {
  if (!row) return NOTHING;
  return {
    visitors: row.visitors,
    sessions: row.sessions,
    pageViews: row.page_views,
    bounceRate: ratio(row.bounces, row.sessions),
    medianDurationSeconds: row.median_ms === null ? null : row.median_ms / 1000,
  };
}

/** The traffic of consecutive periods, of each and of all together. */
export async function trafficOf(rows: RowSnapshot, periods: Spans) {
  const found = await rows.query<MeasuresRow & { period: number | null }>(trafficByPeriod, [limitsOf(periods)]);
  const byPeriod = new Map(found.map((row) => [row.period, row]));
  return {
    totals: measuresOf(byPeriod.get(null)),
    each: periods.map((_, at) => measuresOf(byPeriod.get(at + 1))),
  };
}

export type Labelled = Measures & { readonly dimension: VisitDimension; readonly value: string };

/** The traffic of a range by label of the dimension, those with most sessions first. */
export async function trafficBy(
  rows: RowSnapshot,
  dimension: VisitDimension,
  range: Spans[number],
): Promise<Labelled[]> {
  const found = await rows.query<MeasuresRow & { label: string }>(trafficByLabel[dimension], [limitsOf([range])]);
  return found
    .map((row) => ({ dimension, value: row.label, ...measuresOf(row) }))
    .sort((a, b) => b.sessions - a.sessions || b.pageViews - a.pageViews || (a.value < b.value ? -1 : 1));
}

/** For each of the values of the dimension, the traffic of each of the consecutive periods. */
export async function trafficOfValues(
  rows: RowSnapshot,
  dimension: VisitDimension,
  { values, periods }: { readonly values: readonly string[]; readonly periods: Spans },
): Promise<Measures[][]> {
  const found = await rows.query<MeasuresRow & { period: number; label: string }>(trafficByPeriodAndLabel[dimension], [
    limitsOf(periods),
    listOf(values),
  ]);
  const byPlace = new Map(found.map((row) => [`${row.period} ${row.label}`, row]));
  return values.map((value) => periods.map((_, at) => measuresOf(byPlace.get(`${at + 1} ${value}`))));
}
