import { z } from 'zod';
import type { NamedQuery, RowSnapshot } from '../../../store/rows-port.ts';
import type { Period } from '../calendar.ts';
import { limitsOf, ratio, share } from '../request.ts';
import { type MeasuresRow, trafficBy, type VisitDimension } from './traffic.sql.ts';

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

/** What is found for the period, from 1 on; 0 stands for all of them together. */
interface LabelRow<Name extends VisitDimension> extends MeasuresRow {
  readonly dimension: Name | 'all';
  readonly label: string;
  readonly period: number;
}

function seriesIn(found: readonly LabelRow<VisitDimension>[], periods: Spans): readonly Measures[] {
  const byPeriod = new Map(found.map((row) => [row.period, row]));
  return periods.map((_, at) => measuresOf(byPeriod.get(at + 1)));
}

const inAll = trafficBy([]);

export async function trafficOf(rows: RowSnapshot, periods: Spans) {
  const found = await rows.query<LabelRow<never>>(inAll, [limitsOf(periods), 1]);
  return { totals: measuresOf(found.find(({ period }) => period === 0)), each: seriesIn(found, periods) };
}

export interface Split<Name extends VisitDimension> {
  readonly dimensions: readonly Name[];
  readonly query: NamedQuery;
}

export function splitBy<Name extends VisitDimension>(dimensions: readonly Name[]): Split<Name> {
  return { dimensions, query: trafficBy(dimensions) };
}

/** The traffic of all periods together, in all and by label, most sessions first; for `series` labels of each dimension also by period. */
export async function trafficOfLabels<Name extends VisitDimension>(
  rows: RowSnapshot,
  { dimensions, query }: Split<Name>,
  { periods, series }: { readonly periods: Spans; readonly series: number },
) {
  const found = await rows.query<LabelRow<Name>>(query, [limitsOf(periods), series]);
  const byLabel = new Map<string, LabelRow<Name>[]>();
  for (const row of found) {
    const key = `${row.dimension} ${row.label}`;
    byLabel.set(key, [...(byLabel.get(key) ?? []), row]);
  }
  const labelled = dimensions.flatMap((dimension) =>
    found
      .filter((row) => row.dimension === dimension && row.period === 0)
      .map(({ label, ...row }) => ({ dimension, value: label, ...measuresOf(row) }))
      .sort((a, b) => b.sessions - a.sessions || b.pageViews - a.pageViews || (a.value < b.value ? -1 : 1)),
  );
  const each = labelled.flatMap(({ dimension, value }) => {
    const ofLabel = (byLabel.get(`${dimension} ${value}`) ?? []).filter(({ period }) => period > 0);
    return ofLabel.length === 0 ? [] : [{ dimension, value, each: seriesIn(ofLabel, periods) }];
  });
  return { totals: measuresOf(found.find(({ dimension }) => dimension === 'all')), labelled, each };
}
