import { z } from 'zod';
import type { ImportedModel } from '../model/imported-model.ts';
import { medianOfSorted } from '../model/median.ts';
import { countBefore } from '../model/previous.ts';
import type { SessionSums, VisitDimension } from '../model/session-index.ts';
import type { Settling } from '../model/settling.ts';
import type { ChunkPart } from '../model/summed-rows.ts';
import type { Crossing, Sessions } from '../model/visitor-sessions.ts';
import { ratio, share } from '../request.ts';

const count = z.int().min(0);
export const measures = {
  visitors: count,
  sessions: count,
  pageViews: count,
  bounceRate: share,
  medianDurationSeconds: z.number().min(0).nullable(),
};
type Measures = z.input<z.ZodObject<typeof measures>>;

const NOTHING: Measures = { visitors: 0, sessions: 0, pageViews: 0, bounceRate: null, medianDurationSeconds: null };

/** The parts that must be up to date before traffic is measured, by these dimensions and as a whole. */
export function* trafficParts(
  { events, visits }: ImportedModel,
  dimensions: readonly VisitDimension[] = [],
): Generator<Settling> {
  yield events.feed;
  yield visits.feed;
  for (const dimension of [undefined, ...dimensions]) yield visits.sessions.by(dimension);
}

/** Measures periods. Neighbouring periods share a boundary, so the sessions that cross a boundary are found once and kept. */
export class Traffic {
  readonly #sessions: Sessions;
  readonly #crossings = new Map<number, Crossing[]>();

  constructor({ visits }: ImportedModel) {
    this.#sessions = visits.sessions;
  }

  /** The traffic of [from, to). */
  measure(from: number, to: number): Measures {
    return this.measureBy(undefined, from, to).get(0) ?? NOTHING;
  }

  /** The measures for each label of the dimension. Without a dimension, all under 0. */
  measureBy(dimension: VisitDimension | undefined, from: number, to: number): Map<number, Measures> {
    const [early, late] = [this.#crossing(from), this.#crossing(to)].map((found) => this.#byLabel(dimension, found));
    const measured = new Map<number, Measures>();
    for (const [label, set] of this.#sessions.by(dimension).sets) {
      const tally = new Tally(this.#sessions, from);
      set.each(from, to, (stretch) => tally.add(stretch));
      tally.cross(early?.get(label) ?? [], late?.get(label) ?? []);
      if (tally.pageViews > 0) measured.set(label, tally.measures());
    }
    return measured;
  }

  #crossing(instant: number): Crossing[] {
    let found = this.#crossings.get(instant);
    if (!found) {
      found = this.#sessions.crossing(instant);
      this.#crossings.set(instant, found);
    }
    return found;
  }

  #byLabel(dimension: VisitDimension | undefined, crossings: readonly Crossing[]): Map<number, Crossing[]> {
    const found = new Map<number, Crossing[]>();
    for (const crossing of crossings) {
      const label = this.#sessions.by(dimension).labelOf(crossing.session);
      const own = found.get(label);
      if (own) own.push(crossing);
      else found.set(label, [crossing]);
    }
    return found;
  }
}

/** Adds up the sessions of one label. */
class Tally {
  readonly #sessions: Sessions;
  readonly #from: number;
  readonly #durations: Float64Array[] = [];
  readonly #loose: number[] = [];
  pageViews = 0;
  #visitors = 0;
  #count = 0;
  #bounces = 0;

  constructor(sessions: Sessions, from: number) {
    this.#sessions = sessions;
    this.#from = from;
  }

  /** Adds sessions that begin within the period. */
  add(stretch: ChunkPart<SessionSums>): void {
    const { summary, chunk, low, high } = stretch;
    this.#count += high - low;
    this.#visitors += countBefore(stretch, this.#from);
    if (high - low === chunk.size) {
      this.pageViews += summary.pages;
      this.#bounces += summary.bounces;
      this.#durations.push(summary.durations);
      return;
    }
    const { start, end, pages, bounced } = this.#sessions.table.columns;
    for (const session of chunk.rows.subarray(low, high)) {
      this.pageViews += pages[session] ?? 0;
      this.#bounces += bounced[session] ?? 0;
      this.#loose.push((end[session] ?? 0) - (start[session] ?? 0));
    }
  }

  /** Corrects for sessions that cross the beginning or the end of the period: only their part within the period counts. */
  cross(early: readonly Crossing[], late: readonly Crossing[]): void {
    const behind = new Map(late.map(({ session, later }) => [session, later]));
    for (const { session, later } of early) {
      this.pageViews += later;
      if (later > (behind.get(session) ?? 0)) this.#visitors += 1;
    }
    for (const { later } of late) this.pageViews -= later;
  }

  measures(): Measures {
    const duration = medianOfSorted([...this.#durations, Float64Array.from(this.#loose).sort()]);
    return {
      visitors: this.#visitors,
      sessions: this.#count,
      pageViews: this.pageViews,
      bounceRate: ratio(this.#bounces, this.#count),
      medianDurationSeconds: duration === null ? null : duration / 1000,
    };
  }
}
