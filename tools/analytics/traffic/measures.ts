import { z } from 'zod';
import type { NamedQuery, RowSnapshot } from '../../../store/rows-port.ts';
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

/** Splits traffic by dimensions of the visits. */
export interface Split<Name extends VisitDimension> {
  readonly dimensions: readonly Name[];
  readonly byLabel: NamedQuery;
  readonly byPeriodAndLabel: NamedQuery;
}

export function splitBy<Name extends VisitDimension>(dimensions: readonly Name[]): Split<Name> {
  return {
    dimensions,
    byLabel: trafficByLabel(dimensions),
    byPeriodAndLabel: trafficByPeriodAndLabel(dimensions),
  };
}

type Labelled = MeasuresRow & { readonly label: string };

/** The traffic of a range, of all together and of each label: one dimension after the other, in each those with most sessions first. */
export async function trafficBy<Name extends VisitDimension>(
  rows: RowSnapshot,
  { dimensions, byLabel }: Split<Name>,
  range: Spans[number],
) {
  const found = await rows.query<Labelled & { dimension: Name | null }>(byLabel, [limitsOf([range])]);
  const labelled = dimensions.map((dimension) =>
    found
      .filter((row) => row.dimension === dimension)
      .map((row) => ({ dimension, value: row.label, ...measuresOf(row) }))
      .sort((a, b) => b.sessions - a.sessions || b.pageViews - a.pageViews || (a.value < b.value ? -1 : 1)),
  );
  return { totals: measuresOf(found.find(({ dimension }) => dimension === null)), labelled };
}

/** For each of the values of each dimension, the traffic of each of the consecutive periods. */
export async function trafficOfValues<Name extends VisitDimension>(
  rows: RowSnapshot,
  { dimensions, byPeriodAndLabel }: Split<Name>,
  { values, periods }: { readonly values: readonly (readonly string[])[]; readonly periods: Spans },
) {
  const found = await rows.query<Labelled & { dimension: Name; period: number }>(byPeriodAndLabel, [
    limitsOf(periods),
    ...values.map(listOf),
  ]);
  const byPlace = new Map(found.map((row) => [`${row.dimension} ${row.period} ${row.label}`, row]));
  return dimensions.flatMap((dimension, place) =>
    (values[place] ?? []).map((value) => ({
      dimension,
      value,
      each: periods.map((_, at) => measuresOf(byPlace.get(`${dimension} ${at + 1} ${value}`))),
    })),
  );
}
